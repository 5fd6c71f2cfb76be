//go:build unix

package host

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes an exclusive lock that the kernel ends with the last descriptor.
func tryLock(f *os.File) (bool, error) { return flock(f, unix.LOCK_EX) }

// tryShared takes a lock that others may share: it only fails beside an exclusive one.
func tryShared(f *os.File) (bool, error) { return flock(f, unix.LOCK_SH) }

func flock(f *os.File, how int) (bool, error) {
	err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// gone says that there is no process of that number.
func gone(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
