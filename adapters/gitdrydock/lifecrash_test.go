//go:build linux

package gitdrydock

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
)

func TestRewind_FinishesAfterACrashAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, unrecorded := range []bool{false, true} {
		for _, step := range []string{"saved", "marked", "deleted", "directories", "written", "indexed", "restored", "recorded", "rewound"} {
			t.Run(map[bool]string{false: "recorded/", true: "unrecorded/"}[unrecorded]+step, func(t *testing.T) {
				t.Parallel()
				y := mustDock(t, mustRepo(t, someFiles))
				want := snapshot(t, y.place.Root)
				mustWrite(t, y.place.Root, map[string]string{"README.md": "two\n", "new/x": "x"})
				mustDo(t, os.RemoveAll(y.path("a/b")))
				mustDo(t, os.Mkdir(y.path("a/e"), 0o755))
				y.capture()
				second := snapshot(t, y.place.Root)
				if unrecorded {
					mustWrite(t, y.place.Root, map[string]string{"loose": "not recorded", "README.md": "three\n"})
				}
				loose := snapshot(t, y.place.Root)
				digest := y.plan(checkpointID(1)).Digest
				o := order{Stage: "rewind", Home: y.d.cfg.Home, Place: y.place, Last: 2, Next: 3, Target: 1, Die: step}
				killed(t, o)

				// It is known to be neither the one nor the other while it is.
				p, err := y.d.Plan(context.Background(), y.place, checkpointID(2), checkpointID(1), 10)
				mustDo(t, err)
				if marked := step != "saved" && step != "rewound"; p.Interrupted != marked {
					t.Errorf("interrupted is %v after %s", p.Interrupted, step)
				}
				// The same order finishes it, and what was not recorded is.
				w, err := y.d.Rewind(context.Background(), y.place, rewindOrder(o, digest), unheard)
				mustDo(t, err)
				checkSame(t, want, snapshot(t, y.place.Root))
				checkSame(t, want, readBack(t, y, w.Result.Commit))
				checkSame(t, second, readBack(t, y, commitOf(t, y, 2)))
				if (w.Saved != nil) != unrecorded {
					t.Fatalf("saved is %+v", w.Saved)
				}
				if unrecorded {
					checkSame(t, loose, readBack(t, y, w.Saved.Commit))
				}
				if left, _ := filepath.Glob(filepath.Join(filepath.Dir(y.place.Root), "*")); len(left) != 6 {
					t.Errorf("left beside the tree: %q", left)
				}
			})
		}
	}
}

func commitOf(t *testing.T, y *dockyard, n int) string {
	t.Helper()
	l, err := y.d.open()
	mustDo(t, err)
	f, err := parseFormat(y.src.ObjectFormat)
	mustDo(t, err)
	c, err := l.dock(drydockID(1)).mustRef(f, checkpointID(n))
	mustDo(t, err)
	return c.String()
}

func TestRewind_AnotherOneAfterACrashGoesOnFromWhatIsThere(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	mustWrite(t, y.place.Root, map[string]string{"README.md": "two\n", "x": "x"})
	y.capture()
	second := snapshot(t, y.place.Root)
	killed(t, order{Stage: "rewind", Home: y.d.cfg.Home, Place: y.place, Last: 2, Next: 3, Target: 1, Die: "deleted"})
	y.counter = 10
	w := y.rewind(checkpointID(2))
	checkSame(t, second, snapshot(t, y.place.Root))
	if w.Saved != nil {
		t.Error("a half-restored tree was recorded")
	}
}

func TestDeliver_FinishesAfterACrashAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"patched", "proved", "published"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			y := mustDock(t, mustRepo(t, someFiles))
			mustWrite(t, y.place.Root, map[string]string{"README.md": "two\n"})
			y.capture()
			killed(t, order{Stage: "deliver", Home: y.d.cfg.Home, Place: y.place, Last: 2, Die: step})
			named, _ := filepath.Glob(filepath.Join(y.d.cfg.Home, "deliveries", "*.patch"))
			if (len(named) > 0) != (step == "published") {
				t.Errorf("after %s there are %q", step, named)
			}
			d := y.deliver()
			clone := filepath.Join(t.TempDir(), "clone")
			mustGit(t, y.src.TopLevel, "clone", "-q", y.src.TopLevel, clone)
			mustGit(t, clone, "apply", d.File)
			checkSame(t, snapshot(t, y.place.Root), snapshot(t, clone))
		})
	}
}

func TestClean_FinishesAfterACrashAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"content", "deregistered", "registration", "shadow", "worktree-gone", "records"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			source := mustRepo(t, someFiles)
			before := snapshot(t, filepath.Join(source, ".git"))
			y := mustDock(t, source)
			o := order{Stage: "clean", Home: y.d.cfg.Home, Place: y.place, Record: y.record(), Die: step}
			killed(t, o)
			if step == "content" {
				if _, err := os.Stat(y.path(".git")); err != nil {
					t.Errorf("the control file went before the registration: %v", err)
				}
			}
			if r := y.clean(); r.Pending || len(r.Kept) > 0 {
				t.Errorf("the second Clean: %+v", r)
			}
			checkGone(t, y, before)
		})
	}
}

// A foreign file that takes the place of something while the clean-up is cut off
// is never removed.
func TestClean_AfterACrashForeignThingsStay(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	killed(t, order{Stage: "clean", Home: y.d.cfg.Home, Place: y.place, Record: y.record(), Die: "content"})
	mustDo(t, os.Rename(y.place.Root, y.place.Root+".old"))
	mustWrite(t, y.place.Root, map[string]string{"precious": "x"})
	if r := y.clean(); !r.Untouched || !strings.Contains(r.Kept[0].Why, "recorded was") {
		t.Errorf("Clean: %+v", r)
	}
	if b, err := os.ReadFile(y.path("precious")); err != nil || string(b) != "x" {
		t.Errorf("%q %v", b, err)
	}
}

func TestCapture_AfterARewindThatWasCutOffIsTheOperatorsDecision(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	mustWrite(t, y.place.Root, map[string]string{"x": "x"})
	y.capture()
	killed(t, order{Stage: "rewind", Home: y.d.cfg.Home, Place: y.place, Last: 2, Next: 3, Target: 1, Die: "deleted"})
	y.counter = 10
	y.capture()
	p, err := y.d.Plan(context.Background(), y.place, y.last, checkpointID(2), 10)
	if err != nil || p.Interrupted || p.Unrecorded != 0 {
		t.Errorf("after a Checkpoint the plan is %+v %v", p, err)
	}
	if _, err := y.d.Rewind(context.Background(), y.place, drydock.RewindOrder{Current: checkpointID(2), Target: checkpointID(1), Next: checkpointID(3), Saved: checkpointID(4), Digest: "x"}, unheard); fault.CodeOf(err) != fault.TrustMismatch {
		t.Errorf("the old order: %v", err)
	}
}
