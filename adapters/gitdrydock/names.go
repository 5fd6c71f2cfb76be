package gitdrydock

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"cyberagent/domain/limits"
)

// isDotGit says whether a name is .git in any case. Such a name is never
// entered, recorded or written: on a file system that folds case it is a
// repository.
func isDotGit(name string) bool {
	return len(name) == 4 && strings.EqualFold(name, ".git")
}

// isGitmodules says whether a name is .gitmodules in any case. As a link git
// refuses it in an index, in a patch, and since 2.48 in fast-import.
func isGitmodules(name string) bool { return strings.EqualFold(name, ".gitmodules") }

// checkTreePath accepts a path of a git tree that can be written safely: clean
// components below the root, none of them .git, within the product's limits.
func checkTreePath(path string) error {
	if len(path) > limits.TreeNameBytes {
		return fmt.Errorf("a path of %d bytes (the limit is %d)", len(path), limits.TreeNameBytes)
	}
	if n := strings.Count(path, "/") + 1; n > limits.TreeDepth {
		return fmt.Errorf("a path of %d levels (the limit is %d)", n, limits.TreeDepth)
	}
	for name := range strings.SplitSeq(path, "/") {
		switch {
		case name == "" || name == "." || name == "..":
			return fmt.Errorf("a component %q", name)
		case isDotGit(name):
			return fmt.Errorf("a component %q", name)
		case len(name) > 255:
			return fmt.Errorf("a component of %d bytes (the limit is 255)", len(name))
		case strings.IndexByte(name, 0) >= 0:
			return fmt.Errorf("a NUL byte")
		}
	}
	return nil
}

// checkPlainPath accepts a host path that can be stored as text and written
// into git's own one-line files.
func checkPlainPath(path string) error {
	if !utf8.ValidString(path) {
		return fmt.Errorf("the path %q is not valid UTF-8", path)
	}
	if strings.ContainsFunc(path, unicode.IsControl) {
		return fmt.Errorf("the path %q has a control character", path)
	}
	return nil
}

// show returns a path as a person sees it: itself when it is plain text, quoted
// as Go does otherwise. Names are bytes.
func show(path string) string {
	if q := strconv.Quote(path); q != `"`+path+`"` {
		return q
	}
	return path
}

// importQuote quotes a path for fast-import: always in quotes, everything but
// plain ASCII as an octal escape.
func importQuote(b []byte, path string) []byte {
	b = append(b, '"')
	for i := range len(path) {
		switch c := path[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c >= 0x7f:
			b = append(b, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// join adds a name to a path relative to the root, which is empty.
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// split is the inverse of join.
func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}
