//go:build unix

package project

import (
	"io/fs"
	"syscall"
)

// hardLinks is how many names a file has.
func hardLinks(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink) //nolint:unconvert // of another width on other systems
	}
	return 1
}
