package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestHostileTree_IsRecordedWholeAndHurtsNobody(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	source := h.MustScripts(t, "hostile.py")
	f := h.MustFlow(t, source)
	outside := filepath.Join(h.dir, "outside")
	must(t, os.Mkdir(outside, 0o777))
	must(t, os.WriteFile(filepath.Join(outside, "precious"), []byte("untouched\n"), 0o644))
	before := append(listing(t, source), listing(t, outside)...)

	r := f.MustRun(t, python("hostile.py", filepath.Join(outside, "canary")), 0)
	if r.ended() != "succeeded/exited" {
		t.Fatalf("it ended %s: %v", r.ended(), r.Details)
	}
	want := []excluded{
		{"capital/.GIT", "nested_repository"}, {"fifo", "fifo"}, {"nested/.git", "nested_repository"}, {"socket", "socket"},
	}
	slices.SortFunc(r.Checkpoint.Excluded, func(a, b excluded) int { return strings.Compare(a.Path, b.Path) })
	if !slices.Equal(r.Checkpoint.Excluded, want) {
		t.Errorf("left out: %v, want %v", r.Checkpoint.Excluded, want)
	}

	// Every byte of the rest is in the Checkpoint, links as links.
	d := MustAnswer[diffView](t, f.call(t, "drydock", "diff", f.run), 0)
	for _, text := range []string{
		"+a file beside the nested repository", "+behind a closed door", "+closed itself", "+a newline in the name", "+not UTF-8", "+a leading dash",
		"+one\r\n", "new file mode 120000", "+../../../../../../etc/passwd", "+/etc/shadow", "+" + outside,
		"b/shut/deep/secret", `"b/line\nbreak"`, `"b/bytes-\377"`, "b/-rf", "b/.gitignore", "b/kept-again.txt",
	} {
		if !strings.Contains(d.Text(t), text) {
			t.Errorf("the diff lacks %q", text)
		}
	}
	if strings.Contains(d.Text(t), "fsmonitor") {
		t.Error("the nested repository's configuration is in the diff")
	}

	// Looking at it again, and working on, neither enters nor hurts anything.
	c := MustAnswer[checkpointView](t, f.call(t, "drydock", "checkpoint", f.run), 0)
	if c.Changed != (counts{}) || len(c.Excluded) != len(want) {
		t.Errorf("recording the same tree again: %+v", c)
	}
	f.take(f.MustStatus(t))
	f.MustRunOrdinarily(t)
	if after := append(listing(t, source), listing(t, outside)...); !slices.Equal(before, after) {
		t.Errorf("the host changed:\n%v\n%v", before, after)
	}
	for _, name := range []string{"fifo", "socket", "nested/.git/config", "capital/.GIT"} {
		if _, err := os.Lstat(filepath.Join(f.path, name)); err != nil {
			t.Errorf("what was left out must stay: %v", err)
		}
	}
}

// A second Run's command cannot reach what the first one's left, and a command
// that links the outside in changes nothing by writing through the links.
func TestHostileTree_LinksOutLeadNowhereInside(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	outside := filepath.Join(h.dir, "outside")
	must(t, os.Mkdir(outside, 0o777))
	must(t, os.Chmod(outside, 0o777))
	source := h.MustScripts(t)
	must(t, os.Symlink(outside, filepath.Join(source, "out")))
	h.mustCommit(t, source)
	f := h.MustFlow(t, source)
	r := f.MustRun(t, python("-c", "open('out/file', 'w')"), 5)
	if r.Reason != "exited" || *r.ExitCode != 1 {
		t.Errorf("writing through the link ended %s", r.ended())
	}
	if l := listing(t, outside); len(l) != 1 {
		t.Errorf("the command reached %v", l)
	}
}

// listing is every name below a directory with its type, mode, size and owner's
// view of it; a directory's own time is left out, for reading does not change it.
func listing(t testing.TB, dir string) []string {
	t.Helper()
	var all []string
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		// What git keeps for the worktree in its own directory is registration.
		if e.IsDir() && strings.HasSuffix(path, "/.git") {
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		line := path + " " + info.Mode().String()
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += " " + string(b)
		}
		all = append(all, line)
		return nil
	}))
	return all
}
