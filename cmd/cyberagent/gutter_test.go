package main

import (
	"bytes"
	"strings"
	"testing"

	"cyberagent/app/standardcode"
	"cyberagent/domain/runnerproto"
)

func TestGutter_EveryRowOfACommandOnATerminalIsMarked(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ in, want string }{
		"a line":                      {"ok\n", "│ ok\n"},
		"an empty line":               {"\n\n", "│ \n│ \n"},
		"an unfinished line":          {"ok", "│ ok"},
		"a line longer than a row":    {strings.Repeat("x", 18) + "succeeded\n", "│ " + strings.Repeat("x", 18) + "\n│ succeeded\n"},
		"spaces up to the next row":   {strings.Repeat(" ", 18) + "approved", "│ " + strings.Repeat(" ", 18) + "\n│ approved"},
		"characters of two columns":   {strings.Repeat("状", 10), "│ " + strings.Repeat("状", 9) + "\n│ 状"},
		"a tab over the row's end":    {strings.Repeat("x", 17) + "\ty", "│ " + strings.Repeat("x", 17) + "\n│ \ty"},
		"a row that is exactly full":  {strings.Repeat("x", 18) + "\ny", "│ " + strings.Repeat("x", 18) + "\n│ y"},
		"more tabs than a row's room": {"\t\t\ty", "│ \t\t\n│ \ty"},
	} {
		whole, pieces := newGutter(20), newGutter(20)
		var cut []byte
		for _, r := range x.in {
			cut = pieces.mark(cut, []byte(string(r)))
		}
		if got := string(whole.mark(nil, []byte(x.in))); got != x.want || string(cut) != x.want {
			t.Errorf("%s: %q, in pieces %q, want %q", name, got, cut, x.want)
		}
	}
}

func TestScreen_TheProductsOwnLinesBeginTheirOwnRow(t *testing.T) {
	t.Parallel()
	var w bytes.Buffer
	s := newScreen(&w, newGutter(40))
	s.show(runnerproto.Stdout, []byte("no end\x1b[2J"))
	s.say("cyberagent:  3.0s removing\n")
	s.show(runnerproto.Stderr, []byte("succeeded (exit code 0)"))
	s.end()
	if got, want := w.String(), "│ no end\ncyberagent:  3.0s removing\n│ succeeded (exit code 0)\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPrintOutput_HeadAndTailAreMarkedOnATerminalAndPlainElsewhere(t *testing.T) {
	t.Parallel()
	out := &standardcode.Output{
		Stdout: standardcode.Kept{Head: []byte("first\x1b]0;x\x07\nhal"), Omitted: 7, Tail: []byte("f\nlast")},
		Stderr: standardcode.Kept{Head: []byte("bad\n")},
	}
	for g, want := range map[*gutter]string{
		newGutter(40): "│ first\n│ hal\n… 7 bytes omitted …\n│ f\n│ last\n│ bad\n",
		{}:            "first\nhal\n… 7 bytes omitted …\nf\nlast\nbad\n",
	} {
		var w bytes.Buffer
		printOutput(&w, g, out)
		if w.String() != want {
			t.Errorf("%q, want %q", w.String(), want)
		}
	}
}
