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
