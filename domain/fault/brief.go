package fault

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cyberagent/domain/phrase"
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
		b.WriteString(phrase.Middle(s[:n], wordMost))
		s = s[n:]
		_, size := utf8.DecodeRuneInString(s)
		b.WriteString(s[:size])
		s = s[size:]
	}
	return phrase.Middle(b.String(), sentenceMost)
}
