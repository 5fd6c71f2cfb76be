package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDeliver_AFileThatCannotBeMadeIsRefusedBeforeAnythingIsRecorded(t *testing.T) {
	t.Parallel()
	y := mustYard(t)
	root := y.create()
	before := y.status()
	there, link := filepath.Join(t.TempDir(), "there.patch"), filepath.Join(t.TempDir(), "link")
	y.write(filepath.Dir(there), map[string]string{"there.patch": "mine"})
	for _, to := range []string{there, filepath.Join(filepath.Dir(there), "nowhere")} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		if e := y.must(2, "drydock", "deliver", y.run, "--out", link); e["field"] != "out" {
			t.Errorf("through a link: %v", e)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	for out, remedy := range map[string]string{
		there:                                  "rm " + there,
		filepath.Dir(there):                    "does not exist",
		filepath.Join(there, "below.patch"):    "directory",
		filepath.Join(root, "no", "fix.patch"): "make the directory",
		filepath.Join(root, "a", "fix.patch"):  "outside of the Drydocks",
		filepath.Join(link, "fix.patch"):       "outside of the Drydocks",
	} {
		e := y.must(2, "drydock", "deliver", y.run, "--out", out)
		if e["field"] != "out" || !strings.Contains(e["remediation"].(string), remedy) {
			t.Errorf("%s: %v", out, e)
		}
	}
	after := y.status()
	if after["status"] != "ready" || after["generation"] != before["generation"] || len(after["drift"].([]any)) != 0 {
		t.Errorf("a refused delivery left %v", after)
	}
	if b, err := os.ReadFile(there); err != nil || string(b) != "mine" {
		t.Errorf("%v %q", err, b)
	}

	// A delivery that is refused for another reason leaves no file.
	y.write(root, map[string]string{"loose": "x"})
	out := filepath.Join(t.TempDir(), "fix.patch")
	y.must(3, "drydock", "deliver", y.run, "--out", out)
	if _, err := os.Lstat(out); !os.IsNotExist(err) {
		t.Errorf("a refused delivery left its file: %v", err)
	}
	y.must(0, "drydock", "checkpoint", y.run)
	d := y.must(0, "drydock", "deliver", y.run, "--out", out)
	copied, err := os.ReadFile(out)
	own, err2 := os.ReadFile(d["file"].(string))
	if err != nil || err2 != nil || string(copied) != string(own) || len(own) == 0 {
		t.Errorf("the copy: %v %v %q %q", err, err2, copied, own)
	}
}
