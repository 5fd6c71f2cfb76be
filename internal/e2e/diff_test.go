package e2e

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

type diffView struct {
	Protocol string `json:"protocol_version"`
	RunID    string `json:"run_id"`
	From     string `json:"from_id"`
	To       string `json:"to_id"`
	Patch    string `json:"patch"`
	Encoding string `json:"patch_encoding"`
}

// Text is the patch's bytes.
func (d diffView) Text(t testing.TB) string {
	t.Helper()
	switch d.Encoding {
	case "utf-8":
		return d.Patch
	case "base64":
		b, err := base64.StdEncoding.DecodeString(d.Patch)
		must(t, err)
		return string(b)
	}
	t.Fatalf("a patch in %q", d.Encoding)
	return ""
}

// A patch is bytes, whatever carries it, and git takes it. Files with NUL are
// named and not shown.
func TestDiff_EveryByteOfTextArrives(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	source := h.MustSource(t, map[string]string{"latin": "gr\xfc\xdfe\n", "dos": "a\r\nb\r\n", "tail": "no newline"})
	f := h.MustFlow(t, source)
	f.MustRun(t, python("-c", `open('latin','ab').write(b'\xfe\xff more\n'); open('dos','ab').write(b'c\r\n'); open('tail','ab').write(b' yet')`), 0)
	asJSON := MustAnswer[diffView](t, f.call(t, "drydock", "diff", f.run), 0).Text(t)
	asText := f.start(t, "drydock", "diff", f.run).Wait(t)
	if string(asText.stdout) != asJSON || !strings.Contains(asJSON, "\xfe\xff more") {
		t.Errorf("the two outputs differ:\n%q\n%q", asText.stdout, asJSON)
	}
	apply := exec.Command("git", "apply", "--index", "-")
	apply.Dir, apply.Stdin = source, strings.NewReader(asJSON)
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s", err, out)
	}
	for _, name := range []string{"latin", "dos", "tail"} {
		want, err := os.ReadFile(filepath.Join(f.path, name))
		must(t, err)
		if got, err := os.ReadFile(filepath.Join(source, name)); err != nil || string(got) != string(want) {
			t.Errorf("%s is %q, want %q: %v", name, got, want, err)
		}
	}
}
