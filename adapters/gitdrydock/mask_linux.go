package gitdrydock

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/internal/durable"
)

// Mask implements ports.Masks.
func (d *Drydocks) Mask(_ context.Context) (isolation.MaskFacts, error) {
	l, err := d.open()
	if err != nil {
		return isolation.MaskFacts{}, err
	}
	path := l.mask()
	_, err = os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		err = makeMask(path)
	}
	if err != nil {
		return isolation.MaskFacts{}, fault.Wrap(fault.MaskInvalid, err, "the mask cannot be made").At("mask")
	}
	return readMask(path)
}

// makeMask writes the mask under a name of its own and moves it into place
// unless something is there: an existing file is never replaced, and the mask
// never has a second link.
func makeMask(path string) error {
	tmp, err := os.CreateTemp(dirOf(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already when all went well
	_, err = tmp.WriteString(isolation.MaskContent)
	err = errors.Join(err, tmp.Chmod(isolation.MaskMode), tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	err = durable.Move(tmp.Name(), path)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return durable.Sync(dirOf(path))
}

// readMask reports what is there. What is not a regular file is not opened.
func readMask(path string) (isolation.MaskFacts, error) {
	facts := isolation.MaskFacts{Path: path}
	var s unix.Stat_t
	if err := unix.Lstat(path, &s); err != nil {
		return facts, fault.Wrap(fault.MaskInvalid, err, "the mask cannot be read").At("mask")
	}
	if statOf(&s).kind() == unix.S_IFREG {
		fd, err := retry(func() (int, error) { return unix.Open(path, openFile, 0) })
		if err != nil {
			return facts, fault.Wrap(fault.MaskInvalid, err, "the mask cannot be opened").At("mask")
		}
		f := os.NewFile(uintptr(fd), path)
		defer f.Close()
		if err := unix.Fstat(fd, &s); err != nil {
			return facts, fault.Wrap(fault.MaskInvalid, err, "the mask cannot be read").At("mask")
		}
		if facts.Content, err = io.ReadAll(io.LimitReader(f, int64(len(isolation.MaskContent))+16)); err != nil {
			return facts, fault.Wrap(fault.MaskInvalid, err, "the mask cannot be read").At("mask")
		}
	}
	st := statOf(&s)
	facts.Kind, facts.ID = kindOf(st), fileID(st)
	facts.Links, facts.Mode = uint64(s.Nlink), st.mode&0o7777 //nolint:unconvert // 32 bits on some architectures
	return facts, nil
}
