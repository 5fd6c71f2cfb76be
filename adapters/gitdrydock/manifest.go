package gitdrydock

import (
	"slices"
	"strings"
)

// The modes that git records.
const (
	modeFile       = 0o100644
	modeExecutable = 0o100755
	modeSymlink    = 0o120000
	modeSubmodule  = 0o160000
	modeTree       = 0o040000
)

// stat is what decides without reading whether an entry is still the same. All
// of it must be equal; ctime cannot be set by whoever forges mtime. Times are
// nanoseconds since 1970, mode is the kernel's with its type bits.
type stat struct {
	size, mtime, ctime int64
	ino, dev           uint64
	mode               uint32
}

// entry is one recorded file or link.
type entry struct {
	name  string
	mode  uint32 // as git records it
	oid   oid
	guard string // see guardSize; empty when unknown
	// st is what the entry looked like when its content was read. It proves
	// nothing unless trusted: see racy.
	st      stat
	trusted bool
}

// same says whether two entries record the same content.
func (e entry) same(o entry) bool { return e.mode == o.mode && e.oid == o.oid }

// folder is one directory with its recorded entries, sorted by name bytes.
// It is shared between manifests and never changed once published.
type folder struct {
	path    string
	entries []entry
	// others are the names that are not entries, sorted: directories and what is
	// excluded. st is the directory itself when it was listed. When listed, the
	// same st proves that it still has exactly these names.
	others []dirent
	st     stat
	listed bool
	// raw is the folder as the cache holds it; empty when it is new.
	raw string
}

// dirent is one name of a directory. typ is the kernel's DT_ value, which may
// be unknown (0).
type dirent struct {
	name string
	typ  byte
}

func (f *folder) find(name string) (int, bool) {
	if f == nil {
		return 0, false
	}
	return slices.BinarySearchFunc(f.entries, name, func(e entry, n string) int { return strings.Compare(e.name, n) })
}

// manifest is everything that a Checkpoint records.
type manifest struct {
	format  format
	commit  oid                // the Checkpoint's
	folders map[string]*folder // by path; those without entries may be left out
	dirs    []string           // empty directories, sorted
	// modules are the base commit's submodules, whatever became of them; kept
	// are the ones that are still empty directories.
	modules map[string]oid
	kept    map[string]bool
	// excluded is sorted by path.
	excluded []excluded
	index    indexFile
}

func newManifest(f format) *manifest {
	return &manifest{format: f, folders: map[string]*folder{}, modules: map[string]oid{}, kept: map[string]bool{}}
}

// excluded is an entry that git cannot represent.
type excluded struct {
	path   string
	reason string
}

// The reasons for exclusion, as the domain lists them.
const (
	reasonNested = "nested_repository"
	reasonFIFO   = "fifo"
	reasonSocket = "socket"
	reasonDevice = "device"
	reasonMount  = "mount_point"
	reasonLink   = "gitmodules_link" // see isGitmodules
)

// indexFile is the worktree's raw index: empty values when there is none. As
// with an entry, the stat proves it unchanged only when it is trusted.
type indexFile struct {
	sha256  string
	st      stat
	trusted bool
	bytes   []byte // only when it was just read from the worktree's registration
}

// totals returns the number of files, links and submodules, of these and the
// empty directories together, and the bytes of their contents.
func (m *manifest) totals() (files, entries, bytes int64) {
	files = int64(len(m.kept))
	for _, f := range m.folders {
		files += int64(len(f.entries))
		for i := range f.entries {
			bytes += f.entries[i].st.size
		}
	}
	return files, files + int64(len(m.dirs)), bytes
}
