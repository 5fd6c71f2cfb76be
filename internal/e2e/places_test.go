package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Where an installation and a source lie, and with which umask, changes nothing.
func TestPlaces_OddPathsAndUmasksWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ state, source, umask string }{
		"spaces, colons, commas and quotes": {`the state: a,b=c "d" 'e' $HOME`, `my source: a,b "c" $(id) *`, "022"},
		"letters of the world":              {"état-状態", "исходник-🚢", "022"},
		"a dash first":                      {"-rf", "--upload-pack=x", "022"},
		"a umask that shuts":                {"state", "source", "077"},
		"a umask that opens":                {"state", "source", "000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := MustHome(t)
			h = h.with("CYBERAGENT_HOME=" + filepath.Join(h.dir, c.state))
			h.state = filepath.Join(h.dir, c.state)
			source := filepath.Join(h.dir, c.source)
			must(t, os.Rename(h.MustScripts(t, "abuse.py"), source))
			h.umask = c.umask
			f := h.MustFlow(t, source)
			r := f.MustRun(t, python("-c", "open('made', 'w').write('x')"), 0)
			if want := (counts{Added: 1}); r.Checkpoint.Changed != want {
				t.Errorf("changed %+v", r.Checkpoint.Changed)
			}
			checkFacts(t, r)
			if d := MustAnswer[diffView](t, f.call(t, "drydock", "diff", f.run), 0); !strings.Contains(d.Patch, "b/made") {
				t.Errorf("the diff: %q", d.Patch)
			}
			// Nobody else may look into the ledger.
			info, err := os.Stat(filepath.Join(h.state, "ledger.db"))
			if err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("the ledger is %v, %v", info.Mode(), err)
			}
		})
	}
}
