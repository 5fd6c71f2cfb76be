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

// A link of the source that leads out of the repository leads nowhere inside.
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

// listing is every name below a directory with its mode, and the content of files.
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

// A tree that cannot be recorded whole is not recorded at all: the Drydock waits
// for an operator, says why, and goes on when they have looked.
func TestHostileTree_WhatCannotBeRecordedIsRefusedByName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ levels, letters string }{
		"200 levels":                      {"200", "1"},
		"a path longer than any sentence": {"60", "250"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := MustHome(t)
			f := h.MustFlow(t, h.MustScripts(t, "hostile.py"))
			a := f.MustApprove(t, python("-c", "import os; n = 'd' * "+c.letters+"; [(os.mkdir(n), os.chdir(n)) for i in range("+c.levels+")]"))
			r := MustAnswer[resultView](t, f.Execute(t, a), 8)
			if r.ended() != "succeeded/exited" || !r.Recovery || r.Checkpoint.AfterID != "" || !strings.Contains(r.Details["recovery"], "ddd") &&
				!strings.Contains(r.Details["recovery"], "d/d/d") {
				t.Errorf("the result: %+v", r)
			}
			f.MustHaveNoContainer(t)
			d := f.MustStatus(t)
			if d.Status != "recovery_required" || d.Reason != r.Details["recovery"] || len(d.Drift) != 1 || d.Running != "" {
				t.Errorf("the Drydock: %+v", d)
			}
			f.generation = d.Generation
			checkRefusal(t, f.call(t, f.request("prepare", a).args()...), refusal{"drydock_not_ready", 3, ""})
			confirm := []string{"drydock", "checkpoint", f.run, "--confirm"}
			checkRefusal(t, f.call(t, confirm...), refusal{"recovery_required", 8, ""})

			entries, err := os.ReadDir(f.path)
			must(t, err)
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), "d") {
					must(t, os.RemoveAll(filepath.Join(f.path, e.Name())))
				}
			}
			MustAnswer[checkpointView](t, f.call(t, confirm...), 0)
			f.take(f.MustStatus(t))
			f.MustRunOrdinarily(t)
		})
	}
}

// What a command does to the workspace's own directory is undone, or it would
// shut the next one out.
func TestHostileTree_AShutWorkspaceIsOpenAgain(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	f.MustRun(t, python("-c", "import os; os.chmod('/workspace', 0)"), 0)
	f.MustRunOrdinarily(t)
	r := f.MustRun(t, python("-c", "import os; [os.unlink(e) for e in os.listdir('.') if e != '.git']"), 0)
	if want := (counts{Deleted: 1}); r.Checkpoint.Changed != want || r.Resources.GrowthEntries != -1 {
		t.Errorf("an emptied workspace: %+v, %+v", r.Checkpoint, r.Resources)
	}
	f.MustRunOrdinarily(t)
}
