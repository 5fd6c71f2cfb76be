package deps

import (
	"strings"
)

// goPackages are the modules that go.mod requires, after its replacements, and
// whose content go.sum pins: a module that is only needed for its own go.mod has no
// such line. A replacement by a directory is in the repository.
func goPackages(_ string, files map[string][]byte) []Package {
	pinned := map[Package]bool{}
	for _, p := range GoSums(files["go.sum"]) {
		pinned[p.Package] = p.Hash != ""
	}
	requires, replaces := goMod(string(files["go.mod"]))
	var all []Package
	for _, p := range requires {
		r, ok := replaces[p]
		if !ok {
			r, ok = replaces[Package{Name: p.Name}]
		}
		if ok {
			p = r
		}
		if pinned[p] {
			all = append(all, p)
		}
	}
	return all
}

// GoSum is a line of go.sum that pins a module's content.
type GoSum struct {
	Package

	Hash    string // h1:…
	ModHash string // of its go.mod; empty when go.sum has none
}

// GoSums reads go.sum: modules whose content is pinned, in the file's order, and
// after them those of which only go.mod is, with an empty Hash.
func GoSums(data []byte) []GoSum {
	var order []Package
	sums := map[Package]*GoSum{}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) != 3 || !strings.HasPrefix(f[2], "h1:") {
			continue
		}
		version, mod := strings.CutSuffix(f[1], "/go.mod")
		p := Package{f[0], version}
		s := sums[p]
		if s == nil {
			s = &GoSum{Package: p}
			sums[p], order = s, append(order, p)
		}
		if mod {
			s.ModHash = f[2]
		} else {
			s.Hash = f[2]
		}
	}
	var content, only []GoSum
	for _, p := range order {
		if s := *sums[p]; s.Hash != "" {
			content = append(content, s)
		} else {
			only = append(only, s)
		}
	}
	return append(content, only...)
}

// goMod reads the require and replace directives. The replacement of every version
// has the key without one; one by a directory is the zero Package.
func goMod(text string) (requires []Package, replaces map[Package]Package) {
	replaces = map[Package]Package{}
	block := ""
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
			continue
		case block != "" && f[0] == ")":
			block = ""
			continue
		case block == "" && len(f) == 2 && f[1] == "(":
			block = f[0]
			continue
		case block == "":
			block, f = f[0], f[1:]
			goDirective(block, f, &requires, replaces)
			block = ""
			continue
		}
		goDirective(block, f, &requires, replaces)
	}
	return requires, replaces
}

func goDirective(verb string, f []string, requires *[]Package, replaces map[Package]Package) {
	for i := range f {
		f[i] = strings.Trim(f[i], "\"`")
	}
	switch verb {
	case "require":
		if len(f) == 2 {
			*requires = append(*requires, Package{f[0], f[1]})
		}
	case "replace":
		old, to, ok := cutArrow(f)
		if !ok || len(old) == 0 || len(to) == 0 {
			return
		}
		key := Package{Name: old[0]}
		if len(old) == 2 {
			key.Version = old[1]
		}
		replaces[key] = Package{}
		if len(to) == 2 {
			replaces[key] = Package{to[0], to[1]}
		}
	}
}

func cutArrow(f []string) (before, after []string, found bool) {
	for i, s := range f {
		if s == "=>" {
			return f[:i], f[i+1:], true
		}
	}
	return nil, nil, false
}
