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
	emptied   []string // directories of prev that hold no recorded entry now
	dirs      []string
	kept      []string
	excluded  []excluded
	changes   []change
	refreshed bool

	dents []byte
	buf   []byte
	list  []dirent
	work  []entry
}

func (w *scanWorker) run() {
	w.dents = make([]byte, 32<<10)
	for {
		path, ok := w.s.next()
		if !ok {
			return
		}
		if err := w.dir(path); err != nil {
			w.s.fail(err)
		}
		w.s.done()
	}
}

// dirent is one name of a directory. typ is the kernel's DT_ value, which may
// be unknown.
type dirent struct {
	name string
	typ  byte
}

// dir records one directory and pushes those in it.
func (w *scanWorker) dir(path string) error {
	fd, err := openBeneath(w.s.root, path, openDir)
	if err != nil {
		// A mount that appeared since the mounts were listed is a change too.
		if errors.Is(err, unix.EXDEV) {
			return &errChanged{path}
		}
		return readError(path, err)
	}
	defer unix.Close(fd)
	before, err := fstat(fd)
	if err != nil {
		return unreadable(path, err)
	}
	if before.dev != w.s.dev {
		w.exclude(path, reasonMount)
		return nil
	}
	if w.list, err = readNames(fd, w.dents, w.list[:0]); err != nil {
		return readError(path, err)
	}
	if w.s.names.Add(int64(len(w.list))) > limits.TreeEntries {
		return beyond(path, "tree_entries", limits.TreeEntries)
	}
	subdirs, err := w.entries(fd, path)
	if err != nil {
		return err
	}
	// A name that came or went during the listing may or may not have been seen.
	if after, err := fstat(fd); err != nil || after != before {
		return &errChanged{path}
	}
	w.s.push(subdirs)
	return nil
}

// entries compares the names in w.list with the folder that prev has.
func (w *scanWorker) entries(fd int, path string) (subdirs []string, err error) {
	var old []entry
	prev := w.s.prev.folders[path]
	if prev != nil {
		old = prev.entries
	}
	w.work = w.work[:0]
	same := true
	for _, d := range w.list {
		if path == "" && d.name == ".git" {
			continue // the control file: verified by itself, never recorded
		}
		st, record, isDir, err := w.look(fd, path, d)
		if err != nil {
			return nil, err
		}
		if isDir {
			subdirs = append(subdirs, join(path, d.name))
		}
		if !record {
			continue
		}
		for len(old) > 0 && old[0].name < d.name {
			w.note(change{path: join(path, old[0].name), kind: drydock.Deleted})
			old, same = old[1:], false
		}
		var was *entry
		if len(old) > 0 && old[0].name == d.name {
			was, old = &old[0], old[1:]
		}
		if was != nil && was.trusted && was.st == st {
			if w.s.bytes.Add(st.size) > limits.CheckpointBytes {
				return nil, beyond(join(path, d.name), "checkpoint_bytes", limits.CheckpointBytes)
			}
			w.work = append(w.work, *was)
			continue
		}
		e, err := w.read(fd, path, d.name, st, was)
		if err != nil {
			return nil, err
		}
		w.work, same = append(w.work, e), false
	}
	for _, o := range old {
		w.note(change{path: join(path, o.name), kind: drydock.Deleted})
		same = false
	}
	w.publish(path, prev, same, len(subdirs))
	return subdirs, nil
}

// publish keeps the directory: the old folder when nothing in it changed.
func (w *scanWorker) publish(path string, prev *folder, same bool, subdirs int) {
	switch {
	case len(w.work) > 0 && same && prev != nil:
		w.folders = append(w.folders, prev)
	case len(w.work) > 0:
		w.folders = append(w.folders, &folder{path: path, entries: slices.Clone(w.work)})
	default:
		if prev != nil {
			w.emptied = append(w.emptied, path)
		}
		if subdirs > 0 || path == "" {
			return
		}
		if w.s.prev.modules[path] != "" {
			w.kept = append(w.kept, path)
		} else {
			w.dirs = append(w.dirs, path)
		}
	}
}

// look decides what a name is: a directory to enter, an entry to record, or one
// to exclude.
func (w *scanWorker) look(fd int, path string, d dirent) (st stat, record, isDir bool, err error) {
	if isDotGit(d.name) {
		w.exclude(join(path, d.name), reasonNested)
		return st, false, false, nil
	}
	if w.s.mounts != nil && w.s.mounts[join(path, d.name)] {
		w.exclude(join(path, d.name), reasonMount)
		return st, false, false, nil
	}
	if d.typ != unix.DT_DIR {
		if st, err = lstatAt(fd, d.name); err != nil {
			return st, false, false, readError(join(path, d.name), err)
		}
	}
	if n := len(path) + 1 + len(d.name); n > limits.TreeNameBytes {
		return st, false, false, beyond(join(path, d.name), "path_bytes", limits.TreeNameBytes)
	}
	switch {
	case d.typ == unix.DT_DIR || st.kind() == unix.S_IFDIR:
		p := join(path, d.name)
		if strings.Count(p, "/")+1 > limits.TreeDepth {
			return st, false, false, beyond(p, "path_levels", limits.TreeDepth)
		}
		return st, false, true, nil
	case st.kind() == unix.S_IFREG, st.kind() == unix.S_IFLNK:
		return st, true, false, nil
	case st.kind() == unix.S_IFIFO:
		w.exclude(join(path, d.name), reasonFIFO)
	case st.kind() == unix.S_IFSOCK:
		w.exclude(join(path, d.name), reasonSocket)
	default:
		w.exclude(join(path, d.name), reasonDevice)
	}
	return st, false, false, nil
}

// read hashes an entry that its stat does not prove unchanged, and notes how it
// differs from was, which is nil for a new name.
func (w *scanWorker) read(fd int, dir, name string, st stat, was *entry) (entry, error) {
	path := join(dir, name)
	if w.s.bytes.Add(st.size) > limits.CheckpointBytes {
		return entry{}, beyond(path, "checkpoint_bytes", limits.CheckpointBytes)
	}
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
