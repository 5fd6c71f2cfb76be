package cleantext

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Visible makes every character that could move the cursor, hide or reorder text
// harmless and keeps it visible, for text that somebody reviews: control characters
// as their pictures (␛, ␍, ␡), bytes that are not UTF-8 and C1 controls as <9b>,
// format and separator characters as <U+202E>. Newlines and tabs stay.
func Visible(p []byte) []byte {
	out := make([]byte, 0, len(p))
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		switch {
		case r == '\n', r == '\t':
			out = append(out, byte(r))
		case r < 0x20:
			out = utf8.AppendRune(out, 0x2400+r)
		case r == 0x7f:
			out = utf8.AppendRune(out, 0x2421)
		case r < 0xa0 && r > 0x7f:
			out = fmt.Appendf(out, "<%02x>", r)
		case r == utf8.RuneError && n == 1:
			out = fmt.Appendf(out, "<%02x>", p[0])
		case unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
			out = fmt.Appendf(out, "<U+%04X>", r)
		default:
			out = append(out, p[:n]...)
		}
		p = p[n:]
	}
	return out
}
