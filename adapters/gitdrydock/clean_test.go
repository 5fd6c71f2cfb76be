//go:build linux

package gitdrydock

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
)

func (y *dockyard) record() drydock.Drydock {
	return drydock.Drydock{ID: drydockID(1), Source: y.src, Place: y.place, Generation: 1}
}

func (y *dockyard) clean() drydock.Remains {
	y.t.Helper()
	r, err := y.d.Clean(context.Background(), y.record())
	if err != nil {
		y.t.Fatalf("Clean: %v", err)
	}
	return r
}

// checkGone proves that nothing of the Drydock is left and that the source is as
// it was.
func checkGone(t *testing.T, y *dockyard, before map[string]string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Dir(y.place.Root)); !os.IsNotExist(err) {
		t.Errorf("the Drydock's directory is there: %v", err)
	}
	after := snapshot(t, filepath.Join(y.src.CommonDir))
	for _, dirs := range []string{"refs/cyberagent/", "refs/cyberagent/drydock/", "refs/heads/cyberagent/", "refs/heads/cyberagent/drydock/", "logs/refs/heads/cyberagent/", "logs/refs/heads/cyberagent/drydock/"} {
		delete(after, dirs)
	}
	checkSame(t, before, after)
}

func TestClean_LeavesTheSourceAsItWas(t *testing.T) {
	t.Parallel()
	source := mustRepo(t, someFiles)
	before := snapshot(t, filepath.Join(source, ".git"))
	y := mustDock(t, source)
	outside := t.TempDir()
	mustWrite(t, outside, map[string]string{"secret": "s"})
	mustWrite(t, y.place.Root, map[string]string{"n/.git/config": "x", "dir/f": "x"})
	mustDo(t, os.Symlink(outside, y.path("link")))
	mustDo(t, os.Link(filepath.Join(outside, "secret"), y.path("hard")))
	mustDo(t, unix.Mkfifo(y.path("pipe"), 0o600))
	mustDo(t, os.MkdirAll(y.path(strings.Repeat("deep/", 300)), 0o755))
	inTree(t, y.place.Root, `mkdir -p dark/er; echo x > dark/er/x; chmod 000 dark/er; chmod 555 dark`)
	s, err := y.d.Survey(context.Background(), y.record())
	if err != nil || !s.Worktree || !s.Registration || !s.Branch || !s.Pin || len(s.Kept) > 0 || s.Content.Entries < 300 {
		t.Errorf("the survey is %+v %v", s, err)
	}
	r, err := y.d.Clean(context.Background(), y.record())
	if err != nil || r.Pending || len(r.Kept) > 0 {
		out, _ := exec.Command("find", y.place.Root, "-maxdepth", "3").CombinedOutput()
		t.Errorf("Clean: %+v %v\n%s", r, err, out)
	}
	checkGone(t, y, before)
	if b, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(b) != "s" {
		t.Errorf("a file outside: %q %v", b, err)
	}
	if r := y.clean(); r.Pending || r.Worktree {
		t.Errorf("a second Clean: %+v", r)
	}
}

