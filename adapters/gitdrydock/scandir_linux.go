package gitdrydock

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
)

// scanWorker walks directories one at a time and keeps what it found to itself.
type scanWorker struct {
	s *scanner

	folders   []*folder
	dirs      []string
	kept      []string
	excluded  []excluded
	changes   []change
	refreshed bool

	dents []byte
	buf   []byte
	list  []dirent
	// Of the directory at hand.
	work   []entry
	others []dirent
}

// dir records one directory and pushes those in it.
func (w *scanWorker) dir(path string) error {
	if known := w.s.prev.folders[path]; w.s.only != nil && !w.s.only[path] && known != nil {
		w.publish(known)
		return nil
	}
	fd, err := openBeneath(w.s.root, path, openDir)
	if err != nil {
		// A mount that appeared since the mounts were listed is a change too.
		if errors.Is(err, unix.EXDEV) {
			return &errChanged{path}
		}
		return readError(path, err)
	}
	defer unix.Close(fd)
	at := time.Now()
	before, err := fstat(fd)
	if err != nil {
		return unreadable(path, err)
	}
	if before.dev != w.s.dev {
		w.exclude(path, reasonMount)
		return nil
	}
	prev := w.s.prev.folders[path]
	known := prev != nil && prev.listed && prev.st == before
	if known {
		w.list = prev.names(w.list[:0])
	} else if w.list, err = readNames(fd, w.dents, w.list[:0]); err != nil {
		return readError(path, err)
	}
	if w.s.names.Add(int64(len(w.list))) > limits.TreeEntries {
		return beyond(path, "tree_entries", limits.TreeEntries)
	}
	same, err := w.entries(fd, path, prev)
	if err != nil {
		return err
	}
	if !known {
		// A name that came or went during the listing may or may not have been
		// seen.
		if after, err := fstat(fd); err != nil || after != before {
			return &errChanged{path}
		}
	}
	if known && same {
		w.publish(prev)
		return nil
	}
	w.publish(&folder{
		path: path, entries: slices.Clone(w.work), others: slices.Clone(w.others),
		st: before, listed: !racy(before, at),
	})
	return nil
}

// names merges the entries and the other names.
func (f *folder) names(list []dirent) []dirent {
	e, o := f.entries, f.others
	for len(e) > 0 || len(o) > 0 {
		if len(o) == 0 || len(e) > 0 && e[0].name < o[0].name {
			list, e = append(list, dirent{name: e[0].name}), e[1:]
		} else {
			list, o = append(list, o[0]), o[1:]
		}
	}
	return list
}

// entries looks at the names in w.list and fills w.work and w.others. It says
// whether every recorded entry is proven to be the one that prev has.
func (w *scanWorker) entries(fd int, path string, prev *folder) (same bool, err error) {
	var old []entry
	if prev != nil {
		old = prev.entries
	}
	w.work, w.others = w.work[:0], w.others[:0]
	same = true
	var bytes int64
	for _, d := range w.list {
		if path == "" && d.name == ".git" {
			continue // the control file: verified by itself, never recorded
		}
		st, record, err := w.look(fd, path, &d)
		if err != nil {
			return false, err
		}
		if !record {
			w.others = append(w.others, d)
			continue
		}
		bytes += st.size
		for len(old) > 0 && old[0].name < d.name {
			w.note(change{path: join(path, old[0].name), kind: drydock.Deleted})
			old, same = old[1:], false
		}
		var was *entry
		if len(old) > 0 && old[0].name == d.name {
			was, old = &old[0], old[1:]
		}
		if was != nil && was.trusted && was.st == st {
			w.work = append(w.work, *was)
			continue
		}
		e, err := w.read(fd, path, d.name, st, was)
		if err != nil {
			return false, err
		}
		w.work, same = append(w.work, e), false
	}
	for _, o := range old {
		w.note(change{path: join(path, o.name), kind: drydock.Deleted})
		same = false
	}
	if w.s.bytes.Add(bytes) > limits.CheckpointBytes {
		return false, beyond(path, "checkpoint_bytes", limits.CheckpointBytes)
	}
	return same, nil
}

// publish keeps a directory and pushes those in it. One without anything that
// is recorded is an empty directory, or a submodule that still is one.
func (w *scanWorker) publish(f *folder) {
	w.folders = append(w.folders, f)
	var subdirs []string
	for _, d := range f.others {
		if d.typ == unix.DT_DIR {
			subdirs = append(subdirs, join(f.path, d.name))
		}
	}
	w.s.push(subdirs)
	switch {
	case len(f.entries)+len(subdirs) > 0 || f.path == "":
	case w.s.prev.modules[f.path] != "":
		w.kept = append(w.kept, f.path)
	default:
		w.dirs = append(w.dirs, f.path)
	}
}

