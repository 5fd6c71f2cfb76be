package gitdrydock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
)

// cleanDeadline bounds the removal of the content. What is left is removed by
// the next call.
const cleanDeadline = 2 * time.Minute

// Clean implements ports.Remnants.
func (d *Drydocks) Clean(ctx context.Context, dd drydock.Drydock) (drydock.Remains, error) {
	r, err := d.remnant(ctx, dd)
	if err != nil {
		return drydock.Remains{}, edge(err)
	}
	defer r.close()
	out := r.remains(ctx, dd)
	if len(r.stop) > 0 {
		return out, nil
	}
	pending, err := r.clean(ctx)
	if err != nil {
		return out, edge(err)
	}
	out.Pending = len(pending) > 0
	out.Kept = append(out.Kept, pending...)
	return out, nil
}

// clean removes in the order in which each part proves the next: the content,
// the registration with the refs, the Checkpoints, the product's own records. It
// returns what could not be removed yet.
func (r *remnant) clean(ctx context.Context) ([]drydock.Doubt, error) {
	if r.worktree {
		left, err := r.removeContent(ctx)
		if err != nil || len(left) > 0 {
			return left, err
		}
	}
	if err := r.v.at("content"); err != nil {
		return nil, err
	}
	if left, err := r.deregister(ctx); err != nil || len(left) > 0 {
		return left, err
	}
	if err := r.v.at("registration"); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(r.v.k.shadow); err != nil {
		return nil, fault.Wrap(fault.CleanupPending, err, "the Checkpoints cannot be removed").Hint("repeat the cleanup")
	}
	if err := r.v.at("shadow"); err != nil {
		return nil, err
	}
	return nil, r.records()
}

// deregister removes the registration and the refs, under the source's lock.
func (r *remnant) deregister(ctx context.Context) ([]drydock.Doubt, error) {
	if r.held {
		return []drydock.Doubt{{What: "the worktree's .git file and its Checkpoints", Why: "a registration is kept"}}, nil
	}
	if r.registration == "" && !r.branch && !r.pin {
		return nil, nil
	}
	lock, err := lockFile(ctx, r.v.l.sourceLock(r.v.in.CommonDir))
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	v := r.v
	v.l = v.l.holding(lock)
	if r.registration != "" {
		if err := os.RemoveAll(r.registration); err != nil {
			return []drydock.Doubt{{What: "the registration " + show(filepath.Base(r.registration)), Why: err.Error()}}, nil
		}
		_ = os.Remove(filepath.Dir(r.registration)) // git keeps no empty directory there
	}
	if err := v.at("deregistered"); err != nil {
		return nil, err
	}
	var script strings.Builder
	for ref, there := range map[string]bool{"refs/heads/" + v.in.Branch: r.branch, v.baseRef(): r.pin} {
		if there {
			fmt.Fprintf(&script, "delete %s %s\n", ref, v.in.HeadCommit)
		}
	}
	if script.Len() == 0 {
		return nil, nil
	}
	if _, err := v.source(ctx, script.String(), "update-ref", "--stdin"); err != nil {
		return []drydock.Doubt{{What: "the refs of the Drydock", Why: err.Error()}}, nil
	}
	return nil, nil
}

// records removes the product's own files, the lock last. What it did not make
// stays, with the directory, and is named by Strays.
func (r *remnant) records() error {
	k := r.v.k
	if _, err := os.Lstat(k.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	r.v.sweepDeliveries()
	own := []string{filepath.Join(k.tree, ".git"), k.tree, k.file("cache"), k.file("rewind.json"), k.file("place.json"), k.file("intent.json")}
	temps, _ := filepath.Glob(filepath.Join(escapeGlob(k.dir), ".new-*"))
	probes, _ := filepath.Glob(filepath.Join(escapeGlob(k.dir), ".probe-*"))
	own = append(append(own, temps...), probes...)
	for i, p := range append(own, k.file("lock")) {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.Wrap(fault.CleanupPending, err, "the Drydock's own records cannot be removed").Hint("repeat the cleanup")
		}
		if i == 1 {
			if err := r.v.at("worktree-gone"); err != nil {
				return err
			}
		}
	}
	_ = os.Remove(k.dir)
	return r.v.at("records")
}

