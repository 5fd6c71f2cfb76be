package cleantext_test

import (
	"testing"
	"unicode/utf8"

	"cyberagent/internal/cleantext"
)

func TestVisible_WhatCouldMoveATerminalIsShownInstead(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ in, want string }{
		"plain text":             {"+ok\tdone\n", "+ok\tdone\n"},
		"letters of the world":   {"+状態 é\n", "+状態 é\n"},
		"colours":                {"\x1b[31mred", "␛[31mred"},
		"a carriage return":      {"+good\r-bad\r\n", "+good␍-bad␍\n"},
		"NUL, bell and delete":   {"\x00\a\x7f", "␀␇␡"},
		"a C1 control":           {"a\u009b2J", "a<9b>2J"},
		"a byte that is no text": {"a\x9b\xff", "a<9b><ff>"},
		"a cut character":        {"\xe4\xb8", "<e4><b8>"},
		"a direction override":   {"a\u202eb\u2066c", "a<U+202E>b<U+2066>c"},
		"no width and lines":     {"a\u200bb\u2028c\ufeff", "a<U+200B>b<U+2028>c<U+FEFF>"},
		"the replacement itself": {"\ufffd", "\ufffd"},
	} {
		if got := string(cleantext.Visible([]byte(x.in))); got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add([]byte("a\x1b[31mb\x9b\u202e"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := cleantext.Visible(b)
		if !utf8.Valid(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		if again := cleantext.Visible(got); string(again) != string(got) {
			t.Fatalf("%q still has something in it: %q", got, again)
		}
	})
}
