//go:build linux

package tree

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Found is what one scan saw.
type Found struct {
	Usage
	// Exact are the regular files of exactly the size that Open was given, by
	// inode, with one path each; at most maxExact.
	Exact map[FileID]string
	// Shut is how many entries Restore would change.
	Shut int64
}

const maxExact = 64

// Scan counts the whole tree. It is exact when nothing in it changes meanwhile;
// otherwise an entry that moves during the scan may count twice or not at all.
func (t *Tree) Scan() (Found, error) {
	return t.ScanUntil(Usage{Bytes: math.MaxInt64, Entries: math.MaxInt64})
}

// ScanUntil is a Scan that ends as soon as it has counted more than limit: a tree
// that grows as fast as it is counted is not run after. What it returns then is
// more than limit, and less than there is.
func (t *Tree) ScanUntil(limit Usage) (Found, error) {
	w := &walk{t: t, limit: limit, acl: hasACL(t.fd), slots: make(chan struct{}, workers-1), links: map[FileID]struct{}{}, exact: map[FileID]string{}}
	fd, err := unix.Openat(t.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EACCES) {
		// The root's own access was taken away; it is open already, so it can be
		// given back when it is uid's.
		if err = t.grantRoot(); err == nil {
			fd, err = unix.Openat(t.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
	}
	if err != nil {
		return Found{}, fmt.Errorf("scan: %w", err)
	}
	var root unix.Stat_t
	if err := unix.Fstat(fd, &root); err != nil {
		unix.Close(fd)
		return Found{}, fmt.Errorf("scan: %w", err)
	}
	w.bytes.Add(max(root.Blocks*512, root.Size))
	if t.shut(root.Uid, root.Mode, w.acl) {
		w.shut.Add(1)
	}
	t.names.begin()
	w.dir(fd, &node{id: FileID{Dev: root.Dev, Inode: root.Ino}})
	w.running.Wait()
	if err := w.failure(); err != nil {
		return Found{}, fmt.Errorf("scan: %w", err)
	}
	return Found{Usage: Usage{Bytes: w.bytes.Load(), Entries: w.entries.Load()}, Exact: w.exact, Shut: w.shut.Load()}, nil
}

func (t *Tree) grantRoot() error {
	var st unix.Stat_t
	if err := unix.Fstat(t.fd, &st); err != nil {
		return err
	}
	if st.Uid != t.uid {
		return unix.EACCES
	}
	return unix.Fchmod(t.fd, st.Mode&0o7777|0o700)
}

type walk struct {
	t       *Tree
	limit   Usage
	acl     bool
	slots   chan struct{} // one for each further worker
	running sync.WaitGroup
	bytes   atomic.Int64
	entries atomic.Int64
	shut    atomic.Int64

	mu    sync.Mutex
	links map[FileID]struct{} // inodes with more than one link that were counted
	exact map[FileID]string
	err   error
}

// over says that more was counted than anybody wants to know of.
func (w *walk) over() bool {
	return w.bytes.Load() > w.limit.Bytes || w.entries.Load() > w.limit.Entries
}

// sub is a directory that is still to be entered.
type sub struct {
	name string
	id   FileID
}

func (w *walk) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

func (w *walk) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// dir counts an open directory and everything below it, and closes it.
func (w *walk) dir(fd int, n *node) {
	closed := false
	defer func() {
		if !closed {
			unix.Close(fd)
		}
	}()
	if w.over() || w.failure() != nil {
		return
	}
	// Before the list: a name that comes between the two is counted twice, not never.
	w.t.names.add(fd, n.id)
	var subs []sub
	var bytes, entries, shut int64
	err := w.t.list(fd, func(e entry) error {
		entries++
		if n.parent == nil && w.t.mask != "" && string(e.name[:len(e.name)-1]) == w.t.mask {
			return nil
		}
		bytes += w.size(n, e)
		if w.t.shut(e.stat.Uid, uint32(e.stat.Mode), w.acl) {
			shut++
		}
		if e.isDir() {
			subs = append(subs, sub{e.text(), e.id()})
		}
		return nil
	})
	w.bytes.Add(bytes)
	w.entries.Add(entries)
	w.shut.Add(shut)
	if err != nil {
		w.fail(err)
		return
	}
	for i, s := range subs {
		if w.over() {
			return
		}
		name := s.name
		if n.depth == maxDepth {
			w.fail(fmt.Errorf("deeper than %d levels", maxDepth))
			return
		}
		sub, err := w.t.openDir(fd, name)
		if gone(err) {
			continue
		}
		if err != nil {
			w.fail(fmt.Errorf("open %s: %w", n.path(name), err))
			return
		}
		if i == len(subs)-1 {
			// Nothing more is needed of this directory: a chain of single
			// directories takes one descriptor, not one a level.
			unix.Close(fd)
			closed = true
		}
		w.enter(sub, &node{parent: n, name: name, depth: n.depth + 1, id: s.id})
	}
}

// enter walks a subdirectory by another worker if one is free.
func (w *walk) enter(fd int, n *node) {
	select {
	case w.slots <- struct{}{}:
		w.running.Add(1)
		go func() {
			defer func() { <-w.slots; w.running.Done() }()
			w.dir(fd, n)
		}()
	default:
		w.dir(fd, n)
	}
}

// size is what an entry adds to the tree's bytes.
func (w *walk) size(n *node, e entry) int64 {
	st := e.stat
	size := max(int64(st.Blocks)*512, int64(st.Size))
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return size
	}
	id := e.id()
	exact := w.t.exact > 0 && st.Mode&unix.S_IFMT == unix.S_IFREG && int64(st.Size) == w.t.exact
	if st.Nlink < 2 && !exact {
		return size
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if exact && len(w.exact) < maxExact {
		w.exact[id] = n.path(e.text())
	}
	if st.Nlink < 2 {
		return size
	}
	if _, counted := w.links[id]; counted {
		return 0
	}
	w.links[id] = struct{}{}
	return size
}
