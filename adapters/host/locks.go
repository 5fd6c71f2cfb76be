package host

import (
	"os"
	"path/filepath"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/ports"
)

// Locks keeps one locked file for each owner in a directory.
type Locks struct{ dir string }

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
	f, err := os.OpenFile(p, os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "cannot make the owner's lock")
	}
	locked, err := tryLock(f)
	if err != nil || !locked {
		_ = f.Close()
		return nil, fault.Wrap(fault.Internal, err, "cannot take the owner's lock")
	}
	return func() {
		// The name goes first: whoever sees no file sees a dead owner.
		_ = os.Remove(p)
		_ = f.Close()
	}, nil
}

// Dead says that the owner's file is gone or nobody holds its lock. A file that
// cannot be looked at is not proof.
func (l *Locks) Dead(o id.Owner) bool {
	p, ok := l.path(o)
	if !ok {
		return false
	}
	f, err := os.OpenFile(p, os.O_RDWR, 0)
	if os.IsNotExist(err) {
		return true
	}
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	locked, err := tryLock(f)
	return err == nil && locked
}