// look decides what a name is: an entry to record, or else a directory to
// enter (d.typ says so afterwards) or something to exclude.
func (w *scanWorker) look(fd int, path string, d *dirent) (st stat, record bool, err error) {
	if isDotGit(d.name) {
		d.typ = unix.DT_UNKNOWN
		w.exclude(join(path, d.name), reasonNested)
		return st, false, nil
	}
	if w.s.mounts != nil && w.s.mounts[join(path, d.name)] {
		d.typ = unix.DT_UNKNOWN
		w.exclude(join(path, d.name), reasonMount)
		return st, false, nil
	}
	if d.typ != unix.DT_DIR {
		if st, err = lstatAt(fd, d.name); err != nil {
			return st, false, readError(join(path, d.name), err)
		}
	}
	if n := len(path) + 1 + len(d.name); n > limits.TreeNameBytes {
		return st, false, beyond(join(path, d.name), "path_bytes", limits.TreeNameBytes)
	}
	switch {
	case d.typ == unix.DT_DIR || st.kind() == unix.S_IFDIR:
		d.typ = unix.DT_DIR
		if p := join(path, d.name); strings.Count(p, "/")+1 > limits.TreeDepth {
			return st, false, beyond(p, "path_levels", limits.TreeDepth)
		}
		return st, false, nil
	case st.kind() == unix.S_IFLNK && isGitmodules(d.name):
		w.exclude(join(path, d.name), reasonLink)
	case st.kind() == unix.S_IFREG, st.kind() == unix.S_IFLNK:
		return st, true, nil
	case st.kind() == unix.S_IFIFO:
		w.exclude(join(path, d.name), reasonFIFO)
	case st.kind() == unix.S_IFSOCK:
		w.exclude(join(path, d.name), reasonSocket)
	default:
		w.exclude(join(path, d.name), reasonDevice)
	}
	d.typ = unix.DT_UNKNOWN
	return st, false, nil
}

// read hashes an entry that its stat does not prove unchanged, and notes how it
// differs from was, which is nil for a new name.
func (w *scanWorker) read(fd int, dir, name string, st stat, was *entry) (entry, error) {
	path := join(dir, name)
	e := entry{name: name, st: st}
	at := time.Now()
	if st.kind() == unix.S_IFLNK {
		target, err := readLink(fd, name, path, st)
		if err != nil {
			return entry{}, err
		}
		e.mode, e.oid = modeSymlink, w.s.prev.format.blob([]byte(target))
	} else {
		if w.buf == nil {
			w.buf = make([]byte, 128<<10)
		}
		c, readAt, err := readFile(fd, name, path, st, w.s.prev.format, nil, w.buf)
		if err != nil {
			return entry{}, err
		}
		e.mode, e.oid, e.guard, at = st.gitMode(), c.oid, c.guard, readAt
	}
	e.trusted = !racy(st, at)
	switch {
	case was == nil:
		w.note(change{path: path, kind: drydock.Added, mode: e.mode, oid: e.oid, st: st})
	case !was.same(e):
		w.note(change{path: path, kind: drydock.Modified, mode: e.mode, oid: e.oid, st: st})
	case was.guard != "" && e.guard != "" && was.guard != e.guard:
		return entry{}, fault.New(fault.RecoveryRequired, "two contents of %s share one SHA-1", show(path)).
			With("path", show(path)).Hint("remove it: such a file is made to deceive")
	default:
		w.refreshed = true
	}
	return e, nil
}

func (w *scanWorker) note(c change) { w.changes = append(w.changes, c) }

func (w *scanWorker) exclude(path, reason string) {
	w.excluded = append(w.excluded, excluded{path: path, reason: reason})
}

// readNames lists a directory, sorted by name, without "." and "..".
func readNames(fd int, buf []byte, list []dirent) ([]dirent, error) {
	for {
		n, err := retry(func() (int, error) { return unix.ReadDirent(fd, buf) })
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		for b := buf[:n]; len(b) > 19; {
			size := int(binary.NativeEndian.Uint16(b[16:]))
			name := b[19:size]
			if i := slices.Index(name, 0); i >= 0 {
				name = name[:i]
			}
			if s := string(name); s != "." && s != ".." {
				list = append(list, dirent{name: s, typ: b[18]})
			}
			b = b[size:]
		}
	}
	slices.SortFunc(list, func(a, b dirent) int { return strings.Compare(a.name, b.name) })
	return list, nil
}
