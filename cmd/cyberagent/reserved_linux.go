package main

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"cyberagent/internal/durable"
)

const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

// lock takes the lock that the kernel ends with the process, or returns errHeld.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errHeld
	}
	return err
}

// settle waits until the names in the caller's own directory are on the disk. One that
// may be written but not read, and a file system that knows no such thing, are no
// failure.
func settle(dir string) error {
	err := durable.Sync(dir)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
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
