package image

import (
	"archive/tar"
	"fmt"
	"path"
	"strings"
)

// The names that hide entries of lower layers.
const (
	whiteout = ".wh."
	auxFiles = ".wh..wh." // of an old storage driver; one of them is opaque
	opaque   = ".wh..wh..opq"
)

// apply puts one layer on a tree, as an engine would on a file system. Whiteouts
// only hide what lower layers have, wherever they stand in the layer.
func apply(root *node, layer []entry) error {
	for _, e := range layer {
		base := path.Base(e.name)
		if !strings.HasPrefix(base, whiteout) {
			continue
		}
		parent, _ := resolve(root, path.Dir(e.name), true, false)
		switch {
		case parent == nil || parent.kind != dir:
		case base == opaque:
			clear(parent.kids)
		case !strings.HasPrefix(base, auxFiles):
			delete(parent.kids, strings.TrimPrefix(base, whiteout))
		}
	}
	for _, e := range layer {
		if strings.HasPrefix(e.name, whiteout) || strings.Contains(e.name, "/"+whiteout) {
			continue
		}
		if err := add(root, e); err != nil {
			return err
		}
	}
	return nil
}

// add makes one entry. An entry below a link to a directory lands in that
// directory; an entry in the place of another kind of entry replaces it.
func add(root *node, e entry) error {
	if e.name == "." {
		return nil
	}
	parent, _ := resolve(root, path.Dir(e.name), true, true)
	if parent == nil || parent.kind != dir {
		return fmt.Errorf("%q lies below something that is not a directory", e.name)
	}
	name := path.Base(e.name)
	n := &node{mode: e.mode, mtime: e.mtime}
	switch e.typ {
	case tar.TypeDir:
		if old := parent.kids[name]; old != nil && old.kind == dir {
			old.mode, old.mtime = e.mode, e.mtime
			return nil
		}
		n.kind, n.kids = dir, map[string]*node{}
	case tar.TypeReg:
		n.kind, n.data = file, e.data
	case tar.TypeSymlink:
		n.kind, n.target = symlink, e.link
	case tar.TypeLink:
		to, _ := resolve(root, e.link, false, false)
		if to == nil || to.kind == dir {
			return fmt.Errorf("%q is a hard link to %q, which is no file", e.name, e.link)
		}
		*n = *to
	default:
		// Devices and pipes are not kept, but they hide what was there.
		delete(parent.kids, name)
		return nil
	}
	parent.kids[name] = n
	return nil
}
