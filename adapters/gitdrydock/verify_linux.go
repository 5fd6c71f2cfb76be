package gitdrydock

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"cyberagent/domain/canon"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
)

// controlMost bounds the worktree's .git file: one line with a path.
const controlMost = 8 << 10

// Verify implements ports.Worktrees.
func (d *Drydocks) Verify(_ context.Context, p drydock.Place) error {
	l, err := d.open()
	if err != nil {
		return err
	}
	if _, err := l.dockOf(p); err != nil {
		return err
	}
	_, err = verify(p)
	return err
}

func lost(format string, a ...any) *fault.Error {
	return fault.New(fault.IntegrityLost, format, a...).
		Hint("put back what was there; otherwise go on from its Checkpoints with `cyberagent drydock fork RUN`, and copy by hand what none of them has")
}

// verify compares root and control file with what was recorded and returns the
// control file's bytes.
func verify(p drydock.Place) ([]byte, error) {
	root, err := openRoot(p.Root)
	if err != nil {
		return nil, lost("the Drydock's root cannot be opened without following links: %v", err)
	}
	defer unix.Close(root)
	st, err := fstat(root)
	if err != nil {
		return nil, lost("the Drydock's root cannot be read: %v", err)
	}
	if id := fileID(st); id != p.RootID {
		return nil, lost("the Drydock's root is file %s, recorded was %s", id, p.RootID)
	}
	mounts, err := mountsBelow(p.Root)
	if err != nil {
		return nil, err
	}
	if len(mounts) > 0 {
		return nil, lost("something is mounted beneath the Drydock, at %s", show(slices.Sorted(maps.Keys(mounts))[0])).
			Hint("unmount it")
	}
	control, id, err := readControl(root)
	if err != nil {
		return nil, err
	}
	if id != p.ControlID {
		return nil, lost("the Drydock's .git is file %s, recorded was %s", id, p.ControlID)
	}
	if canon.SHA256(control) != p.ControlSHA256 {
		return nil, lost("the Drydock's .git has other content than recorded")
	}
	return control, nil
}

// readControl reads the worktree's .git: a regular file with one link.
func readControl(root int) ([]byte, isolation.FileID, error) {
	var none isolation.FileID
	st, err := lstatAt(root, ".git")
	if err != nil {
		return nil, none, lost("the Drydock's .git cannot be read: %v", err)
	}
	if st.kind() != unix.S_IFREG {
		return nil, none, lost("the Drydock's .git is a %s, not a regular file", kindOf(st))
	}
	fd, err := retry(func() (int, error) { return unix.Openat(root, ".git", openFile, 0) })
	if err != nil {
		return nil, none, lost("the Drydock's .git cannot be opened: %v", err)
	}
	defer unix.Close(fd)
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil || statOf(&s) != st {
		return nil, none, lost("the Drydock's .git changed while it was read")
	}
	if s.Nlink != 1 {
		return nil, none, lost("the Drydock's .git has %d links, not one", s.Nlink)
	}
	buf := make([]byte, controlMost+1)
	n, err := retry(func() (int, error) { return unix.Pread(fd, buf, 0) })
	if err != nil || int64(n) != st.size {
		return nil, none, lost("the Drydock's .git has %d bytes and %d could be read", st.size, n)
	}
	return buf[:n], fileID(st), nil
}

func fileID(s stat) isolation.FileID { return isolation.FileID{Dev: s.dev, Inode: s.ino} }

func kindOf(s stat) isolation.FileKind {
	switch s.kind() {
	case unix.S_IFREG:
		return isolation.Regular
	case unix.S_IFDIR:
		return isolation.Directory
	case unix.S_IFLNK:
		return isolation.Symlink
	}
	return isolation.OtherFile
}

// CheckWorkdir implements ports.Worktrees. The root itself is "" or ".".
func (d *Drydocks) CheckWorkdir(_ context.Context, p drydock.Place, rel string) error {
	bad := func(format string, a ...any) error {
		return fault.New(fault.InvalidArgument, format, a...).At("workdir").
			Hint("name an existing directory of the Drydock, relative to its root, without links")
	}
	l, err := d.open()
	if err != nil {
		return err
	}
	if _, err := l.dockOf(p); err != nil {
		return err
	}
	if rel == "" || rel == "." {
		return nil
	}
	if filepath.IsAbs(rel) || filepath.Clean(rel) != rel || strings.ContainsRune(rel, 0) {
		return bad("%s is not a clean relative path", show(rel))
	}
	if err := checkTreePath(rel); err != nil {
		return bad("%s has %v", show(rel), err)
	}
	root, err := openRoot(p.Root)
	if err != nil {
		return lost("the Drydock's root cannot be opened without following links: %v", err)
	}
	defer unix.Close(root)
	fd, err := openBeneath(root, rel, openDir)
	switch {
	case err == nil:
		return unix.Close(fd)
	case errors.Is(err, unix.ENOENT):
		return bad("%s does not exist", show(rel))
	case errors.Is(err, unix.ENOTDIR):
		return bad("%s is not a directory", show(rel))
	case errors.Is(err, unix.ELOOP):
		return bad("%s leads through a link", show(rel))
	case errors.Is(err, unix.EXDEV):
		return bad("%s leads out of the Drydock", show(rel))
	case errors.Is(err, unix.EACCES):
		return unreadable(rel, err)
	}
	return bad("%s cannot be opened: %v", show(rel), err)
}
