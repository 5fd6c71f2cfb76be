package gitdrydock

import (
	"context"
	"errors"
	"slices"
	"strings"
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
	// changes are sorted (compareChanges). They cover files, links, submodules and
	// empty directories.
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
	return scanIn(ctx, tree, prev, nil)
}

// scanIn looks only into some directories, and into those that prev does not
// know. The others are taken to be as in prev, which must be a walk's; nil is
// for all.
func scanIn(ctx context.Context, tree string, prev *manifest, only map[string]bool) (*scanned, error) {
	for try := 0; ; try++ {
		res, err := scanOnce(ctx, tree, prev, only)
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

// scanner is one walk of the tree.
type scanner struct {
	*pool
	root   int
	dev    uint64
	prev   *manifest
	mounts map[string]bool
	only   map[string]bool // see scanIn

	names, bytes atomic.Int64
}

func scanOnce(ctx context.Context, tree string, prev *manifest, only map[string]bool) (*scanned, error) {
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
	s := &scanner{pool: newPool(), root: root, dev: top.dev, prev: prev, mounts: mounts, only: only}
	workers := make([]*scanWorker, scanWorkers)
	err = s.run(ctx, scanWorkers, func(i int) func(string) error {
		workers[i] = &scanWorker{s: s, dents: make([]byte, 32<<10)}
		return workers[i].dir
	})
	if err != nil {
		return nil, err
	}
	return s.merge(workers), nil
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
	for _, x := range s.prev.excluded {
		if dir, _ := split(x.path); s.only != nil && !s.only[dir] && m.folders[dir] != nil {
			m.excluded = append(m.excluded, x)
		}
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
	slices.SortFunc(res.changes, compareChanges)
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
