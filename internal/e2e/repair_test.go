package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shut makes what a killed command may leave: files and directories of the
// container's user that nobody but root can read or remove.
func (f *flow) shut(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("this test makes files of another user; remedy: run it as root")
	}
	dark := filepath.Join(f.path, "dark", "er")
	must(t, os.MkdirAll(dark, 0o755))
	must(t, os.WriteFile(filepath.Join(dark, "x"), []byte("behind two doors"), 0o644))
	must(t, filepath.WalkDir(filepath.Join(f.path, "dark"), func(p string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(p, 65532, 65532))
	}))
	must(t, os.Chmod(filepath.Join(dark, "x"), 0))
	must(t, os.Chmod(dark, 0o555))
	must(t, os.Chmod(filepath.Join(f.path, "dark"), 0))
}

func TestRepair_GivesAccessBackInTheFixedContainer(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) *home{
		"AsRoot":           func(t *testing.T) *home { return MustHome(t) },
		"AsAnOrdinaryUser": MustOperatorHome,
		"OnContainerd":     func(t *testing.T) *home { return MustHome(t).containerd(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			f := h.MustFlow(t, h.give(t, h.MustProject(t, "python")))
			f.shut(t)
			if h.sys != nil {
				e := MustFail(t, f.call(t, "drydock", "checkpoint", f.run), 8)
				if e.Code != "recovery_required" || !strings.Contains(e.Message, "dark") {
					t.Errorf("a closed directory: %+v", e)
				}
			}
			// Without the gates nothing is started.
			if e := MustFail(t, f.call(t, "drydock", "repair", f.run), 3); e.Code != "feature_disabled" {
				t.Errorf("without gates: %+v", e)
			}
			args := append([]string{"drydock", "repair", f.run, "--operation-key", "repair-1"}, gates...)
			v := MustAnswer[repairView](t, f.call(t, args...), 0)
			if v.Status != "ready" || len(v.Unreadable) != 0 || v.Replayed {
				t.Errorf("the repair left %+v", v)
			}
			if again := MustAnswer[repairView](t, f.call(t, args...), 0); !again.Replayed || again.ExecutionID != v.ExecutionID {
				t.Errorf("again: %+v", again)
			}
			f.MustHaveNoContainer(t)
			c := MustAnswer[checkpointView](t, f.call(t, "drydock", "checkpoint", f.run), 0)
			if c.Changed.Added != 1 {
				t.Errorf("the Checkpoint has %+v", c.Changed)
			}
			f.take(f.MustStatus(t))
			f.MustRunOrdinarily(t)
		})
	}
}

// The next repair finds the container that a dead one left by its recorded id.
func TestRepair_AKillAtAnyMomentIsMadeGoodByTheNext(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, h *home) {
		f := h.MustFlow(t, h.MustProject(t, "python"))
		repair := append([]string{"--output", "json", "drydock", "repair", f.run}, gates...)
		began := time.Now()
		f.shut(t)
		MustAnswer[repairView](t, h.start(t, repair...).Wait(t), 0)
		whole := time.Since(began)
		const moments = 8
		cut := 0
		for n := range moments {
			f.shut(t)
			p := h.start(t, repair...)
			time.Sleep(whole * time.Duration(n+1) / (moments + 1))
			p.Signal(t, syscall.SIGKILL)
			<-p.done
			s := f.MustStatus(t)
			switch s.Pending {
			case "":
			case "repair":
				cut++
				if e := MustFail(t, f.call(t, "drydock", "checkpoint", f.run), 8); s.Status != "recovery_required" || e.Code != "recovery_required" && e.Code != "in_progress" {
					t.Errorf("in the middle of a repair: %s, %+v", s.Status, e)
				}
			default:
				t.Errorf("pending is %q", s.Pending)
			}
		}
		t.Logf("%d of %d repairs were cut off", cut, moments)
		f.shut(t)
		if v := MustAnswer[repairView](t, h.start(t, repair...).Wait(t), 0); v.Status != "ready" || len(v.Unreadable) != 0 {
			t.Errorf("the last repair left %+v", v)
		}
		f.MustHaveNoContainer(t)
		if c := MustAnswer[checkpointView](t, f.call(t, "drydock", "checkpoint", f.run), 0); c.Changed.Added != 1 {
			t.Errorf("the Checkpoint has %+v", c.Changed)
		}
	})
}

func TestRepair_ACleanUpThatIsPendingGoesOnAfterIt(t *testing.T) {
	t.Parallel()
	h := MustOperatorHome(t)
	f := h.MustFlow(t, h.give(t, h.MustProject(t, "python")))
	f.shut(t)
	shown := MustAnswer[cleanupView](t, f.call(t, "drydock", "cleanup", f.run), 0)
	if !strings.Contains(shown.Unrecorded, "dark") || shown.Untouched {
		t.Errorf("the preview is %+v", shown)
	}
	args := []string{"drydock", "cleanup", f.run, "--confirm", shown.Digest, "--operation-key", "clean-1"}
	e := MustFail(t, f.call(t, args...), 8)
	if e.Code != "cleanup_pending" || !strings.Contains(e.Message, "dark") {
		t.Errorf("the clean-up: %+v", e)
	}
	if s := f.MustStatus(t); !s.Cleaning || s.Status != "recovery_required" {
		t.Errorf("the status is %+v", s)
	}
	MustAnswer[repairView](t, f.call(t, append([]string{"drydock", "repair", f.run}, gates...)...), 0)
	v := MustAnswer[cleanupView](t, f.call(t, args...), 0)
	if v.Status != "cleaned" || v.Pending {
		t.Errorf("after the repair: %+v", v)
	}
	if _, err := os.Lstat(f.path); !os.IsNotExist(err) {
		t.Errorf("the worktree is there: %v", err)
	}
	f.MustHaveNoContainer(t)
	left, err := os.ReadDir(filepath.Join(filepath.Dir(filepath.Dir(f.path))))
	if err != nil || slices.ContainsFunc(left, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), "dry_") }) {
		t.Errorf("left: %v %v", left, err)
	}
}

// MustFail decodes the error of a call that ends with the exit status.
func MustFail(t testing.TB, a answer, code int) errorView {
	t.Helper()
	if a.code != code || len(a.stdout) != 0 {
		t.Fatalf("exit status %d, want %d: %s\n%s%s", a.code, code, a.line, a.stdout, a.stderr)
	}
	return MustDecode[errorView](t, a.stderr)
}
