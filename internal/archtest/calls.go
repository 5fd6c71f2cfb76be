package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// CallRule forbids members of packages in the source of some packages.
type CallRule struct {
	From []string
	// Forbidden are members by import path; "*" means every one.
	Forbidden map[string][]string
	// Except are files, by the end of their path.
	Except []string
	Reason string
}

var randomness = []string{"*"}

// CallRules returns what import rules cannot say: time may be imported for its
// types, and nobody below cmd and adapters may ask it what time it is; and no command
// gets what only an oven has.
func CallRules() []CallRule {
	return []CallRule{
		{
			From: []string{"domain/..."},
			Forbidden: map[string][]string{
				"time":         {"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer", "Sleep", "Local", "LoadLocation"},
				"math/rand":    randomness,
				"math/rand/v2": randomness,
				"crypto/rand":  randomness,
			},
			Reason: "time arrives as an argument, identifiers are made by ports.IDs",
		},
		{
			From: []string{"app/..."},
			Forbidden: map[string][]string{
				"time":         {"Now", "Since", "Until", "Local"},
				"math/rand":    randomness,
				"math/rand/v2": randomness,
				"crypto/rand":  randomness,
			},
			Reason: "ask ports.Clock and ports.IDs (timers may wait, they decide nothing)",
		},
		{
			From:      []string{"..."},
			Forbidden: map[string][]string{"cyberagent/domain/isolation": {"NewOvenSpec", "ExpectedInOven"}},
			Except:    []string{"app/fixture/oven.go", "cmd/standard-code-runner/session.go"},
			Reason:    "an oven's files may be larger than the contract's: only caches for an image are made in one",
		},
	}
}

// Calls returns every use of a forbidden member in the non-test files of the
// packages, called or taken as a value.
func Calls(rules []CallRule, packages []Package) ([]string, error) {
	var out []string
	for _, r := range rules {
		for _, p := range packages {
			if !anyMatch(r.From, local(p.ImportPath)) {
				continue
			}
			for _, name := range p.GoFiles {
				file := filepath.Join(p.Dir, name)
				if slices.ContainsFunc(r.Except, func(end string) bool { return strings.HasSuffix(filepath.ToSlash(file), "/"+end) }) {
					continue
				}
				uses, err := usesIn(r, file)
				if err != nil {
					return nil, err
				}
				out = append(out, uses...)
			}
		}
	}
	return out, nil
}

func usesIn(r CallRule, file string) ([]string, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []string
	complain := func(at token.Pos, what string) {
		out = append(out, fmt.Sprintf("%s: %s: %s", fset.Position(at), what, r.Reason))
	}
	named := map[string]string{} // the file's name of a package, to its path
	for _, spec := range tree.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if _, ok := r.Forbidden[imported]; !ok {
			continue
		}
		name := path.Base(imported)
		if name == "v2" {
			name = path.Base(path.Dir(imported))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." {
			complain(spec.Pos(), "a dot import of "+imported)
			continue
		}
		named[name] = imported
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		imported, ok := named[x.Name]
		if !ok {
			return true
		}
		if members := r.Forbidden[imported]; slices.Contains(members, sel.Sel.Name) || slices.Contains(members, "*") {
			complain(sel.Pos(), imported+"."+sel.Sel.Name)
		}
		return true
	})
	return out, nil
}
