package gitdrydock

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
)

// dirtyPaths is how many paths Dirty names.
const dirtyPaths = 20

// untrackedDeadline bounds the listing of untracked files, which are reported
// and not used.
const untrackedDeadline = 20 * time.Second

// dirty compares the source's working tree and index with HEAD, by reading:
// git status would run the clean filters and the fsmonitor that the repository
// names. A file whose stat is the one in the index is taken as unchanged, as git
// does; any other is hashed as it is, so a file that only a filter would make
// equal counts as modified. What could not be looked at is returned as notices.
func (l layout) dirty(ctx context.Context, r repository, f format, base *baseTree) (drydock.Dirty, []string) {
	var notices []string
	want := map[string]leaf{}
	for _, x := range base.files {
		want[x.path] = x
	}
	entries, stamp, err := loadIndex(r, f)
	if err != nil {
		notices = append(notices, "the source's index has a form that is not read here; staged changes are not counted")
		entries = nil
		for _, x := range base.files {
			entries = append(entries, indexEntry{path: x.path, mode: plainMode(x.mode), oid: x.oid})
		}
	}
	modified, err := compareIndex(ctx, r, f, want, entries, stamp)
	if err != nil {
		notices = append(notices, "the source's working tree could not be compared with its commit")
	}
	untracked, count, err := l.untracked(ctx, r)
	if err != nil {
		notices = append(notices, "the source's untracked files could not be listed")
	}
	d := drydock.Dirty{Modified: len(modified), Untracked: count, Paths: []string{}}
	for _, p := range slices.Concat(modified, untracked) {
		if len(d.Paths) == dirtyPaths {
			break
		}
		d.Paths = append(d.Paths, show(p))
	}
	return d, notices
}

// loadIndex reads the index and when it was written, in nanoseconds.
func loadIndex(r repository, f format) ([]indexEntry, int64, error) {
	path := filepath.Join(r.gitDir, "index")
	b, err := readRegular(path, smallObject)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	var s unix.Stat_t
	if err := unix.Lstat(path, &s); err != nil {
		return nil, 0, err
	}
	entries, err := parseIndex(b, f)
	return entries, s.Mtim.Nano(), err
}

// compareIndex returns the paths that differ from HEAD in the index or in the
// working tree, sorted.
func compareIndex(ctx context.Context, r repository, f format, head map[string]leaf, entries []indexEntry, stamp int64) ([]string, error) {
	root, err := openRoot(r.topLevel)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	c := treeComparer{root: root, dir: -1, format: f, stamp: stamp, buf: make([]byte, 128<<10)}
	defer c.close()
	changed := map[string]bool{}
	seen := map[string]bool{}
	for i, e := range entries {
		if i%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if e.mode == modeSubmodule {
			continue
		}
		seen[e.path] = true
		h, tracked := head[e.path]
		staged := e.stage != 0 || !tracked || h.oid != e.oid || plainMode(h.mode) != e.mode
		if staged || !e.skip && c.differs(e) {
			changed[e.path] = true
		}
	}
	for p := range head {
		if !seen[p] {
			changed[p] = true
		}
	}
	out := make([]string, 0, len(changed))
	for p := range changed {
		out = append(out, p)
	}
	slices.Sort(out)
	return out, nil
}

// treeComparer looks at the files of a working tree, in index order.
type treeComparer struct {
	root   int
	dir    int
	path   string
	format format
	stamp  int64
	buf    []byte
}

func (c *treeComparer) close() {
	if c.dir >= 0 {
		_ = unix.Close(c.dir)
		c.dir = -1
	}
}

// differs says whether the file is another than the index records. What cannot
// be read differs.
func (c *treeComparer) differs(e indexEntry) bool {
	dir, name := split(e.path)
	if c.dir < 0 || c.path != dir {
		c.close()
		fd, err := openBeneath(c.root, dir, openDir)
		if err != nil {
			c.dir = -1
			return true
		}
		c.dir, c.path = fd, dir
	}
	st, err := lstatAt(c.dir, name)
	if err != nil {
		return true
	}
	switch {
	case st.kind() == unix.S_IFLNK && e.mode == modeSymlink:
		target, err := readLink(c.dir, name, e.path, st)
		return err != nil || c.format.blob([]byte(target)) != e.oid
	case st.kind() != unix.S_IFREG || e.mode == modeSymlink || st.gitMode() != e.mode:
		return true
	case c.known(st, e):
		return false
	}
	got, _, err := readFile(c.dir, name, e.path, st, c.format, nil, c.buf)
	return err != nil || got.oid != e.oid
}

// known says that the stat in the index proves the file unchanged: equal, and
// older than the index itself.
func (c *treeComparer) known(st stat, e indexEntry) bool {
	const second = int64(time.Second)
	low := func(n uint64) uint32 { return uint32(n) } // the index keeps 32 bits
	return low(uint64(st.size)) == e.size && low(st.ino) == e.ino &&
		uint32(st.mtime/second) == e.mtime && uint32(st.mtime%second) == e.mtimeNano &&
		uint32(st.ctime/second) == e.ctime && uint32(st.ctime%second) == e.ctimeNano &&
		st.mtime < c.stamp
}

// untracked counts files that git does not know and does not ignore, and returns
// the first of them by name. ls-files reads names and ignore rules only: it
// converts nothing and starts nothing.
func (l layout) untracked(ctx context.Context, r repository) (first []string, count int, err error) {
	_, err = l.run(ctx, gitCall{
		gitDir: r.gitDir, workTree: r.topLevel, timeout: untrackedDeadline,
		args: []string{"ls-files", "--others", "--exclude-standard", "-z", "--full-name"},
		stdout: func(r io.Reader) error {
			in := bufio.NewReader(r)
			for {
				rec, err := in.ReadString(0)
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
				if count++; len(first) < dirtyPaths {
					first = append(first, strings.TrimSuffix(rec, "\x00"))
				}
			}
		},
	})
	return first, count, err
}
