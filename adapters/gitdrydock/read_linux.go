package gitdrydock

import (
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
)

// errChanged says that an entry changed while it was read: the walk as a whole
// is repeated.
type errChanged struct{ path string }

func (e *errChanged) Error() string { return "changed while it was read: " + show(e.path) }

// unreadable is the answer for an entry that is there and cannot be recorded.
// There is no partial Checkpoint.
func unreadable(path string, cause error) error {
	return fault.Wrap(fault.RecoveryRequired, cause, "the entry %s cannot be read", show(path)).
		With("path", show(path)).Hint("restore access to it, or remove it, then make a checkpoint")
}

// beyond is the answer for an entry beyond a limit of the product.
func beyond(path, limit string, most int64) error {
	return fault.New(fault.RecoveryRequired, "the entry %s is beyond the limit %s of %d", show(path), limit, most).
		With("path", show(path)).With("limit", limit).Hint("remove it, then make a checkpoint")
}

// content is what a regular file holds.
type content struct {
	oid   oid
	guard string
}

// readFile opens a regular file below an open directory, streams it into w (nil
// for nobody), and returns its hash. It is the file that want describes, unchanged from before
// the first byte to after the last one, or the error is errChanged.
func readFile(dir int, name, path string, want stat, f format, w io.Writer, buf []byte) (content, time.Time, error) {
	var none content
	if want.size > limits.CheckpointOneMax {
		return none, time.Time{}, beyond(path, "checkpoint_file_bytes", limits.CheckpointOneMax)
	}
	fd, err := retry(func() (int, error) { return unix.Openat(dir, name, openFile, 0) })
	if err != nil {
		return none, time.Time{}, readError(path, err)
	}
	defer unix.Close(fd)
	before, err := fstat(fd)
	if err != nil {
		return none, time.Time{}, unreadable(path, err)
	}
	if before != want {
		return none, time.Time{}, &errChanged{path}
	}
	at := time.Now()
	h, guard := f.object("blob", want.size), f.guard()
	if err := drain(fd, want.size, path, buf, h, guard, w); err != nil {
		return none, at, err
	}
	after, err := fstat(fd)
	if err != nil {
		return none, at, unreadable(path, err)
	}
	if after != want {
		return none, at, &errChanged{path}
	}
	c := content{oid: oid(h.Sum(nil))}
	if guard != nil {
		c.guard = string(guard.Sum(nil)[:guardSize])
	}
	return c, at, nil
}

// drain reads exactly size bytes and then the end of the file.
func drain(fd int, size int64, path string, buf []byte, h, guard hash.Hash, w io.Writer) error {
	var total int64
	for {
		n, err := retry(func() (int, error) { return unix.Read(fd, buf) })
		if err != nil {
			return unreadable(path, err)
		}
		total += int64(n)
		if total > size || n == 0 && total < size {
			return &errChanged{path}
		}
		if n == 0 {
			return nil
		}
		h.Write(buf[:n])
		if guard != nil {
			guard.Write(buf[:n])
		}
		if w != nil {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
		}
	}
}

// readLink returns a link's own text.
func readLink(dir int, name, path string, want stat) (string, error) {
	buf := make([]byte, 4097)
	n, err := retry(func() (int, error) { return unix.Readlinkat(dir, name, buf) })
	if err != nil {
		return "", readError(path, err)
	}
	after, err := lstatAt(dir, name)
	if err != nil {
		return "", readError(path, err)
	}
	if after != want || n == len(buf) {
		return "", &errChanged{path}
	}
	return string(buf[:n]), nil
}

// readError tells an entry that went or was swapped for a link, which is a
// change, from one that cannot be read.
func readError(path string, err error) error {
	for _, gone := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ESTALE, unix.EINVAL, unix.ENXIO} {
		if errors.Is(err, gone) {
			return &errChanged{path}
		}
	}
	return unreadable(path, fmt.Errorf("open: %w", err))
}
