package host

import (
	"os"
	"path/filepath"
	"strconv"
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/ports"
)

// Locks keeps one locked file for each owner in a directory.
type Locks struct {
	dir string
	// made is a seam of tests: between the making of a file and its lock.
	made func()
}

var _ ports.OwnerLocks = (*Locks)(nil)

// NewLocks uses dir, which is made when it is needed.
func NewLocks(dir string) *Locks { return &Locks{dir: dir} }

func (l *Locks) path(o id.Owner) (string, bool) {
	if !id.Valid(id.KindOwner, string(o)) {
		return "", false
	}
	return filepath.Join(l.dir, string(o)), true
}

// Hold locks the owner's file until release or the end of the process. It
// returns internal when the file cannot be made or is locked already.
func (l *Locks) Hold(o id.Owner) (func(), error) {
	p, ok := l.path(o)
	if !ok {
		return nil, fault.New(fault.Internal, "%q is not an owner", o)
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return nil, fault.Wrap(fault.Internal, err, "cannot make the directory of locks")
	}
	for range holdTries {
		f, err := os.OpenFile(p, os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, err, "cannot make the owner's lock")
		}
		held, err := l.hold(f, p)
		if held {
			// Only a hint (dying), so a full disk is no matter.
			_, _ = f.WriteString(strconv.Itoa(os.Getpid()))
			return func() {
				// The name goes first: whoever sees no file sees a dead owner.
				_ = os.Remove(p)
				_ = f.Close()
			}, nil
		}
		_ = f.Close()
		if err != nil {
			return nil, fault.Wrap(fault.Internal, err, "cannot take the owner's lock")
		}
	}
	return nil, fault.New(fault.Internal, "cannot take the owner's lock: it is taken away again and again")
}

// holdTries bounds how often another process's Sweep may take a new file for a
// dead owner's, which it does when it comes between the making and the lock.
const holdTries = 100

// hold locks a file that was just made. It says false when a Sweep was faster:
// then the name is, or is about to be, gone.
func (l *Locks) hold(f *os.File, p string) (bool, error) {
	if l.made != nil {
		l.made()
	}
	locked, err := tryLock(f)
	for tries := 0; err == nil && !locked && tries < holdTries; tries++ {
		time.Sleep(time.Millisecond) // Sweep and Dead hold it for a moment only
		locked, err = tryLock(f)
	}
	return err == nil && locked && named(f, p), err
}

// named says whether the open file is still what its name leads to.
func named(f *os.File, p string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(p)
	return err == nil && now.Mode().IsRegular() && os.SameFile(open, now)
}

// Dead says that the owner's file is gone or nobody holds its lock. A file that
// cannot be looked at is not proof. Nothing is changed by it.
func (l *Locks) Dead(o id.Owner) bool {
	p, ok := l.path(o)
	if !ok {
		return false
	}
	// Shared, so that two who ask at once do not take each other for the owner.
	f, free := free(p, tryShared)
	if f != nil {
		_ = f.Close()
	}
	return free
}

// freeTries outlast the moment for which a Sweep has the lock.
const freeTries = 5

// deathThroes outlast a process that was killed while it started a program: until
// that has begun, it holds everything that its dead parent had open.
const deathThroes = 2 * time.Second

// dying says that the process which wrote its number into the file is gone. In
// another namespace of processes the number says nothing, and this costs time only:
// the lock decides.
func dying(f *os.File) bool {
	b := make([]byte, 20)
	n, _ := f.ReadAt(b, 0)
	pid, err := strconv.Atoi(string(b[:n]))
	return err == nil && pid > 0 && gone(pid)
}

// free says whether nobody holds the lock of a file, or that it is gone. An open
// file that it returns is locked by try.
func free(p string, try func(*os.File) (bool, error)) (*os.File, bool) {
	for range holdTries {
		f, err := os.OpenFile(p, os.O_RDWR, 0)
		if err != nil {
			return nil, os.IsNotExist(err)
		}
		locked, err := try(f)
		began := time.Now()
		for tries := 0; err == nil && !locked && (tries < freeTries || time.Since(began) < deathThroes && dying(f)); tries++ {
			time.Sleep(time.Millisecond)
			locked, err = try(f)
		}
		if err != nil || !locked {
			_ = f.Close()
			return nil, false
		}
		if named(f, p) {
			return f, true
		}
		_ = f.Close() // it was swept meanwhile: what has the name now, decides
	}
	return nil, false
}

// Sweep removes the files that dead owners left, and nothing else: a name that
// is no owner's, a link and a held file stay. That a file is gone says the same
// as that it is free, so nothing is forgotten by it.
func (l *Locks) Sweep() error {
	entries, err := os.ReadDir(l.dir)
	if err != nil && !os.IsNotExist(err) {
		return fault.Wrap(fault.Internal, err, "cannot read the directory of locks")
	}
	for _, e := range entries {
		p, ok := l.path(id.Owner(e.Name()))
		if !ok || !e.Type().IsRegular() {
			continue
		}
		if f, free := free(p, tryLock); free && f != nil {
			// Under its lock, so the name cannot be another owner's.
			_ = os.Remove(p)
			_ = f.Close()
		}
	}
	return nil
}
