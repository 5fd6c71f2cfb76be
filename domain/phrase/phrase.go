// Package phrase writes the small things that sentences for people are made of:
// words of a shell, counted things, and texts cut to a length.
package phrase

import (
	"fmt"
	"strings"
)

// plain are the characters that no POSIX shell takes for anything else, wherever
// they stand.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@:,%"

// Word is s as a person types it for one word of a POSIX shell: quoted only where
// it has to be.
func Word(s string) string {
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Count is a number with its noun, which is given in the singular and ends the
// phrase: "1 entry", "2 entries". A plural that is not regular is given, too.
func Count[N int | int64 | uint64](n N, noun string, many ...string) string {
	switch {
	case n == 1:
		return fmt.Sprintf("%d %s", n, noun)
	case len(many) > 0:
		return fmt.Sprintf("%d %s", n, many[0])
	}
	return fmt.Sprintf("%d %s", n, plural(noun))
}

func plural(noun string) string {
	if stem, ok := strings.CutSuffix(noun, "y"); ok && !strings.ContainsAny(stem[len(stem)-1:], "aeiou") {
		return stem + "ies"
	}
	for _, end := range []string{"s", "x", "ch", "sh"} {
		if strings.HasSuffix(noun, end) {
			return noun + "es"
		}
	}
	return noun + "s"
}
