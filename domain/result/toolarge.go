package result

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// efbig is what every C library, Go, Python, Node and Rust say of EFBIG, but for the
// first letter, which is small or not.
const efbig = "ile too large"

// longestName bounds a name that was found in output, in bytes.
const longestName = 200

// TooLarge looks in a command's output for the words of a write beyond the ceiling of
// one file (contract section 3), and for the name of that file in the same line. A
// compiler takes such a file away again, so that nothing else is left to tell. It is
// what the command says, and proves nothing: it explains a result and decides none.
// The name is empty where none is said, or where it is no plain text.
func TooLarge(output []byte) (name string, said bool) {
	for line := range bytes.Lines(output) {
		before, after, ok := bytes.Cut(line, []byte(efbig))
		if n := len(before) - 1; !ok || n < 0 || before[n] != 'f' && before[n] != 'F' {
			continue
		}
		said = true
		if name = fileName(string(before[:len(before)-1]), string(after)); name != "" {
			return name, true
		}
	}
	return "", said
}

// fileName takes a quoted name behind or before the words, or what stands before them
// since the last colon if that looks like a path.
func fileName(before, after string) string {
	for _, text := range []string{after, before} {
		for _, q := range []string{"''", "\"\"", "``", "‘’"} {
			open, width := utf8.DecodeRuneInString(q)
			_, rest, ok := strings.Cut(text, string(open))
			if name, _, closed := strings.Cut(rest, q[width:]); ok && closed && plain(name) {
				return name
			}
		}
	}
	name := strings.TrimSuffix(strings.TrimSpace(before), ":")
	if at := strings.LastIndex(name, ": "); at >= 0 {
		name = name[at+2:]
	}
	// What was done to the file stands before it: Go's "write PATH", for one.
	if verb, rest, ok := strings.Cut(name, " "); ok && strings.Trim(verb, "abcdefghijklmnopqrstuvwxyz") == "" {
		name = rest
	}
	if strings.ContainsAny(name, "/.") && plain(name) {
		return name
	}
	return ""
}

func plain(name string) bool {
	return name != "" && len(name) <= longestName && utf8.ValidString(name) &&
		strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
