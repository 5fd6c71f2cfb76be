package ledger

import (
	"errors"

	"golang.org/x/sys/unix"
)

// filesystemOf asks the kernel what a directory lies on.
func filesystemOf(dir string) (filesystem, error) {
	var st unix.Statfs_t
	if err := statfs(dir, &st); err != nil {
		return filesystem{}, err
	}
	// The field's type differs between architectures; the magic has 32 bits.
	return classify(uint32(st.Type)), nil // 32 bits by definition
}

// freeBytes is what an ordinary user may still write below dir.
func freeBytes(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil // a block size is positive
}

func statfs(dir string, st *unix.Statfs_t) error {
	for {
		if err := unix.Statfs(dir, st); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func noSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}
