//go:build linux

// Package tree counts what a directory holds, as the growth quota counts it, and
// restores access to it.
//
// Everything is relative to descriptors: no path is ever resolved twice, no link
// is followed, and neither the depth nor the length of a path matters. The tree
// may be hostile and may change during a walk. An entry that vanishes is normal;
// anything else that cannot be read is an error, for what is not counted must not
// pass.
package tree

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// maxDepth is how many levels below the root are entered. It bounds the open
// descriptors of a walk (one a level and worker) below RLIMIT_NOFILE.
const maxDepth = 512

// workers is how many directories are read at once. The container has two CPUs.
const workers = 4

// Usage is what a tree holds. Bytes is the sum over inodes, hard links once, of
// the larger of what is allocated and the size, the root's own inode among them.
// Entries are the names below the root.
type Usage struct {
	Bytes   int64
	Entries int64
}

// Minus is what a tree grew by since a baseline; it may be negative.
func (u Usage) Minus(base Usage) Usage {
	return Usage{Bytes: u.Bytes - base.Bytes, Entries: u.Entries - base.Entries}
}

// Plus is the sum of both.
func (u Usage) Plus(o Usage) Usage {
	return Usage{Bytes: u.Bytes + o.Bytes, Entries: u.Entries + o.Entries}
}

// Max is the larger of both, each number for itself.
func (u Usage) Max(o Usage) Usage {
	return Usage{Bytes: max(u.Bytes, o.Bytes), Entries: max(u.Entries, o.Entries)}
}

// FileID identifies an inode.
type FileID struct{ Dev, Inode uint64 }

// Tree is an open root. Its methods may be called from several goroutines.
type Tree struct {
	fd    int
	uid   uint32
	mask  string // a name directly below the root that is not the tree's own
	exact int64
	names *Names // nil: nobody wants to know of new names
}

// Open opens a root, which must be a directory and not a link. uid is whose
// entries may be given access again; mask names an entry of the root whose bytes
// do not count (a mount on it), or is empty; exact is a file size that Scan looks
// for.
func Open(path, mask string, uid uint32, exact int64) (*Tree, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return &Tree{fd: fd, uid: uid, mask: mask, exact: exact}, nil
}

// FD is the root's descriptor, valid until Close.
func (t *Tree) FD() int { return t.fd }

// Close releases the root.
func (t *Tree) Close() error { return unix.Close(t.fd) }

// node is a directory in the walk. Its path is only put together when asked for,
// so that deep trees cost no memory.
type node struct {
	parent *node
	name   string
	depth  int
	id     FileID
}

// maxPath bounds a path in a report, in bytes; the end is kept.
const maxPath = 1024

// path is the relative path of an entry of n, made valid UTF-8.
func (n *node) path(name string) string {
	parts := []string{name}
	for p := n; p != nil && p.parent != nil; p = p.parent {
		parts = append(parts, p.name)
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		if b.Len() > 0 {
			b.WriteByte('/')
		}
		b.WriteString(parts[i])
	}
	s := b.String()
	if len(s) > maxPath {
		s = "..." + s[len(s)-maxPath:]
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return s
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 16<<10); return &b }}

// gone says that an entry went away or became something else between two looks.
func gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// tries is how often access to one directory is restored during a walk: its
// owner may take it away again in between.
const tries = 3

// openDir opens a directory below another one. If access was taken away from it
// and it belongs to uid, access is given back first.
func (t *Tree) openDir(parent int, name string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK
	for i := 0; ; i++ {
		fd, err := unix.Openat(parent, name, flags, 0)
		if err != unix.EACCES || i == tries {
			return fd, err
		}
		if err := t.grant(parent, name); err != nil {
			return -1, err
		}
	}
}

// grant gives uid's own directory the owner's bits back.
func (t *Tree) grant(parent int, name string) error {
	fd, err := unix.Openat(parent, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return unix.ENOTDIR
	}
	if st.Uid != t.uid {
		return unix.EACCES
	}
	return chmod(fd, st.Mode|0o700)
}

// chmod changes the mode of whatever an O_PATH descriptor holds: by the
// descriptor, so that a swapped name cannot lead it elsewhere.
func chmod(fd int, mode uint32) error {
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), mode&0o7777)
}
