package phrase_test

import (
	"testing"

	"cyberagent/domain/phrase"
)

func TestWord_IsQuotedOnlyWhereAShellWouldSplitOrReadIt(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":             "''",
		"/src/parser":  "/src/parser",
		"a-b_c.d+e@f:": "a-b_c.d+e@f:",
		"/my src":      "'/my src'",
		"~/src":        "'~/src'",
		"it's":         `'it'\''s'`,
		"$HOME":        "'$HOME'",
		"a\nb":         "'a\nb'",
		"ü":            "'ü'",
	} {
		if got := phrase.Word(in); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
}

func TestCount_OneIsOne(t *testing.T) {
	t.Parallel()
	for noun, want := range map[string]string{
		"file": "files", "entry": "entries", "byte": "bytes", "empty directory": "empty directories", "process": "processes", "day": "days",
		"box": "boxes", "match": "matches", "Drydock": "Drydocks",
	} {
		if got := phrase.Count(1, noun); got != "1 "+noun {
			t.Errorf("one is %q", got)
		}
		for n, text := range map[int64]string{0: "0 ", 2: "2 ", -1: "-1 ", 1000: "1000 "} {
			if got := phrase.Count(n, noun); got != text+want {
				t.Errorf("%d is %q, want %q", n, got, text+want)
			}
		}
	}
}
