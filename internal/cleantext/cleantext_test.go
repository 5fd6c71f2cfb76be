package cleantext_test

import (
	"testing"
	"unicode/utf8"

	"cyberagent/internal/cleantext"
)

func TestCleaner_KeepsTextAndRemovesWhatMovesATerminal(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		in   []string
		want string
	}{
		"plain text":                          {[]string{"ok\tdone\n"}, "ok\tdone\n"},
		"colours":                             {[]string{"\x1b[31mred\x1b[0m"}, "red"},
		"a sequence cut in two":               {[]string{"a\x1b[3", "1mb"}, "ab"},
		"a title":                             {[]string{"a\x1b]0;evil\x07b"}, "ab"},
		"a title ended by ST":                 {[]string{"a\x1b]0;evil\x1b\\b"}, "ab"},
		"a string cut at its ESC":             {[]string{"a\x1bPq\x1b", "\\b"}, "ab"},
		"an endless string ends at a newline": {[]string{"a\x1b]0;evil", "more\nb"}, "ab"},
		"carriage return and bell":            {[]string{"50%\r\x07100%\n"}, "50%100%\n"},
		"C1 controls":                         {[]string{"a\u009b31mb\u009d0;x\u009cc"}, "abc"},
		"a rune cut in two":                   {[]string{"\xe4\xb8", "\xad"}, "中"},
		"bidirectional override":              {[]string{"a\u202eb\u2066c"}, "abc"},
		"invalid bytes":                       {[]string{"a\xffb"}, "a\ufffdb"},
		"an unfinished rune at end":           {[]string{"a\xe4"}, "a\ufffd"},
		"a charset selection":                 {[]string{"a\x1b(0b"}, "ab"},
		"ESC within a sequence":               {[]string{"a\x1b[3\x1b[1mb"}, "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c cleantext.Cleaner
			var got []byte
			for _, p := range x.in {
				got = append(got, c.Clean([]byte(p))...)
			}
			if got = append(got, c.Flush()...); string(got) != x.want {
				t.Errorf("got %q, want %q", got, x.want)
			}
		})
	}
}

func FuzzCleaner(f *testing.F) {
	f.Add([]byte("a\x1b[31mb\x1b]0;t\x07"), 3)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		if cut < 0 || cut > len(b) {
			cut = len(b)
		}
		var one, two cleantext.Cleaner
		whole := append(one.Clean(b), one.Flush()...)
		halves := append(append(two.Clean(b[:cut]), two.Clean(b[cut:])...), two.Flush()...)
		if string(whole) != string(halves) {
			t.Fatalf("%q at once, %q in two", whole, halves)
		}
		if !utf8.Valid(whole) {
			t.Fatalf("%q is not UTF-8", whole)
		}
		for _, r := range string(whole) {
			if (r < 0x20 && r != '\n' && r != '\t') || (r >= 0x7f && r < 0xa0) {
				t.Fatalf("%U is left in %q", r, whole)
			}
		}
	})
}
