package image

import (
	"strings"

	"cyberagent/domain/command"
)

// source is where a node's bytes come from and which layer it is written to: the
// bases in the order of the union, then what the product lays in, then layers
// that are grafted later.
type source int

// The sources. The rust base comes first, for it has the linker and so most of
// what the others share.
const (
	fromRust source = iota
	fromPython
	fromNode
	fromGo
	fromProduct
	firstGraft
)

// sources is a set of the bases that hold an entry.
type sources uint8

func (s sources) has(o source) bool { return s&(1<<o) != 0 }

func only(o source) sources {
	if o > fromProduct {
		return 0
	}
	return 1 << o
}

// order is the union's order of bases.
var order = []command.Toolchain{command.Rust, command.Python, command.Node, command.Go}

func sourceOf(t command.Toolchain) source {
	for i, o := range order {
		if o == t {
			return source(i)
		}
	}
	return fromProduct
}

// String names the bases for a person.
func (s sources) String() string {
	var names []string
	for i, t := range order {
		if s.has(source(i)) {
			names = append(names, string(t))
		}
	}
	return strings.Join(names, ", ")
}
