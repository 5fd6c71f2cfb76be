package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
)

// Scratch keeps the empty workspaces of engine checks: one directory each, named
// by an admission that no ledger knows, with a lock that dies with its process.
type Scratch struct {
	dir   string
	locks *Locks
}

// NewScratch uses dir, which is made when it is needed.
func NewScratch(dir string) *Scratch {
	return &Scratch{dir: dir, locks: NewLocks(filepath.Join(dir, "owners"))}
}

// owner is the lock of a workspace: it has the admission's own characters.
func owner(a id.Admission) id.Owner {
	_, rest, _ := strings.Cut(string(a), "_")
	return id.Owner(id.Format(id.KindOwner, rest))
}

// Make makes an empty workspace that the container's user can write, and holds
// its lock.
func (s *Scratch) Make(_ context.Context, a id.Admission) (root string, fileID isolation.FileID, release func(), err error) {
	if !id.Valid(id.KindAdmission, string(a)) {
		return "", fileID, nil, fault.New(fault.Internal, "%q is not an admission", a)
	}
	if release, err = s.locks.Hold(owner(a)); err != nil {
		return "", fileID, nil, err
	}
	if root, err = s.make(a); err == nil {
		fileID, err = identity(root)
	}
	if err != nil {
		release()
		return "", fileID, nil, fault.Wrap(fault.Internal, err, "cannot make the workspace of the check")
	}
	return root, fileID, release, nil
}

func (s *Scratch) make(a id.Admission) (string, error) {
	root := filepath.Join(s.dir, string(a), "workspace")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", err
	}
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", err
	}
	// The mask is mounted over it.
	if err := os.WriteFile(filepath.Join(root, ".git"), nil, 0o600); err != nil {
		return "", err
	}
	if os.Geteuid() == 0 {
		return root, os.Chown(root, limits.UID, limits.GID)
	}
	// Nobody else passes the directories above it.
	return root, os.Chmod(root, 0o777)
}

// Abandoned returns the workspaces whose process is dead.
func (s *Scratch) Abandoned(context.Context) ([]id.Admission, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "cannot list the workspaces of checks")
	}
	var left []id.Admission
	for _, e := range entries {
		if a := id.Admission(e.Name()); id.Valid(id.KindAdmission, e.Name()) && s.locks.Dead(owner(a)) {
			left = append(left, a)
		}
	}
	return left, nil
}

// Remove removes a workspace, without following a link in it.
func (s *Scratch) Remove(_ context.Context, a id.Admission) error {
	if !id.Valid(id.KindAdmission, string(a)) {
		return fault.New(fault.Internal, "%q is not an admission", a)
	}
	if err := os.RemoveAll(filepath.Join(s.dir, string(a))); err != nil {
		return fault.Wrap(fault.Internal, err, "cannot remove the workspace of the check")
	}
	// The lock of one that was killed; a live one's release finds it gone.
	if lock, ok := s.locks.path(owner(a)); ok {
		_ = os.Remove(lock)
	}
	return nil
}
