package finding

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// Word is an errno's name, Allowed for nil.
func Word(err error) string {
	if err == nil {
		return Allowed
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if name := unix.ErrnoName(errno); name != "" {
			return name
		}
	}
	return err.Error()
}
