package image

import (
	"path"
	"slices"
	"strings"

	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/toolchain"
)

// program says where a tool may lie, the preferred place first. A "*" stands for
// one whole name and must match once.
type program struct {
	from   command.Toolchain
	places []string
}

// programs knows the layouts of the official images, of Debian's packages and of
// this project's own bases. The rustup proxies in /usr/local/cargo/bin are left
// out on purpose: they want a home and the network.
var programs = map[string]program{
	"go":      {command.Go, []string{toolchain.GoRoot + "/bin/go"}},
	"gofmt":   {command.Go, []string{toolchain.GoRoot + "/bin/gofmt"}},
	"node":    {command.Node, []string{"/usr/local/bin/node", "/usr/bin/node"}},
	"npm":     {command.Node, npmPlaces("npm")},
	"npx":     {command.Node, npmPlaces("npx")},
	"python3": {command.Python, []string{"/usr/local/bin/python3", "/usr/bin/python3"}},
	"cargo":   {command.Rust, rustPlaces("cargo")},
	"rustc":   {command.Rust, rustPlaces("rustc")},
}

// needed are files that the tools look for by themselves.
var needed = []struct {
	name string
	program
	executable bool
}{
	{"cc, the linker of rustc", program{command.Rust, []string{"/usr/bin/cc", "/usr/local/bin/cc"}}, true},
	{"env, with which npm finds node", program{command.Node, []string{"/usr/bin/env"}}, true},
	{"pytest, an importable package", program{command.Python, pytestPlaces()}, false},
}

func npmPlaces(name string) []string {
	return []string{
		"/usr/local/lib/node_modules/npm/bin/" + name + "-cli.js",
		"/usr/lib/node_modules/npm/bin/" + name + "-cli.js",
		"/usr/share/nodejs/npm/bin/" + name + "-cli.js",
	}
}

func rustPlaces(name string) []string {
	return []string{"/usr/local/rustup/toolchains/*/bin/" + name, "/usr/local/bin/" + name, "/usr/bin/" + name}
}

func pytestPlaces() []string {
	var places []string
	for _, lib := range []string{"/usr/local/lib", "/usr/lib"} {
		for _, sub := range []string{"/python3/dist-packages", "/*/site-packages", "/*/dist-packages"} {
			places = append(places, lib+sub+"/pytest/__init__.py")
		}
	}
	return places
}

// tools finds every tool of the contract in the union, as its own base has it,
// and returns the paths without links.
func tools(root *node) (map[string]string, error) {
	found := map[string]string{}
	for _, name := range toolchain.Tools() {
		p, ok := programs[name]
		if !ok {
			return nil, fault.New(fault.Internal, "no place is known for the tool %q", name)
		}
		at, err := find(root, name, p, true)
		if err != nil {
			return nil, err
		}
		found[name] = at
	}
	for _, n := range needed {
		if _, err := find(root, n.name, n.program, n.executable); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// find returns the one place of a program that every user may reach, read and,
// if executable, run.
func find(root *node, name string, p program, executable bool) (string, error) {
	bits := int64(0o004)
	if executable {
		bits = 0o005
	}
	for _, place := range p.places {
		var hits []string
		for _, candidate := range expand(root, place) {
			n, at := resolve(root, candidate, true, false)
			// Only what the tool's own base has: another base's copy may lack its parts.
			if n != nil && n.kind == file && n.mode&bits == bits && n.held.has(sourceOf(p.from)) && reachable(root, at) {
				hits = append(hits, "/"+at)
			}
		}
		slices.Sort(hits)
		switch hits = slices.Compact(hits); len(hits) {
		case 0:
		case 1:
			return hits[0], nil
		default:
			return "", fault.New(fault.BaseIncompatible, "the %s base has %s more than once: %s", p.from, name, strings.Join(hits, ", ")).
				Hint("use a base image with one toolchain")
		}
	}
	return "", fault.New(fault.BaseIncompatible, "the %s base has no usable %s (looked for %s)", p.from, name, strings.Join(p.places, ", ")).
		Hint("use a base image that carries it, readable and executable for every user")
}

// expand replaces the one "*" of a pattern by every name that is there.
func expand(root *node, pattern string) []string {
	before, after, ok := strings.Cut(pattern, "/*/")
	if !ok {
		return []string{pattern}
	}
	n, at := resolve(root, before, true, false)
	if n == nil || n.kind != dir {
		return nil
	}
	var all []string
	for _, name := range n.names() {
		all = append(all, path.Join("/", at, name, after))
	}
	return all
}

// reachable says whether another user than root may pass every directory.
func reachable(root *node, p string) bool {
	n := root
	for _, name := range split(path.Dir(p)) {
		if n = n.kids[name]; n == nil || n.kind != dir || n.mode&0o001 == 0 {
			return false
		}
	}
	return true
}
