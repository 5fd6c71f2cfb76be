package durable

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Move gives a file another name, which nothing may have: that is fs.ErrExist.
func Move(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	// Network file systems cannot do it in one step, and some sandboxes know no such call.
	if errno, ok := errors.AsType[unix.Errno](err); ok && slices.Contains([]unix.Errno{unix.EINVAL, unix.ENOSYS, unix.EOPNOTSUPP, unix.EPERM}, errno) {
		return byLink(from, to)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// Sync waits until the names in a directory are on the disk.
func Sync(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
