package gitdrydock

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
)

// baseTree is everything in a commit's tree, checked: it can be written safely.
// Order is git's: a directory comes before what is in it.
type baseTree struct {
	tree    oid
	dirs    []leaf
	files   []leaf // and links
	modules []leaf
	bytes   int64 // of blobs
}

// survey lists a commit in a repository of ours and refuses, naming the path,
// what cannot be written safely or is not there (source_unsupported).
func (l layout) survey(ctx context.Context, gitDir string, f format, commit string) (*baseTree, error) {
	bad := func(format string, a ...any) *fault.Error {
		return fault.New(fault.SourceUnsupported, format, a...).At("source").
			Hint("a Drydock cannot have it: commit a tree without it, or name another repository; `git fsck` finds damage")
	}
	out, err := l.run(ctx, gitCall{gitDir: gitDir, args: []string{"rev-parse", "--verify", "--quiet", commit + "^{tree}"}})
	if err != nil {
		return nil, because(err, bad("the source's commit %s cannot be read", commit).
			Hint("check the repository with git fsck; a partial clone must be made whole first"))
	}
	b := &baseTree{}
	if b.tree, err = f.parse(strings.TrimSpace(string(out))); err != nil {
		return nil, err
	}
	seen := map[string]bool{} // true for a directory
	err = l.lsTree(ctx, gitDir, f, b.tree.String(), true, func(x leaf) error {
		if err := checkTreePath(x.path); err != nil {
			return bad("the source has %s with %v", show(x.path), err)
		}
		dir, _ := split(x.path)
		if _, twice := seen[x.path]; twice || dir != "" && !seen[dir] {
			return bad("the source's tree is damaged at %s", show(x.path))
		}
		seen[x.path] = x.mode == modeTree
		return b.add(x, bad)
	})
	if err != nil {
		return nil, because(err, bad("the source's commit %s cannot be read whole", commit).
			Hint("check the repository with git fsck; a partial clone must be made whole first"))
	}
	return b, nil
}

// add sorts a leaf into its list and holds the product's limits.
func (b *baseTree) add(x leaf, bad func(string, ...any) *fault.Error) error {
	switch x.mode {
	case modeTree:
		b.dirs = append(b.dirs, x)
		return nil
	case modeSubmodule:
		b.modules = append(b.modules, x)
		return nil
	}
	switch {
	case x.missing:
		return bad("the source lacks the content of %s: it is a partial clone or damaged", show(x.path))
	case x.size > limits.CheckpointOneMax:
		return bad("the source has %s of %d bytes (the limit is %d)", show(x.path), x.size, limits.CheckpointOneMax)
	case x.mode == modeSymlink && isGitmodules(x.path[strings.LastIndexByte(x.path, '/')+1:]):
		return bad("the source has %s as a link, which git itself refuses to check out", show(x.path))
	case x.mode == modeSymlink && (x.size > 4095 || x.size == 0):
		return bad("the source has a link %s of %d bytes", show(x.path), x.size)
	}
	b.files = append(b.files, x)
	b.bytes += x.size
	switch {
	case b.bytes > limits.CheckpointBytes:
		return bad("the source's files have more than %d bytes", limits.CheckpointBytes)
	case int64(len(b.files)+len(b.dirs)) > limits.TreeEntries:
		return bad("the source has more than %d entries", limits.TreeEntries)
	}
	return nil
}

// manifest is the tree as a walk should find it after it was written.
func (b *baseTree) manifest(f format) *manifest {
	m := newManifest(f)
	for _, x := range b.dirs {
		if x.oid == f.emptyTree() {
			m.dirs = append(m.dirs, x.path)
		}
	}
	slices.Sort(m.dirs)
	for _, x := range b.modules {
		m.modules[x.path], m.kept[x.path] = x.oid, true
	}
	for _, x := range b.files {
		dir, name := split(x.path)
		d := m.folders[dir]
		if d == nil {
			d = &folder{path: dir}
			m.folders[dir] = d
		}
		d.entries = append(d.entries, entry{name: name, mode: plainMode(x.mode), oid: x.oid})
	}
	return m
}

// storeTrees copies the base commit's trees into the shadow's store, where
// fast-import reads them. The blobs stay in the source.
func (l layout) storeTrees(ctx context.Context, k dock, b *baseTree) error {
	if packs, _ := filepath.Glob(filepath.Join(k.store(), "pack", "*.idx")); len(packs) > 0 {
		return nil
	}
	var list bytes.Buffer
	known := map[oid]bool{}
	for _, o := range append([]leaf{{oid: b.tree}}, b.dirs...) {
		if !known[o.oid] {
			known[o.oid] = true
			list.WriteString(o.oid.String() + "\n")
		}
	}
	_, err := l.run(ctx, gitCall{
		gitDir: k.shadow, stdin: &list,
		args: []string{"pack-objects", "-q", "--threads=1", "--end-of-options", filepath.Join(k.store(), "pack", "pack")},
	})
	if err != nil {
		return because(err, fault.New(fault.Internal, "the base commit's trees cannot be copied"))
	}
	return nil
}
