package gitdrydock

import (
	"bytes"
	"maps"
	"slices"
	"strings"
)

// encodeModules and decodeModules keep "<oid> <path>" records, sorted by path.
func encodeModules(modules map[string]oid) []byte {
	var lines []string
	for _, p := range slices.Sorted(maps.Keys(modules)) {
		lines = append(lines, modules[p].String()+" "+p)
	}
	return joinNUL(lines)
}

func decodeModules(f format, b []byte) (map[string]oid, error) {
	out := map[string]oid{}
	for _, s := range splitNUL(b) {
		name, path, _ := strings.Cut(s, " ")
		o, err := f.parse(name)
		if err != nil {
			return nil, err
		}
		out[path] = o
	}
	return out, nil
}

// encodeExcluded and decodeExcluded keep raw paths: "<reason> <path>" records.
func encodeExcluded(list []excluded) []byte {
	lines := make([]string, len(list))
	for i, x := range list {
		lines[i] = x.reason + " " + x.path
	}
	return joinNUL(lines)
}

func decodeExcluded(b []byte) []excluded {
	var out []excluded
	for _, s := range splitNUL(b) {
		reason, path, _ := strings.Cut(s, " ")
		out = append(out, excluded{path: path, reason: reason})
	}
	return out
}

// splitNUL returns the non-empty records of a list in which each is followed by
// NUL.
func splitNUL(b []byte) []string {
	var out []string
	for len(b) > 0 {
		rec, rest, _ := bytes.Cut(b, []byte{0})
		if len(rec) > 0 {
			out = append(out, string(rec))
		}
		b = rest
	}
	return out
}

func joinNUL(list []string) []byte {
	var b []byte
	for _, s := range list {
		b = append(append(b, s...), 0)
	}
	return b
}
