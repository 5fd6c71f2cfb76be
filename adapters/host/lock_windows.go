package host

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes an exclusive lock that the system ends with the handle.
func tryLock(f *os.File) (bool, error) { return lockFile(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// tryShared takes a lock that others may share: it only fails beside an exclusive one.
func tryShared(f *os.File) (bool, error) { return lockFile(f, 0) }

func lockFile(f *os.File, how uint32) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// gone is never known: a handle is not inherited unless it is asked for.
func gone(int) bool { return false }
