package main

import (
	"unicode/utf8"
)

// gutterMark begins every row of somebody else's text on a person's terminal.
const gutterMark = "│ "

// gutter marks a command's own rows on a terminal, so that its output cannot pass
// for the product's. It breaks a row before the terminal would, for what a terminal
// carries over to the next row has no mark. Without columns (not a terminal) it
// changes nothing.
type gutter struct {
	columns int
	at      int // columns used on the present row; 0 when none was begun
}

// narrow is what a terminal is taken for that does not say its width, or says one
// that has no room for text.
const narrow = 80

func newGutter(columns int) *gutter {
	if columns < 16 {
		columns = narrow
	}
	return &gutter{columns: columns}
}

// mark appends p to out with the mark before every row. p is clean text: of the
// characters below a space it has newlines and tabs only.
func (g *gutter) mark(out, p []byte) []byte {
	if g.columns == 0 {
		return append(out, p...)
	}
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		if r == '\n' {
			if g.at == 0 {
				out = append(out, gutterMark...)
			}
			out, p, g.at = append(out, '\n'), p[n:], 0
			continue
		}
		if g.at > 0 && g.at+width(r, g.at) > g.columns {
			out, g.at = append(out, '\n'), 0
		}
		if g.at == 0 {
			out, g.at = append(out, gutterMark...), 2
		}
		g.at += width(r, g.at)
		out, p = append(out, p[:n]...), p[n:]
	}
	return out
}

// end appends what ends a row that was begun.
func (g *gutter) end(out []byte) []byte {
	if g.at == 0 {
		return out
	}
	g.at = 0
	return append(out, '\n')
}

// width is the most columns that a character takes: a terminal knows better, and
// a row that ends early harms nobody.
func width(r rune, at int) int {
	switch {
	case r == '\t':
		return 8 - at%8
	case r < utf8.RuneSelf:
		return 1
	}
	return 2
}
