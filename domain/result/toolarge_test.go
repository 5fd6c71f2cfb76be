package result_test

import (
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
		{"OSError: [Errno 27] File too large: 'dist/bundle.whl'\n", "dist/bundle.whl", true},
		{"OSError: [Errno 27] File too large\n", "", true},
		{"Error: EFBIG: file too large, write\n", "", true},
		{"error: failed to write `/standard-code/cache/target/libx.rlib`: File too large (os error 27)", "/standard-code/cache/target/libx.rlib", true},
		{"cp: error writing 'out.bin': File too large\n", "out.bin", true},
		{"cp: error writing ‘out.bin’: File too large\n", "out.bin", true},
		{"/usr/bin/ld: final link failed: File too large\n", "", true},
		{"write sub dir/big file.bin: File too large\n", "sub dir/big file.bin", true},
		{"big.bin: File too large\n", "big.bin", true},
		{"x: file too large\nwrite /tmp/a.o: file too large\n", "/tmp/a.o", true},
		{"write /tmp/\x1b[31ma.o: file too large\n", "", true},
		{"write /tmp/\xffa.o: file too large\n", "", true},
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
