package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"cyberagent/domain/fault"
)

// filesystem is what a directory lies on. Name is for people; Network says that
// other machines, or a host outside this kernel, may have it open.
type filesystem struct {
	Name    string
	Network bool
}

// making serialises the making of ledgers in this process: closing any
// descriptor of a file drops all of the process's locks on it, also SQLite's.
var making sync.Mutex

// place checks where a ledger is to lie, makes directory and file when they are
// missing, and returns the absolute path.
func place(cfg Config) (string, error) {
	if cfg.Path == "" {
		return "", fault.New(fault.ConfigInvalid, "no path").At("ledger").Hint("set the ledger's path")
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return "", unusable(cfg.Path, err, "has no absolute path")
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", unplaceable(dir, err, "cannot be made")
	}
	on, err := cfg.filesystem(dir)
	if err != nil {
		return "", unusable(dir, err, "cannot be examined")
	}
	if on.Network {
		return "", fault.New(fault.LedgerUnusable, "%s lies on %s, where locks and shared memory do not hold", dir, on.Name).
			At("ledger").With("filesystem", on.Name).Hint("put the ledger on a local disk")
	}
	return path, makeFile(path)
}

// makeFile makes an empty file with mode 0600 when there is none. It follows no
// link: O_EXCL does not, and what exists must be a regular file.
func makeFile(path string) error {
	making.Lock()
	defer making.Unlock()
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return unusable(path, err, "cannot be examined")
	case info.Mode().IsRegular():
		return trusted(path, info) // never opened here, see making
	default:
		return unusable(path, nil, "is not a regular file")
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return makeAgain(path) // another process was faster
	}
	if err != nil {
		return unplaceable(path, err, "cannot be made")
	}
	if err := f.Close(); err != nil {
		return unplaceable(path, err, "cannot be made")
	}
	return nil
}

func makeAgain(path string) error {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return unusable(path, err, "is not a regular file")
	}
	return trusted(path, info)
}

// trusted refuses a ledger that another user could have written: who can write it
// can forge approvals. The same holds for its directory, in which a file can be
// put in another's place.
func trusted(path string, file fs.FileInfo) error {
	dir := filepath.Dir(path)
	parent, err := os.Stat(dir)
	if err != nil {
		return unusable(dir, err, "cannot be examined")
	}
	refuse := func(what, hint string) error {
		return fault.New(fault.LedgerUnusable, "%s: who can write it can forge approvals", what).At("ledger").Hint("%s", hint)
	}
	switch {
	case foreign(file):
		return refuse(path+" belongs to another user", "run as the user who owns it")
	case writable(file):
		return refuse(fmt.Sprintf("%s can be written by other users (mode %04o)", path, file.Mode().Perm()),
			"see that nobody changed it, then: chmod 600 "+path)
	case writable(parent) && parent.Mode()&fs.ModeSticky == 0:
		return refuse(fmt.Sprintf("%s can be written by other users (mode %04o)", dir, parent.Mode().Perm()),
			"see that nobody changed anything there, then: chmod go-w "+dir)
	}
	return nil
}

// writable says that the mode lets others write, where modes mean that.
func writable(i fs.FileInfo) bool { return runtime.GOOS != "windows" && i.Mode().Perm()&0o022 != 0 }

func unusable(path string, err error, what string) error {
	return fault.Wrap(fault.LedgerUnusable, err, "%s %s", path, what).At("ledger").
		Hint("give the path of a regular file, or of none yet, on a local disk that this user may write")
}

// unplaceable is unusable, but for a disk without room.
func unplaceable(path string, err error, what string) error {
	if noSpace(err) {
		return diskFull(path, err)
	}
	return unusable(path, err, what)
}
