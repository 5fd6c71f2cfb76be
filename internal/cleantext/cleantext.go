// Package cleantext makes output of a command fit for a terminal: it repairs
// UTF-8 across writes and removes escape sequences and control characters that
// could move the cursor, change a title, or reorder text. It keeps state between
// writes, so that a sequence cut in two is removed too.
package cleantext

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

type state int

const (
	text   state = iota
	escape       // after ESC
	csi          // after ESC [ or its C1 form, until a final byte
	str          // OSC, DCS, SOS, PM, APC: until BEL or ST
	strEsc       // an ESC inside a string
)

// Cleaner cleans one stream.
type Cleaner struct {
	st   state
	part []byte // an unfinished UTF-8 sequence
}

// Clean returns what may be shown of the next bytes.
func (c *Cleaner) Clean(p []byte) []byte {
	in := slices.Concat(c.part, p)
	c.part = nil
	out := make([]byte, 0, len(in))
	for len(in) > 0 {
		if !utf8.FullRune(in) {
			c.part = append([]byte{}, in...)
			break
		}
		r, n := utf8.DecodeRune(in)
		in = in[n:]
		out = c.step(out, r)
	}
	return out
}

// Flush returns the rest at the end of the stream.
func (c *Cleaner) Flush() []byte {
	if len(c.part) == 0 || c.st != text {
		return nil
	}
	c.part = nil
	return []byte(string(utf8.RuneError))
}

func (c *Cleaner) step(out []byte, r rune) []byte {
	switch c.st {
	case escape:
		return c.afterEscape(out, r)
	case csi:
		switch {
		case r == 0x1b:
			c.st = escape
		case r < 0x20 || r > 0x3f:
			c.st = text
		}
		return out
	case str, strEsc:
		switch {
		case r == 0x07, r == 0x9c, c.st == strEsc && r == '\\', r == '\n':
			c.st = text
		case r == 0x1b:
			c.st = strEsc
		default:
			c.st = str
		}
		return out
	case text:
	}
	switch {
	case r >= ' ' && r <= '~': // most of it; the tables below are slow
		return append(out, byte(r))
	case r == 0x1b:
		c.st = escape
	case r == 0x9b:
		c.st = csi
	case r == 0x90, r == 0x98, r == 0x9d, r == 0x9e, r == 0x9f:
		c.st = str
	case r == '\n', r == '\t':
		return append(out, byte(r))
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
	default:
		return utf8.AppendRune(out, r)
	}
	return out
}

func (c *Cleaner) afterEscape(out []byte, r rune) []byte {
	switch {
	case r == '[':
		c.st = csi
	case r == 'P', r == 'X', r == ']', r == '^', r == '_':
		c.st = str
	case r >= 0x20 && r <= 0x2f, r == 0x1b: // intermediate bytes
	default:
		c.st = text
	}
	return out
}
