package image

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cyberagent/domain/fault"
)

// merger merges trees of bases into one.
type merger struct {
	root      *node
	conflicts []conflict
}

// conflict is a path that matters and differs.
type conflict struct {
	path string
	a, b sources
	what string
}

// union merges the trees of the bases, which are in the order of their sources.
func union(bases []*base) (*node, error) {
	m := &merger{root: newDir(0o755)}
	m.root.owner = bases[0].owner
	m.topLinks(bases)
	for _, b := range bases {
		if err := m.merge(m.root, b.root, "", "", b); err != nil {
			return nil, err
		}
	}
	if len(m.conflicts) > 0 {
		return nil, m.refusal()
	}
	return m.root, nil
}

// topLinks lays in the links of the root directory first (bin -> usr/bin), so
// that a base which still has the directory is merged through the link.
func (m *merger) topLinks(bases []*base) {
	for _, b := range bases {
		for _, name := range b.root.names() {
			k := b.root.kids[name]
			if k.kind != symlink || m.root.kids[name] != nil || fateOf(name, symlink) != keep || escapes(name, k.target) {
				continue
			}
			if to, _ := resolve(b.root, name, true, false); to == nil || to.kind != dir {
				continue
			}
			n := *k
			n.owner, n.held = b.owner, b.held
			m.root.kids[name] = &n
		}
	}
}

// merge puts the directory tree of a base, whose path there is from, on the
// directory u of the union, whose path without links is to.
func (m *merger) merge(u, tree *node, to, from string, b *base) error {
	for _, name := range tree.names() {
		k, p := tree.kids[name], path.Join(to, name)
		f := fateOf(p, k.kind)
		if f == drop {
			continue
		}
		if err := m.place(u, k, p, path.Join(from, name), f, b); err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) place(u, k *node, p, from string, f fate, b *base) error {
	name := path.Base(p)
	old := u.kids[name]
	switch k.kind {
	case dir:
		to, at := old, p
		if old == nil {
			to = &node{kind: dir, mode: k.mode, kids: map[string]*node{}, owner: b.owner}
			u.kids[name] = to
		} else if old.kind == symlink {
			if to, at = resolve(m.root, p, true, true); buried(at) {
				return nil
			}
		}
		if to == nil || to.kind != dir {
			m.differ(p, old, b, "is a directory in one of them only")
			return nil
		}
		to.held |= b.held
		if f == hollow {
			return nil
		}
		return m.merge(to, k, at, from, b)
	case symlink:
		return m.placeLink(u, k, p, from, b)
	case file:
	}
	if f == hollow {
		return nil
	}
	if old == nil {
		n := *k
		n.owner, n.held = b.owner, b.held
		u.kids[name] = &n
		return nil
	}
	if old.kind != file {
		m.differ(p, old, b, "is a file in one of them only")
		return nil
	}
	equal, err := same(old.data, k.data)
	if err != nil {
		return err
	}
	if !equal {
		m.differ(p, old, b, "has different contents")
		return nil
	}
	old.held |= b.held
	return nil
}

func (m *merger) placeLink(u, k *node, p, from string, b *base) error {
	if escapes(from, k.target) {
		return fault.New(fault.BaseIncompatible, "in the %s base the link /%s leads out of the image (%q)", b.held, from, k.target)
	}
	target := k.target
	if path.Dir(from) != path.Dir(p) && !strings.HasPrefix(target, "/") && slices.Contains(split(target), "..") {
		// It climbs, and was written for another directory.
		target = path.Join("/", path.Dir(from), target)
	}
	name := path.Base(p)
	old := u.kids[name]
	to := m.real(p, target)
	switch {
	case to == p:
		// The same file once below a link, once without it.
		if old != nil {
			old.held |= b.held
		}
	case old == nil:
		n := *k
		n.target, n.owner, n.held = target, b.owner, b.held
		u.kids[name] = &n
	case old.kind == symlink && m.real(p, old.target) == to:
		old.held |= b.held
	default:
		m.differ(p, old, b, "is a link to other places")
	}
	return nil
}

// real returns the path in the union that a link at p names, with the links on
// the way resolved and the last name as it is.
func (m *merger) real(p, target string) string {
	if !strings.HasPrefix(target, "/") {
		target = path.Join("/", path.Dir(p), target)
	}
	target = path.Clean(target)
	if n, at := resolve(m.root, path.Dir(target), true, false); n != nil {
		return path.Join(at, path.Base(target))
	}
	return strings.TrimPrefix(target, "/")
}

func (m *merger) differ(p string, old *node, b *base, what string) {
	if matters(p) {
		m.conflicts = append(m.conflicts, conflict{p, old.held, b.held, what})
	}
}

// refusal names the first difference in the sentence and up to ten in details.
func (m *merger) refusal() error {
	c := m.conflicts[0]
	more := ""
	if n := len(m.conflicts) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more paths)", n)
	}
	e := fault.New(fault.BaseIncompatible, "/%s differs between the bases %s and %s: it %s%s", c.path, c.a, c.b, c.what, more).
		Hint("use base images of the same distribution release, made on the same day from the same package versions")
	for _, c := range m.conflicts[:min(len(m.conflicts), 10)] {
		e = e.With("/"+c.path, fmt.Sprintf("%s and %s: it %s", c.a, c.b, c.what))
	}
	return e
}
