// Package phrase writes the small things that sentences for people are made of:
// words of a shell, counted things, and texts cut to a length.
package phrase

import (
	"fmt"
	"strings"
	"unicode/utf8"
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

// Head is the beginning of s in at most most characters, "…" included where
// something is left out.
func Head(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// Middle is beginning and end of s in at most most bytes, whole characters, for what
// differs least in its middle, such as paths.
func Middle(s string, most int) string {
	if len(s) <= most {
		return s
	}
	half := (most - len("…")) / 2
	head, tail := half, len(s)-half
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + "…" + s[tail:]
}

// Line is s on one line and in UTF-8, for a text that somebody else wrote.
func Line(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\n", " ")
}
