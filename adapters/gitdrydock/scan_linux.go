package gitdrydock

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
)

// scanned is what a walk found: the manifest as it is now, and how it differs
// from the one it was compared with.
type scanned struct {
	next *manifest
	// changes are sorted by path. They cover files, links, submodules and empty
	// directories.
	changes []change
	// refreshed says that contents were read to no other end than to trust them
	// next time.
	refreshed bool
}

// Walks are bound by system calls; more workers than processors overlap them.
const scanWorkers = 8

// scan walks the tree and compares it with prev. It reads only what prev's
// stats do not prove unchanged. What changes under it is tried again a few
// times and is then recovery_required.
func scan(ctx context.Context, tree string, prev *manifest) (*scanned, error) {
	for try := 0; ; try++ {
		res, err := scanOnce(ctx, tree, prev)
		var moved *errChanged
		switch {
		case !errors.As(err, &moved):
			return res, err
		case try == 3:
			return nil, unstable(moved)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(10<<try) * time.Millisecond):
		}
	}
}

func unstable(moved *errChanged) error {
	return fault.New(fault.RecoveryRequired, "the entry %s keeps changing", show(moved.path)).
		With("path", show(moved.path)).Hint("stop what writes to the Drydock, then try again")
}

// scanner is one walk: a stack of directories that workers take from.
type scanner struct {
	root   int
	dev    uint64
	prev   *manifest
	mounts map[string]bool

	mu    sync.Mutex
	more  *sync.Cond
	stack []string
	busy  int
	err   error

	names, bytes atomic.Int64
}

func scanOnce(ctx context.Context, tree string, prev *manifest) (*scanned, error) {
	root, err := openRoot(tree)
	if err != nil {
		return nil, unreadable("", err)
	}
	defer unix.Close(root)
	top, err := fstat(root)
	if err != nil {
		return nil, unreadable("", err)
	}
	mounts, err := mountsBelow(tree)
	if err != nil {
		return nil, err
	}
	s := &scanner{root: root, dev: top.dev, prev: prev, mounts: mounts, stack: []string{""}}
	s.more = sync.NewCond(&s.mu)
	stop := context.AfterFunc(ctx, func() { s.fail(ctx.Err()) })
	defer stop()
	workers := make([]*scanWorker, scanWorkers)
	var wg sync.WaitGroup
	for i := range workers {
		w := &scanWorker{s: s}
		workers[i] = w
		wg.Go(w.run)
	}
	wg.Wait()
	if s.err != nil {
		return nil, s.err
	}
	return s.merge(workers), nil
}

func (s *scanner) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.more.Broadcast()
}

// push adds directories; the last added is walked first, which keeps the stack
// short.
func (s *scanner) push(paths []string) {
	if len(paths) == 0 {
		return
	}
	s.mu.Lock()
	s.stack = append(s.stack, paths...)
	s.mu.Unlock()
	s.more.Broadcast()
}

// next takes a directory; false when the walk is over.
func (s *scanner) next() (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.err != nil:
			return "", false
		case len(s.stack) > 0:
			p := s.stack[len(s.stack)-1]
			s.stack = s.stack[:len(s.stack)-1]
			s.busy++
			return p, true
		case s.busy == 0:
			return "", false
		}
		s.more.Wait()
	}
}

func (s *scanner) done() {
	s.mu.Lock()
	s.busy--
	over := s.busy == 0
	s.mu.Unlock()
	if over {
		s.more.Broadcast()
	}
}

// merge joins what the workers found.
func (s *scanner) merge(workers []*scanWorker) *scanned {
	m := &manifest{
		format: s.prev.format, folders: make(map[string]*folder, len(s.prev.folders)),
		modules: s.prev.modules, kept: map[string]bool{},
	}
	res := &scanned{next: m}
	for _, w := range workers {
		for _, f := range w.folders {
			m.folders[f.path] = f
		}
		for _, p := range w.kept {
			m.kept[p] = true
		}
		m.dirs = append(m.dirs, w.dirs...)
		m.excluded = append(m.excluded, w.excluded...)
		res.changes = append(res.changes, w.changes...)
		res.refreshed = res.refreshed || w.refreshed
	}
	slices.Sort(m.dirs)
	slices.SortFunc(m.excluded, func(a, b excluded) int { return strings.Compare(a.path, b.path) })
	for p, f := range s.prev.folders {
		if m.folders[p] != nil {
			continue
		}
		for i := range f.entries {
			res.changes = append(res.changes, change{path: join(p, f.entries[i].name), kind: drydock.Deleted})
		}
	}
	res.changes = append(res.changes, dirChanges(s.prev, m)...)
	slices.SortFunc(res.changes, func(a, b change) int { return strings.Compare(a.path, b.path) })
	return res
}

// dirChanges compares the empty directories and the submodules.
func dirChanges(prev, next *manifest) []change {
	var out []change
	diffSorted(prev.dirs, next.dirs, func(p string, kind drydock.ChangeKind) {
		out = append(out, change{path: p, kind: kind, dir: true})
	})
	for p := range prev.kept {
		if !next.kept[p] {
			out = append(out, change{path: p, kind: drydock.Deleted})
		}
	}
	for p := range next.kept {
		if !prev.kept[p] {
			out = append(out, change{path: p, kind: drydock.Added, mode: modeSubmodule, oid: next.modules[p]})
		}
	}
	return out
}

// diffSorted calls f for what is in one sorted list only.
func diffSorted(prev, next []string, f func(string, drydock.ChangeKind)) {
	for len(prev) > 0 || len(next) > 0 {
		switch {
		case len(next) == 0 || len(prev) > 0 && prev[0] < next[0]:
			f(prev[0], drydock.Deleted)
			prev = prev[1:]
		case len(prev) == 0 || next[0] < prev[0]:
			f(next[0], drydock.Added)
			next = next[1:]
		default:
			prev, next = prev[1:], next[1:]
		}
	}
}
