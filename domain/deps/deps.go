// Package deps says what a repository's lockfiles ask for and what a project's
// image carries, and compares the two. It is pure: files come as bytes.
//
// A lockfile is never trusted to be well-formed: what cannot be understood asks
// for nothing, and the tool itself will say what is wrong with it.
package deps

import (
	"cmp"
	"slices"
	"strings"

	"cyberagent/domain/canon"
	"cyberagent/domain/command"
)

// Package is one dependency at one version. Names are as the toolchain compares
// them: Python's are normalised.
type Package struct {
	Name    string
	Version string
}

// String is name@version.
func (p Package) String() string { return p.Name + "@" + p.Version }

// parsePackage reads what String made. The version has no "@".
func parsePackage(s string) (Package, bool) {
	i := strings.LastIndexByte(s, '@')
	if i <= 0 || i == len(s)-1 {
		return Package{}, false
	}
	return Package{s[:i], s[i+1:]}, true
}

// sorted removes repetitions.
func sorted(all []Package) []Package {
	slices.SortFunc(all, func(a, b Package) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	return slices.Compact(all)
}

// Need is what the lockfiles of one directory ask for.
type Need struct {
	Toolchain command.Toolchain
	// Dir is the directory, relative to the repository's root.
	Dir string
	// File is the deciding file's name; empty when there is none, and then nothing
	// is asked for.
	File string
	// SHA256 identifies every file that was read, by name and bytes.
	SHA256   string
	Packages []Package
	// InTree says that the repository carries its dependencies itself.
	InTree bool
	// Loose says that the file names packages of every platform, so that one which
	// is absent may be right.
	Loose bool
}

// reader knows the lockfiles of one toolchain: anchors in the order of
// precedence, companions that are read beside them, and marks of a repository that
// carries its dependencies itself.
type reader struct {
	anchors    []string
	companions []string
	marks      []string
	loose      []string // anchors that are
	packages   func(anchor string, files map[string][]byte) []Package
}

var readers = map[command.Toolchain]reader{
	command.Go: {
		anchors: []string{"go.mod"}, companions: []string{"go.sum"}, marks: []string{"vendor/modules.txt"},
		packages: goPackages,
	},
	command.Node: {
		anchors: []string{"npm-shrinkwrap.json", "package-lock.json"}, marks: []string{"node_modules/.package-lock.json"},
		packages: nodePackages,
	},
	command.Python: {
		anchors: []string{"uv.lock", "poetry.lock", "requirements.txt"}, loose: []string{"uv.lock", "poetry.lock"},
		packages: pythonPackages,
	},
	command.Rust: {
		anchors: []string{"Cargo.lock"}, marks: []string{".cargo/config.toml", ".cargo/config"},
		packages: rustPackages,
	},
}

// Files are the names that Read wants of a directory, relative to it.
func Files(t command.Toolchain) []string {
	r := readers[t]
	return slices.Concat(r.anchors, r.companions, r.marks)
}

// Anchored says whether one of the files makes the directory a project's.
func Anchored(t command.Toolchain, files map[string][]byte) bool {
	return anchor(readers[t], files) != ""
}

func anchor(r reader, files map[string][]byte) string {
	for _, name := range r.anchors {
		if _, ok := files[name]; ok {
			return name
		}
	}
	return ""
}

// Read says what the files of one directory ask for.
func Read(t command.Toolchain, files map[string][]byte) Need {
	r := readers[t]
	n := Need{Toolchain: t, File: anchor(r, files)}
	if n.File == "" {
		return n
	}
	sums := map[string]string{}
	for _, name := range append([]string{n.File}, r.companions...) {
		if data, ok := files[name]; ok {
			sums[name] = canon.SHA256(data)
		}
	}
	n.SHA256 = canon.Digest(sums)
	n.Loose = slices.Contains(r.loose, n.File)
	n.Packages = sorted(r.packages(n.File, files))
	n.InTree = slices.ContainsFunc(r.marks, func(m string) bool { _, ok := files[m]; return ok })
	return n
}