func TestClean_KeepsAndNamesWhatIsInDoubt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		make      func(t *testing.T, y *dockyard, reg string)
		why       string
		untouched bool // nothing is removed
		pending   bool
		after     func(t *testing.T, y *dockyard, reg string)
	}{
		{name: "AnotherRoot", untouched: true, why: "recorded was", make: func(t *testing.T, y *dockyard, _ string) {
			mustDo(t, os.Rename(y.place.Root, y.place.Root+".away"))
			mustWrite(t, y.place.Root, map[string]string{"precious": "x"})
		}, after: func(t *testing.T, y *dockyard, _ string) {
			if _, err := os.Stat(y.path("precious")); err != nil {
				t.Error(err)
			}
		}},
		{name: "ALinkAsTheRoot", untouched: true, why: "without following links", make: func(t *testing.T, y *dockyard, _ string) {
			away := t.TempDir()
			mustWrite(t, away, map[string]string{"precious": "x"})
			mustDo(t, os.Rename(y.place.Root, y.place.Root+".away"))
			mustDo(t, os.Symlink(away, y.place.Root))
		}, after: func(t *testing.T, y *dockyard, _ string) {
			if _, err := os.Stat(y.path("precious")); err != nil {
				t.Error(err)
			}
		}},
		{name: "AnotherCreationsIntent", untouched: true, why: "another creation", make: func(t *testing.T, y *dockyard, _ string) {
			b, err := os.ReadFile(filepath.Join(filepath.Dir(y.place.Root), "intent.json"))
			mustDo(t, err)
			mustDo(t, os.WriteFile(filepath.Join(filepath.Dir(y.place.Root), "intent.json"), []byte(strings.ReplaceAll(string(b), string(drydockID(1)), string(drydockID(2)))), 0o600))
		}, after: func(t *testing.T, y *dockyard, _ string) {
			if _, err := os.Stat(y.path("README.md")); err != nil {
				t.Error(err)
			}
		}},
		{name: "ABranchWithCommits", why: "commits of its own", make: func(t *testing.T, y *dockyard, _ string) {
			mustWrite(t, y.place.Root, map[string]string{"x": "1"})
			mustGit(t, y.place.Root, "-c", "safe.directory=*", "add", "x")
			mustGit(t, y.place.Root, "-c", "safe.directory=*", "commit", "-q", "-m", "the operator's own")
		}, after: func(t *testing.T, y *dockyard, _ string) {
			if got := mustGit(t, y.src.TopLevel, "log", "-1", "--format=%s", y.place.Branch); got != "the operator's own" {
				t.Errorf("the branch has %q", got)
			}
		}},
		{name: "ABranchThatIsCheckedOutElsewhere", why: "another worktree", make: func(t *testing.T, y *dockyard, _ string) {
			mustGit(t, y.src.TopLevel, "symbolic-ref", "HEAD", "refs/heads/"+y.place.Branch)
		}, after: func(t *testing.T, y *dockyard, _ string) {
			mustGit(t, y.src.TopLevel, "rev-parse", "--verify", "HEAD")
		}},
		{name: "AnotherLockReason", why: "lock reason", pending: true, make: func(t *testing.T, _ *dockyard, reg string) {
			mustDo(t, os.WriteFile(filepath.Join(reg, "locked"), []byte("mine\n"), 0o600))
		}, after: func(t *testing.T, _ *dockyard, reg string) {
			if _, err := os.Stat(filepath.Join(reg, "HEAD")); err != nil {
				t.Error(err)
			}
		}},
		{name: "GitAtWork", why: "index is locked", pending: true, make: func(t *testing.T, _ *dockyard, reg string) {
			mustDo(t, os.WriteFile(filepath.Join(reg, "index.lock"), nil, 0o600))
		}, after: func(t *testing.T, y *dockyard, reg string) {
			if _, err := os.Stat(filepath.Join(reg, "index.lock")); err != nil {
				t.Error(err)
			}
			mustDo(t, os.Remove(filepath.Join(reg, "index.lock")))
			if r := y.clean(); r.Pending {
				t.Errorf("without the lock: %+v", r)
			}
		}},
		{name: "AFileThatCreationDidNotMake", make: func(t *testing.T, y *dockyard, _ string) {
			mustWrite(t, filepath.Dir(y.place.Root), map[string]string{"foreign": "x"})
		}, after: func(t *testing.T, y *dockyard, _ string) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(y.place.Root), "foreign")); err != nil {
				t.Error(err)
			}
			s, err := y.d.Strays(context.Background(), []id.Drydock{})
			if err != nil || len(s) != 1 || !strings.Contains(s[0].What, string(drydockID(1))) {
				t.Errorf("Strays: %+v %v", s, err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			y := mustDock(t, mustRepo(t, someFiles))
			reg := registration(t, y.src.TopLevel)
			tt.make(t, y, reg)
			r := y.clean()
			if r.Pending != tt.pending || r.Untouched != tt.untouched || !strings.Contains(fmt.Sprint(r.Kept), tt.why) {
				t.Errorf("Clean: %+v", r)
			}
			tt.after(t, y, reg)
		})
	}
}

func TestClean_ACreationThatWasCutOffIsRemovedToo(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"intent", "shadow", "refs", "worktree", "files", "committed"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			source := mustRepo(t, someFiles)
			before := snapshot(t, filepath.Join(source, ".git"))
			y := mustStopped(t, source, step)
			r, err := y.d.Clean(context.Background(), drydock.Drydock{ID: drydockID(1), Source: y.src})
			if err != nil || r.Pending || len(r.Kept) > 0 {
				t.Fatalf("Clean: %+v %v", r, err)
			}
			checkGone(t, y, before)
		})
	}
}

func TestClean_TheSourceMayBeGone(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	mustDo(t, os.RemoveAll(y.src.TopLevel))
	if r := y.clean(); r.Pending || len(r.Kept) > 0 {
		t.Errorf("Clean: %+v", r)
	}
}

