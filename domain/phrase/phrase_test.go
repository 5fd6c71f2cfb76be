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

func TestHeadAndMiddle_KeepWholeCharactersWithinTheirMeasure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in           string
		most         int
		head, middle string
	}{
		{"short", 9, "short", "short"},
		{"exactly9!", 9, "exactly9!", "exactly9!"},
		{"/a/long/path", 9, "/a/long/…", "/a/…ath"},
		{"ääääääääää", 9, "ääääääää…", "ä…ä"}, // 10 characters of 2 bytes
		{"日本語日本語日本語日", 9, "日本語日本語日本…", "日…日"},
		{"", 9, "", ""},
	} {
		if got := phrase.Head(c.in, c.most); got != c.head {
			t.Errorf("head of %q is %q, want %q", c.in, got, c.head)
		}
		got := phrase.Middle(c.in, c.most)
		if got != c.middle || len(got) > max(c.most, 0) && got != c.in {
			t.Errorf("middle of %q is %q, want %q", c.in, got, c.middle)
		}
	}
	if got := phrase.Line("a\xff\nb"); got != "a? b" {
		t.Errorf("%q", got)
	}
}
