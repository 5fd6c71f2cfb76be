package ledger

import (
	"errors"

	"golang.org/x/sys/unix"
)

// filesystemOf asks the kernel what a directory lies on.
func filesystemOf(dir string) (filesystem, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return filesystem{}, err
	}
	return classifyName(unix.ByteSliceToString(st.Fstypename[:])), nil
}

// freeBytes is what an ordinary user may still write below dir.
func freeBytes(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}

func noSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}