func TestOrdinaryUser_WhatTheContainerClosedStaysAsCleanupPending(t *testing.T) {
	t.Parallel()
	dir := openTemp(t, operator)
	o := order{Stage: "create", Home: filepath.Join(dir, "home"), Source: userRepo(t, dir, someFiles)}
	a := runStage(t, asOperator(t), o)
	if a.Error != "" {
		t.Fatalf("create: %s", a.Message)
	}
	inTree(t, a.Place.Root, `mkdir -p dark/er fine; echo x > dark/er/x; echo x > fine/x; chmod 000 fine/x; chmod 555 dark/er; chmod 000 dark`)
	operatorShell(t, a.Place.Root, `mkdir mine; echo x > mine/x; chmod 000 mine`)
	o.Stage, o.Place, o.Record = "clean", a.Place, drydock.Drydock{ID: drydockID(1), Source: a.Source, Place: a.Place}
	r := runStage(t, asOperator(t), o)
	if r.Error != "" || !r.Remains.Pending || len(r.Remains.Kept) != 1 || r.Remains.Kept[0].What != "dark" {
		t.Fatalf("clean: %s %+v", r.Message, r.Remains)
	}
	if _, err := os.Stat(filepath.Join(a.Place.Root, ".git")); err != nil {
		t.Errorf("the registration went before the content: %v", err)
	}
	inTree(t, a.Place.Root, `chmod 770 dark; chmod 770 dark/er`) // what a repair does
	r = runStage(t, asOperator(t), o)
	if r.Error != "" || r.Remains.Pending {
		t.Fatalf("after access is restored: %s %+v", r.Message, r.Remains)
	}
	if _, err := os.Lstat(filepath.Dir(a.Place.Root)); !os.IsNotExist(err) {
		t.Errorf("the Drydock's directory is there: %v", err)
	}
}

func TestOrdinaryUser_RewindsWhatTheContainerMade(t *testing.T) {
	t.Parallel()
	dir := openTemp(t, operator)
	o := order{Stage: "create", Home: filepath.Join(dir, "home"), Source: userRepo(t, dir, someFiles)}
	a := runStage(t, asOperator(t), o)
	want := snapshot(t, a.Place.Root)
	inTree(t, a.Place.Root, `echo 2 > README.md; rm -r a; mkdir -p n/m; echo x > n/m/x; chmod 640 n/m/x`)
	o.Stage, o.Place, o.Last, o.Next = "capture", a.Place, 1, 2
	if c := runStage(t, asOperator(t), o); c.Error != "" {
		t.Fatalf("capture: %s", c.Message)
	}
	o.Stage, o.Last, o.Next, o.Target = "rewind", 2, 3, 1
	if r := runStage(t, asOperator(t), o); r.Error != "" {
		t.Fatalf("rewind: %s", r.Message)
	}
	checkSame(t, want, snapshot(t, a.Place.Root))
	inTree(t, a.Place.Root, `echo again > README.md; echo more >> a/b/c.go; rm z; mkdir a/new`) // it may still write
	inTree(t, a.Place.Root, `mkdir shut; echo x > shut/x; chmod 555 shut`)
	o.Last, o.Next = 3, 5
	r := runStage(t, asOperator(t), o)
	if r.Error != string(fault.RecoveryRequired) || !strings.Contains(r.Message, "shut") {
		t.Errorf("a directory that the operator may not change: %q %q", r.Error, r.Message)
	}
}

func TestClean_WhateverTookTheControlFilesPlaceGoesToo(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(t *testing.T, at string){
		"a repository": func(t *testing.T, at string) { mustGit(t, filepath.Dir(at), "init", "-q") },
		"a directory with one that is closed": func(t *testing.T, at string) {
			mustWrite(t, at, map[string]string{"a/b": "x"})
			mustDo(t, os.Chmod(filepath.Join(at, "a"), 0o000))
		},
		"an empty directory": func(t *testing.T, at string) { mustDo(t, os.Mkdir(at, 0o755)) },
		"a link":             func(t *testing.T, at string) { mustDo(t, os.Symlink("/etc", at)) },
		"a FIFO":             func(t *testing.T, at string) { mustDo(t, unix.Mkfifo(at, 0o600)) },
		"another file":       func(t *testing.T, at string) { mustDo(t, os.WriteFile(at, []byte("gitdir: /etc\n"), 0o644)) },
		"nothing":            func(*testing.T, string) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := mustRepo(t, someFiles)
			before := snapshot(t, filepath.Join(source, ".git"))
			y := mustDock(t, source)
			mustDo(t, os.Remove(y.path(".git")))
			put(t, y.path(".git"))
			if r := y.clean(); r.Pending || len(r.Kept) > 0 {
				t.Errorf("Clean: %+v", r)
			}
			checkGone(t, y, before)
		})
	}
}
