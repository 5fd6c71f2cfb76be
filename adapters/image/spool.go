package image

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"cyberagent/domain/fault"
)

// copyBuffer is the size of every copy of file contents.
const copyBuffer = 1 << 20

// scratch is where temporary files are made, "" is the system's directory. They have no
// name: whatever becomes of this process, the space is given back and nothing is left.
type scratch struct {
	dir   string
	mu    sync.Mutex
	named []string // files that could not be removed while they were open
}

// spool copies r into a new file and returns it open for reading at any offset. The
// caller closes it.
func (s *scratch) spool(ctx context.Context, r io.Reader) (*os.File, int64, error) {
	f, err := os.CreateTemp(s.dir, "cyberagent-fixture-*")
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return nil, 0, fault.Wrap(fault.ConfigInvalid, err, "no temporary file can be made").At("TMPDIR").
			Hint("set TMPDIR to a directory that can be written, with room for about three times the size of the base images")
	}
	if err != nil {
		return nil, 0, diskError(err)
	}
	if os.Remove(f.Name()) != nil {
		s.mu.Lock()
		s.named = append(s.named, f.Name())
		s.mu.Unlock()
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, &ctxReader{ctx, r}, make([]byte, copyBuffer))
	if err != nil {
		_ = f.Close()
		return nil, 0, diskError(err)
	}
	return f, n, nil
}

// clear removes what has a name still, when all files are closed.
func (s *scratch) clear() error {
	var errs []error
	for _, name := range s.named {
		if err := os.Remove(name); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	s.named = nil
	return errors.Join(errs...)
}

// ctxReader makes a copy end when its context does.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// ctxWriter is the same for the writing side.
type ctxWriter struct {
	ctx context.Context
	w   io.Writer
}

func (c *ctxWriter) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(p)
}

// diskError translates the errors of the scratch directory.
func diskError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fault.Wrap(fault.DiskFull, err, "the scratch directory of the fixture build is full").
			Hint("free space for about three times the size of the base images, or set TMPDIR to a larger disk")
	case fault.CodeOf(err) != fault.Internal, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fault.Wrap(fault.Internal, err, "spooling a base image")
}
