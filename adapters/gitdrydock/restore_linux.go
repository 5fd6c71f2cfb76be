package gitdrydock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
)

// restorer brings the files to a goal. A name is removed and made anew: no file
// that is there, under whatever other names, is ever written into. Every
// directory is opened beneath the root without following a link.
type restorer struct {
	v      visit
	r      *restoration
	access access
	root   int
}

// accessOf is the way in which a Drydock lets the container's user in.
func accessOf(p drydock.Place) access {
	a := access{way: p.Access}
	if a.way == drydock.AccessACL {
		a.users = []uint32{uint32(os.Geteuid()), limits.UID}
		slices.Sort(a.users)
	}
	return a
}

// restore changes the files. Interrupted anywhere, it can be repeated from what
// it left.
func (v visit) restore(ctx context.Context, a access, r *restoration) error {
	root, err := openRoot(v.k.tree)
	if err != nil {
		return unreadable("", err)
	}
	defer unix.Close(root)
	w := restorer{v: v, r: r, access: a, root: root}
	for _, step := range []struct {
		do   func(context.Context) error
		name string
	}{{w.delete, "deleted"}, {w.directories, "directories"}, {w.write, "written"}, {w.index, "indexed"}} {
		if err := step.do(ctx); err != nil {
			return err
		}
		if err := v.at(step.name); err != nil {
			return err
		}
	}
	return nil
}

// delete removes files, links and empty directories, and the directories that
// become empty with them. What an excluded entry is left in stays.
func (w restorer) delete(ctx context.Context) error {
	d := walkDir{root: w.root, fd: -1}
	defer d.close()
	for i, p := range w.r.deletes {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		dir, name := split(p)
		if err := d.enter(dir); err != nil {
			return writeError(p, err)
		}
		if err := unix.Unlinkat(d.fd, name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
			return writeError(p, err)
		}
	}
	d.close()
	emptied := slices.Clone(w.r.rmdirs)
	last := ""
	for _, p := range w.r.deletes {
		if dir, _ := split(p); dir != "" && dir != last {
			emptied, last = append(emptied, dir), dir
		}
	}
	slices.Sort(emptied)
	for _, dir := range slices.Backward(slices.Compact(emptied)) {
		if err := w.prune(dir); err != nil {
			return writeError(dir, err)
		}
	}
	return nil
}

// prune removes a directory and those above it as long as they are empty and
// nothing wants them.
func (w restorer) prune(dir string) error {
	for ; dir != ""; dir, _ = split(dir) {
		if _, wanted := slices.BinarySearch(w.r.needed, dir); wanted {
			return nil
		}
		parent, name := split(dir)
		fd, err := openBeneath(w.root, parent, openDir)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return err
		}
		err = unix.Unlinkat(fd, name, unix.AT_REMOVEDIR)
		_ = unix.Close(fd)
		switch {
		case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EEXIST):
			return nil
		case err != nil && !errors.Is(err, unix.ENOENT):
			return err
		}
	}
	return nil
}

// directories makes those that are wanted and not there.
func (w restorer) directories(context.Context) error {
	for _, p := range w.r.needed {
		dir, name := split(p)
		fd, err := openBeneath(w.root, dir, openDir)
		if err != nil {
			return writeError(p, err)
		}
		st, err := lstatAt(fd, name)
		_ = unix.Close(fd)
		switch {
		case err == nil && st.kind() == unix.S_IFDIR:
			continue
		case err == nil:
			return &errChanged{p}
		case !errors.Is(err, unix.ENOENT):
			return writeError(p, err)
		}
		if err := w.access.makeDir(w.root, p); err != nil {
			return writeError(p, err)
		}
	}
	return nil
}

// write makes the files and links from raw blobs.
func (w restorer) write(ctx context.Context) error {
	return w.v.blobs(ctx, w.r.writes, func(in *bufio.Reader) (func(leaf) error, func()) {
		d, fill := walkDir{root: w.root, fd: -1}, treeWriter{in: in}
		return func(x leaf) error { return w.one(&fill, &d, x) }, d.close
	})
}

// one replaces one entry. What came to its place meanwhile is errChanged.
func (w restorer) one(fill *treeWriter, d *walkDir, x leaf) error {
	object, size, err := objectHeader(fill.in)
	if err != nil {
		return err
	}
	if object != x.oid.String() {
		return fmt.Errorf("the shadow repository lacks its content %s", x.oid)
	}
	dir, name := split(x.path)
	if err := d.enter(dir); err != nil {
		return err
	}
	if _, there := w.r.now.next.entry(x.path); there {
		if err := unix.Unlinkat(d.fd, name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	if x.mode == modeSymlink {
		err = w.link(fill, d.fd, name, size)
	} else {
		err = w.file(fill, d.fd, name, size, x.mode == modeExecutable)
	}
	if errors.Is(err, unix.EEXIST) {
		return &errChanged{x.path}
	}
	if err != nil {
		return err
	}
	return objectEnd(fill.in)
}

func (w restorer) link(fill *treeWriter, dir int, name string, size int64) error {
	if size > 4095 {
		return fmt.Errorf("a link of %d bytes", size)
	}
	target := make([]byte, size)
	if _, err := io.ReadFull(fill.in, target); err != nil {
		return err
	}
	if err := unix.Symlinkat(string(target), dir, name); err != nil {
		return err
	}
	return w.access.ownLink(dir, name)
}

func (w restorer) file(fill *treeWriter, dir int, name string, size int64, executable bool) error {
	mode, _ := w.access.modes(executable)
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := retry(func() (int, error) { return unix.Openat(dir, name, flags, mode) })
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := fill.fill(fd, size); err != nil {
		return err
	}
	if w.access.way == drydock.AccessOwner {
		if err := unix.Fchmod(fd, mode); err != nil {
			return err
		}
	}
	return w.access.own(fd)
}

// index puts the raw index back. A lock there is somebody's who is at work in
// the worktree, and is never removed.
func (w restorer) index(ctx context.Context) error {
	if !w.r.index {
		return nil
	}
	path := filepath.Join(w.v.registration, "index")
	if _, err := os.Lstat(path + ".lock"); err == nil {
		return fault.New(fault.InProgress, "git is at work in the worktree: its index is locked").
			Hint("wait for it; a lock that was left is %s, to be removed by whoever left it", show(path+".lock"))
	}
	if w.r.goal.indexSHA256 == "" {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fault.Wrap(fault.RecoveryRequired, err, "the worktree's index cannot be removed")
		}
		return nil
	}
	b, err := w.r.goal.index(ctx)
	if err != nil {
		return err
	}
	if err := writeAtomic(path, b, false); err != nil {
		return fault.Wrap(fault.RecoveryRequired, err, "the worktree's index cannot be written")
	}
	return nil
}

// walkDir keeps the directory of the last entry open: neighbours share it.
type walkDir struct {
	root, fd int
	path     string
}

func (d *walkDir) enter(path string) error {
	if d.fd >= 0 && d.path == path {
		return nil
	}
	d.close()
	fd, err := openBeneath(d.root, path, openDir)
	if err == nil {
		d.fd, d.path = fd, path
	}
	return err
}

func (d *walkDir) close() {
	if d.fd >= 0 {
		_ = unix.Close(d.fd)
		d.fd = -1
	}
}
