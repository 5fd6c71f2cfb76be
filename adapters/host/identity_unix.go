//go:build unix

package host

import (
	"syscall"

	"cyberagent/domain/isolation"
)

// identity is a file's device and inode, without following a link.
func identity(path string) (isolation.FileID, error) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return isolation.FileID{}, err
	}
	return isolation.FileID{Dev: uint64(st.Dev), Inode: st.Ino}, nil //nolint:unconvert // its type differs by system
}
