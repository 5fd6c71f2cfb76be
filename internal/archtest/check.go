package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// Package is what the rules look at, as `go list -json` prints it.
type Package struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// Violation is one import that a rule refuses, or a rule that is stale.
type Violation struct {
	Rule   string
	From   string // empty for a stale rule
	Import string // the pattern that matches nothing, for a stale rule
	Reason string
}

func (v Violation) String() string {
	if v.From == "" {
		return fmt.Sprintf("the rule %q is stale: %s", v.Rule, v.Reason)
	}
	return fmt.Sprintf("%s imports %s, against the rule %q: %s", v.From, v.Import, v.Rule, v.Reason)
}

// Check returns every import of the packages that a rule refuses.
func Check(rules []Rule, packages []Package) []Violation {
	var out []Violation
	for _, r := range rules {
		for _, p := range packages {
			if !r.covers(p.ImportPath) {
				continue
			}
			imports := p.Imports
			if r.Tests {
				imports = append(slices.Clone(p.TestImports), p.XTestImports...)
			}
			for _, i := range slices.Compact(slices.Sorted(slices.Values(imports))) {
				if r.refuses(p.ImportPath, i) {
					out = append(out, Violation{Rule: r.Name, From: p.ImportPath, Import: i, Reason: r.Reason})
				}
			}
		}
	}
	return out
}

// Stale returns every pattern of a rule that matches no package of the module:
// what it named has moved, and the rule holds nothing any more.
func Stale(rules []Rule, packages []Package) []Violation {
	var out []Violation
	for _, r := range rules {
		for _, pattern := range slices.Concat(r.From, r.Except) {
			used := slices.ContainsFunc(packages, func(p Package) bool { return match(pattern, local(p.ImportPath)) })
			if !used {
				out = append(out, Violation{Rule: r.Name, Import: pattern, Reason: "no package matches " + pattern})
			}
		}
	}
	return out
}

func (r Rule) covers(path string) bool {
	if path != module && !strings.HasPrefix(path, module+"/") {
		return false
	}
	return anyMatch(r.From, local(path)) && !anyMatch(r.Except, local(path))
}

func (r Rule) refuses(from, imported string) bool {
	switch {
	case r.Siblings:
		theirs := adapterOf(imported)
		return theirs != "" && theirs != adapterOf(from) && !anyMatch(r.Allow, local(imported)) && !strings.HasSuffix(imported, "test")
	case r.Allow != nil:
		return !anyMatch(r.Allow, imported)
	}
	return anyMatch(r.Forbid, imported)
}

// adapterOf returns the technology of an adapter's package, empty for others.
func adapterOf(path string) string {
	rest, ok := strings.CutPrefix(path, module+"/adapters/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// local strips the module's name.
func local(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, module), "/") }

func anyMatch(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, path) })
}

func match(pattern, path string) bool {
	if pattern == "..." {
		return true
	}
	if pattern == "std" {
		first, _, _ := strings.Cut(path, "/")
		return first != module && !strings.Contains(first, ".")
	}
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == tree || strings.HasPrefix(path, tree+"/")
	}
	return path == pattern
}
