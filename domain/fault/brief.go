package fault

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A path is as long as whoever made it likes, and a sentence with one must still be
// readable: words and sentences are cut in their middle, where paths differ least.
const (
	wordMost     = 200  // bytes of one word, "…" included
	sentenceMost = 1200 // bytes of one message or fact
)

// brief cuts words that are too long, and then the whole.
func brief(s string) string {
	if len(s) <= wordMost {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		n := strings.IndexFunc(s, unicode.IsSpace)
		if n < 0 {
			n = len(s)
		}
		b.WriteString(middle(s[:n], wordMost))
		s = s[n:]
		_, size := utf8.DecodeRuneInString(s)
		b.WriteString(s[:size])
		s = s[size:]
	}
	return middle(b.String(), sentenceMost)
}

// middle keeps beginning and end of s in at most most bytes, whole characters.
func middle(s string, most int) string {
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
