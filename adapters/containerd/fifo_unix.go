//go:build unix

package containerd

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/containerd/fifo"
)

// makeFIFO makes one, or takes the one that is there.
func makeFIFO(path string) error {
	err := syscall.Mkfifo(path, 0o600)
	if !errors.Is(err, os.ErrExist) {
		return err
	}
	st, err := os.Lstat(path)
	if err == nil && st.Mode().Type() != os.ModeNamedPipe {
		err = &os.PathError{Op: "mkfifo", Path: path, Err: syscall.EEXIST}
	}
	return err
}

// readFIFO opens for reading without waiting for a writer: Read does that.
// Close ends both.
func readFIFO(path string) (io.ReadCloser, error) {
	return fifo.OpenFifo(context.Background(), path, syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// writeFIFO opens for writing. Without a reader it fails (noReader), at once.
func writeFIFO(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
}

// noReader says whether nobody has the other end open.
func noReader(err error) bool { return errors.Is(err, syscall.ENXIO) }
