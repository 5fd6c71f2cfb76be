package project

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
)

// writer makes files in a directory of ours for the container's user. A container
// may have been at work there: links are not followed out of it, and nothing that
// exists is written to.
type writer struct{ root *os.Root }

func newWriter(dir string) (*writer, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "the directory for making caches cannot be opened")
	}
	return &writer{root}, nil
}

func (w *writer) close() { _ = w.root.Close() }

func (w *writer) create(name string) (*os.File, error) {
	if dir := path.Dir(name); dir != "." {
		if err := w.mkdirs(dir); err != nil {
			return nil, err
		}
	}
	f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(0o644); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// mkdirs makes directories that the container's user may write in.
func (w *writer) mkdirs(dir string) error {
	if parent := path.Dir(dir); parent != "." {
		if err := w.mkdirs(parent); err != nil {
			return err
		}
	}
	err := w.root.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		return w.root.Lchown(dir, limits.UID, limits.GID)
	}
	return w.root.Chmod(dir, 0o777)
}

func (w *writer) write(name string, data []byte) error {
	f, err := w.create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return w.finish(f, name, err)
}

// finish closes a file and gives it the fixed time: tools remember what they know of
// a file by its time, and would make other caches of the same files.
func (w *writer) finish(f *os.File, name string, err error) error {
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = w.root.Chtimes(name, stamp, stamp)
	}
	return err
}
