package image

import (
	"path"
	"slices"
	"strings"
)

// kind says what a node of a tree is. Nothing else survives flattening.
type kind int

const (
	dir kind = iota
	file
	symlink
)

func (k kind) String() string { return [...]string{"directory", "file", "link"}[k] }

// content is one file's bytes inside a blob. Two nodes with the same pointer are
// hard links of each other.
type content struct {
	blob      *blob
	off, size int64
}

// node is one entry of a tree. Kids is only used for directories, target for
// links, data for files.
type node struct {
	kind   kind
	mode   int64 // permission bits as the base has them
	mtime  int64 // seconds
	target string
	data   *content
	kids   map[string]*node

	// held says which sources have this entry, owner whose bytes it is. Both are
	// only used in the union.
	held  sources
	owner source
}

func newDir(mode int64) *node { return &node{kind: dir, mode: mode, kids: map[string]*node{}} }

// names returns a directory's entries in the order of every walk.
func (n *node) names() []string {
	names := make([]string, 0, len(n.kids))
	for k := range n.kids {
		names = append(names, k)
	}
	slices.Sort(names)
	return names
}

// maxLinks bounds a chain of links, as the kernel does.
const maxLinks = 40

// resolve looks a path up as the kernel would inside the image: links are
// followed, and nothing leads above root. It returns the node and its path
// without links. follow says whether a link in the last place is followed too.
// With grow, missing directories are made. The node is nil when there is none.
func resolve(root *node, p string, follow, grow bool) (*node, string) {
	stack, names := []*node{root}, []string{}
	todo := split(p)
	links := 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if name == ".." {
			if len(names) > 0 {
				stack, names = stack[:len(stack)-1], names[:len(names)-1]
			}
			continue
		}
		at := stack[len(stack)-1]
		if at.kind != dir {
			return nil, ""
		}
		next := at.kids[name]
		if next == nil && grow {
			next = newDir(0o755)
			next.owner, next.held = at.owner, at.held
			at.kids[name] = next
		}
		if next == nil {
			return nil, ""
		}
		if next.kind == symlink && (follow || len(todo) > 0) {
			if links++; links > maxLinks {
				return nil, ""
			}
			if strings.HasPrefix(next.target, "/") {
				stack, names = stack[:1], names[:0]
			}
			todo = append(split(next.target), todo...)
			continue
		}
		stack, names = append(stack, next), append(names, name)
	}
	return stack[len(stack)-1], strings.Join(names, "/")
}

// split returns a path's components without empty ones and dots. It keeps "..".
func split(p string) []string {
	parts := strings.Split(p, "/")
	return slices.DeleteFunc(parts, func(s string) bool { return s == "" || s == "." })
}

// escapes says whether a link at p, read as text, leads above the root. The
// kernel would stop at the root; a base that relies on it is not to be trusted.
func escapes(p, target string) bool {
	depth := len(split(path.Dir("/" + p)))
	if strings.HasPrefix(target, "/") {
		depth = 0
	}
	for _, c := range split(target) {
		if c == ".." {
			depth--
		} else {
			depth++
		}
		if depth < 0 {
			return true
		}
	}
	return false
}
