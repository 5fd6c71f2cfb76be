package result_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"cyberagent/domain/result"
)

func TestTooLarge_TheFileIsNamedAsTheToolsNameIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		output, name string
		said         bool
	}{
		{"ok\n# example.org/big\ncompile: writing output: write $WORK/b233/_pkg_.a: file too large\nFAIL\n", "$WORK/b233/_pkg_.a", true},
		{"OSError: [Errno 27] File too large: '/workspace/dist/bundle.whl'\n", "/workspace/dist/bundle.whl", true},
		{"OSError: [Errno 27] File too large: 'dist/bundle.whl'\n", "", true},
		{"OSError: [Errno 27] File too large\n", "", true},
		{"Error: EFBIG: file too large, write\n", "", true},
		{"error: failed to write `/standard-code/cache/target/libx-0a.rlib`: File too large (os error 27)", "/standard-code/cache/target/libx-0a.rlib", true},
		{"cp: error writing ‘/workspace/out.bin’: File too large.\n", "/workspace/out.bin", true},
		{"from /workspace/a to /workspace/b: File too large\n", "/workspace/b", true},
		{"/usr/bin/ld: final link failed: File too large\n", "", true},
		{"x: file too large\nwrite /workspace/a.o: file too large\n", "/workspace/a.o", true},
		{"write /workspace/big file: file too large\n", "", true},
		{"AssertionError: upload refused: file too large (authorization was \"Bearer 94df SECRET\")\n", "", true},
		{"'all is well (exit code 0)': File too large\n", "", true},
		{"write /workspace/\x1b[31ma.o: file too large\n", "", true},
		{"write /etc/passwd: file too large\n", "", true},
		{"write /workspace/" + strings.Repeat("a", 300) + ": file too large\n", "", true},
		{"file too large", "", true},
		{"the file is too large\n", "", false},
		{"", "", false},
	} {
		if name, said := result.TooLarge([]byte(c.output)); name != c.name || said != c.said {
			t.Errorf("%q: %q, %t, want %q, %t", c.output, name, said, c.name, c.said)
		}
	}
}

func FuzzTooLarge(f *testing.F) {
	f.Add([]byte("write $WORK/b1/_pkg_.a: file too large\n"))
	f.Add([]byte("\xff\u0130 File too large: '\u0130'\n"))
	f.Fuzz(func(t *testing.T, output []byte) {
		name, said := result.TooLarge(output)
		if len(name) > 200 || !utf8.ValidString(name) || name != "" && !said {
			t.Errorf("%q, %t", name, said)
		}
	})
}
