package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

// move gives a file another name, which nothing may have: that is fs.ErrExist.
func move(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	// Network file systems cannot do it in one step, and some sandboxes know no such call.
	if errno, ok := errors.AsType[unix.Errno](err); ok && slices.Contains([]unix.Errno{unix.EINVAL, unix.ENOSYS, unix.EOPNOTSUPP, unix.EPERM}, errno) {
		return moveByLink(from, to)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// lock takes the lock that the kernel ends with the process, or returns errHeld.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errHeld
	}
	return err
}

// syncDir waits until the names in a directory are on the disk. A directory that may
// be written but not read, and a file system that knows no such thing, are no failure.
func syncDir(path string) error {
	d, err := os.Open(path)
	if errors.Is(err, os.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	return err
}

// sweep removes what killed calls left of the same file: plain files of this user with
// a hidden name of it that nobody holds. Where there are no locks, they stay.
func sweep(path string) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.Type().IsRegular() && isHidden(e.Name(), path) {
			removeDead(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
}

func removeDead(path string) {
	f, err := openPlain(path, os.O_RDWR)
	if err != nil {
		return
	}
	defer f.Close()
	var s unix.Stat_t
	if unix.Fstat(int(f.Fd()), &s) != nil || int(s.Uid) != os.Geteuid() || s.Mode&0o7777 != 0o600 {
		return
	}
	if lock(f) == nil && named(f, path) {
		_ = os.Remove(path)
	}
}
