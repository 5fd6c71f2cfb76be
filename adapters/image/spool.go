package image

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"cyberagent/domain/fault"
)

// copyBuffer is the size of every copy of file contents.
const copyBuffer = 1 << 20

// spool copies r into a new file of the scratch directory and returns it open
// for reading at any offset. The caller closes it.
func spool(ctx context.Context, scratch string, r io.Reader) (*os.File, int64, error) {
	f, err := os.CreateTemp(scratch, "spool-*")
	if err != nil {
		return nil, 0, diskError(err)
	}
	// Without a name the space is given back whatever becomes of this process.
	// Where an open file cannot be removed, Close removes the directory.
	_ = os.Remove(f.Name())
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, &ctxReader{ctx, r}, make([]byte, copyBuffer))
	if err != nil {
		_ = f.Close()
		return nil, 0, diskError(err)
	}
	return f, n, nil
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