// removeContent removes everything beneath the root but the control file.
func (r *remnant) removeContent(ctx context.Context) ([]drydock.Doubt, error) {
	ctx, cancel := context.WithTimeout(ctx, cleanDeadline)
	defer cancel()
	root, err := openRoot(r.v.k.tree)
	if err != nil {
		return nil, fault.Wrap(fault.CleanupPending, err, "the worktree cannot be opened").Hint("repeat the cleanup")
	}
	defer unix.Close(root)
	w := &remover{ctx: ctx, root: root, me: os.Geteuid(), dents: make([]byte, 32<<10)}
	w.empty(root, "", 0)
	// What lay too deep was moved up; each round takes off so many levels more.
	for w.moved > 0 && len(w.left) == 0 && ctx.Err() == nil {
		w.moved = 0
		w.empty(root, "", 0)
	}
	if ctx.Err() != nil {
		w.fail("", fmt.Errorf("not done in time: %w", ctx.Err()))
	}
	// What came meanwhile, or was not seen, is left too.
	if len(w.left) == 0 {
		for _, n := range w.list(root, "") {
			w.fail(n.name, errors.New("it appeared while the content was removed"))
		}
	}
	return w.left, nil
}

// remover removes a tree by open directories, following no link and entering no
// mount.
type remover struct {
	ctx   context.Context
	root  int
	me    int
	dents []byte
	count int
	moved int
	more  int
	left  []drydock.Doubt
}

const (
	removeDepth = 100 // directories held open at once
	namedLeft   = 20
)

func (w *remover) fail(path string, err error) {
	if len(w.left) == namedLeft {
		w.more++
		return
	}
	why := err.Error()
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		why += "; run `cyberagent drydock repair` and repeat"
	}
	w.left = append(w.left, drydock.Doubt{What: show(path), Why: why})
}

// empty removes what is in an open directory.
func (w *remover) empty(dir int, path string, depth int) {
	for _, n := range w.list(dir, path) {
		if w.ctx.Err() != nil {
			return
		}
		if err := w.one(dir, n, join(path, n.name), depth); err != nil {
			w.fail(join(path, n.name), err)
		}
	}
}

// list reads an open directory from its beginning, but for the control file. A directory
// in that one's place is content like any other: it cannot say whose the Drydock is.
func (w *remover) list(dir int, path string) []dirent {
	_, err := unix.Seek(dir, 0, io.SeekStart)
	var names []dirent
	if err == nil {
		names, err = readNames(dir, w.dents, nil)
	}
	if err != nil {
		w.fail(path, err)
	}
	return slices.DeleteFunc(names, func(n dirent) bool {
		if path != "" || n.name != ".git" {
			return false
		}
		st, err := lstatAt(dir, n.name)
		return err != nil || st.kind() != unix.S_IFDIR
	})
}

func (w *remover) one(dir int, n dirent, path string, depth int) error {
	err := unix.Unlinkat(dir, n.name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if st, serr := lstatAt(dir, n.name); serr != nil || st.kind() != unix.S_IFDIR {
		return err
	}
	if err = unix.Unlinkat(dir, n.name, unix.AT_REMOVEDIR); err == nil || !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST) {
		return err
	}
	if depth >= removeDepth {
		return w.lift(dir, n.name)
	}
	fd, err := openBeneath(dir, n.name, openDir)
	if errors.Is(err, unix.EACCES) && w.widen(dir, n.name) {
		fd, err = openBeneath(dir, n.name, openDir)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if w.me != 0 {
		var s unix.Stat_t
		if unix.Fstat(fd, &s) == nil && int(s.Uid) == w.me && s.Mode&0o700 != 0o700 {
			_ = unix.Fchmod(fd, 0o700)
		}
	}
	before := len(w.left) + w.more
	w.empty(fd, path, depth+1)
	if len(w.left)+w.more > before || w.ctx.Err() != nil {
		return nil // named already
	}
	return unix.Unlinkat(dir, n.name, unix.AT_REMOVEDIR)
}

// lift moves a directory that lies too deep up to the root, under a free name.
func (w *remover) lift(dir int, name string) error {
	for {
		w.count++
		err := unix.Renameat2(dir, name, w.root, fmt.Sprintf(".deep-%d", w.count), unix.RENAME_NOREPLACE)
		if errors.Is(err, unix.EINVAL) { // the file system cannot; a directory never replaces one that is not empty
			err = unix.Renameat(dir, name, w.root, fmt.Sprintf(".deep-%d", w.count))
		}
		if errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.ENOTDIR) {
			continue
		}
		w.moved++
		return err
	}
}

// widen gives an ordinary user access to a closed directory of their own.
func (w *remover) widen(dir int, name string) bool {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var s unix.Stat_t
	if unix.Fstat(fd, &s) != nil || int(s.Uid) != w.me {
		return false
	}
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), 0o700) == nil
}
