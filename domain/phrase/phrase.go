// Package phrase writes the small things that sentences for people are made of:
// words of a shell, counted things, and texts cut to a length.
package phrase

import (
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
