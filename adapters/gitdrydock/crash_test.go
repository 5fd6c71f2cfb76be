//go:build linux

package gitdrydock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
)

func codeOf(err error) string { return string(fault.CodeOf(err)) }

// killed runs a stage that must die by its own hand.
func killed(t *testing.T, o order) {
	t.Helper()
	err := stageCommand(t, nil, o).Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("the stage did not die at %q: %v", o.Die, err)
	}
}

func TestDrydocks_CreateFinishesAfterACrashAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"intent", "shadow", "refs", "worktree", "files", "captured", "committed", "placed"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			source := mustRepo(t, someFiles)
			o := order{Stage: "create", Home: filepath.Join(t.TempDir(), "home"), Source: source, Die: step}
			killed(t, o)
			checkFinished(t, o)
		})
	}
}

// checkFinished repeats a creation that crashed and proves the result whole.
func checkFinished(t *testing.T, o order) {
	t.Helper()
	o.Die = ""
	a := runStage(t, nil, o)
	if a.Error != "" {
		t.Fatalf("the repeated Create: %s %s", a.Error, a.Message)
	}
	y := &dockyard{t: t, d: New(Config{Home: o.Home}), src: a.Source, place: a.Place, first: a.Capture, last: checkpointID(1), counter: 1}
	want := snapshot(t, o.Source)
	checkSame(t, want, snapshot(t, a.Place.Root))
	checkSame(t, want, readBack(t, y, a.Capture.Commit))
	if d := y.drift(); len(d) > 0 {
		t.Errorf("drift %q", d)
	}
	if n := strings.Count(mustGit(t, o.Source, "worktree", "list"), "\n") + 1; n != 2 {
		t.Errorf("the source has %d worktrees, want 2", n)
	}
	regs, _ := filepath.Glob(filepath.Join(o.Source, ".git", "worktrees", "*"))
	if len(regs) != 1 {
		t.Errorf("the source has registrations %q, want one", regs)
	}
	y.capture()
}

func TestDrydocks_CreateFinishesAfterAKillAtAnyTime(t *testing.T) {
	t.Parallel()
	source := mustRepo(t, someFiles)
	whole := 400 * time.Millisecond
	for range 6 {
		o := order{Stage: "create", Home: filepath.Join(t.TempDir(), "home"), Source: source}
		cmd := stageCommand(t, nil, o)
		mustDo(t, cmd.Start())
		after := time.Duration(rand.Int64N(int64(whole)))
		time.Sleep(after)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		o.Source = source
		a := runStage(t, nil, o)
		if a.Error != "" {
			t.Fatalf("killed after %v, the repeated Create: %s %s", after, a.Error, a.Message)
		}
		checkSame(t, snapshot(t, source), snapshot(t, a.Place.Root))
		// The next turn uses the same ids: make room in the source.
		mustGit(t, source, "worktree", "remove", "-f", "-f", a.Place.Root)
		mustGit(t, source, "branch", "-qD", a.Place.Branch)
		mustGit(t, source, "update-ref", "-d", "refs/cyberagent/drydock/"+strings.ToLower(string(drydockID(1)))+"/base")
	}
}

func TestDrydocks_CreateResumesTornFilesAndRefusesForeignOnes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(t *testing.T, root, reg string)
		code   fault.Code
	}{
		{"ATruncatedFileIsCompleted", func(t *testing.T, root, _ string) { mustDo(t, os.Truncate(filepath.Join(root, "README.md"), 3)) }, ""},
		{"AMissingFileIsWritten", func(t *testing.T, root, _ string) { mustDo(t, os.Remove(filepath.Join(root, "a/b/c.go"))) }, ""},
		{"AMissingDirectoryIsWritten", func(t *testing.T, root, _ string) { mustDo(t, os.RemoveAll(filepath.Join(root, "a"))) }, ""},
		{"AnIndexLockOfOursIsRemoved", func(t *testing.T, _, reg string) {
			mustDo(t, os.Rename(filepath.Join(reg, "index"), filepath.Join(reg, "index.lock")))
		}, ""},
		{"OtherBytesAreRefused", func(t *testing.T, root, _ string) { mustWrite(t, root, map[string]string{"README.md": "HELLO\n"}) }, fault.RecoveryRequired},
		{"MoreBytesAreRefused", func(t *testing.T, root, _ string) { mustWrite(t, root, map[string]string{"README.md": "hello\n\n"}) }, fault.RecoveryRequired},
		{"AnotherFileIsRefused", func(t *testing.T, root, _ string) { mustWrite(t, root, map[string]string{"foreign": ""}) }, fault.RecoveryRequired},
		{"ANestedRepositoryIsRefused", func(t *testing.T, root, _ string) { mustWrite(t, root, map[string]string{"a/.git/x": ""}) }, fault.RecoveryRequired},
		{"ALinkInsteadOfADirectoryIsRefused", func(t *testing.T, root, _ string) {
			mustDo(t, os.RemoveAll(filepath.Join(root, "a")))
			mustDo(t, os.Symlink(t.TempDir(), filepath.Join(root, "a")))
		}, fault.RecoveryRequired},
		{"AHardLinkToElsewhereIsRefused", func(t *testing.T, root, _ string) {
			mustDo(t, os.Remove(filepath.Join(root, "z")))
			outside := filepath.Join(filepath.Dir(root), "outside")
			mustDo(t, os.WriteFile(outside, nil, 0o600))
			mustDo(t, os.Link(outside, filepath.Join(root, "z")))
		}, fault.RecoveryRequired},
		{"ALostRegistrationIsRefused", func(t *testing.T, _, reg string) { mustDo(t, os.RemoveAll(reg)) }, fault.RecoveryRequired},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			source := mustRepo(t, someFiles)
			y := mustStopped(t, source, "files")
			reg, _ := filepath.Glob(filepath.Join(source, ".git", "worktrees", "*"))
			tt.change(t, y.place.Root, reg[0])
			_, _, err := y.d.Create(context.Background(), drydockID(1), checkpointID(1), y.src)
			if tt.code != "" {
				if fault.CodeOf(err) != tt.code {
					t.Fatalf("Create: %v, want %s", err, tt.code)
				}
				return
			}
			mustDo(t, err)
			checkSame(t, snapshot(t, source), snapshot(t, y.place.Root))
			if got := mustGit(t, y.place.Root, "-c", "safe.directory=*", "status", "--porcelain"); got != "" {
				t.Errorf("git status: %q", got)
			}
		})
	}
}

// mustStopped runs Create up to a step, in this process.
func mustStopped(t *testing.T, source, step string) *dockyard {
	t.Helper()
	y := &dockyard{t: t, d: New(Config{Home: filepath.Join(t.TempDir(), "home")})}
	var err error
	y.src, err = y.d.Inspect(context.Background(), source)
	mustDo(t, err)
	stop := errors.New("stopped")
	y.d.reached = func(s string) error {
		if s == step {
			return stop
		}
		return nil
	}
	if _, _, err := y.d.Create(context.Background(), drydockID(1), checkpointID(1), y.src); !errors.Is(err, stop) {
		t.Fatalf("Create did not stop at %q: %v", step, err)
	}
	y.d.reached = nil
	l, err := y.d.open()
	mustDo(t, err)
	y.place.Root = l.dock(drydockID(1)).tree
	return y
}

func TestDrydocks_CreateFinishesATornRegistration(t *testing.T) {
	t.Parallel()
	// What git leaves when it is killed in the middle: it writes locked, gitdir,
	// the worktree's .git, and then HEAD and commondir.
	for name, keep := range map[string][]string{"OnlyTheLock": {"locked"}, "NoHead": {"locked", "gitdir"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := mustRepo(t, someFiles)
			y := mustStopped(t, source, "worktree")
			reg, _ := filepath.Glob(filepath.Join(source, ".git", "worktrees", "*"))
			all, err := os.ReadDir(reg[0])
			mustDo(t, err)
			for _, e := range all {
				if !strings.Contains(strings.Join(keep, " "), e.Name()) {
					mustDo(t, os.RemoveAll(filepath.Join(reg[0], e.Name())))
				}
			}
			if len(keep) == 1 {
				mustDo(t, os.RemoveAll(y.place.Root))
			}
			checkFinished(t, order{Stage: "create", Home: y.d.cfg.Home, Source: source})
		})
	}
}

func TestDrydocks_CreateRefusesOtherIntents(t *testing.T) {
	t.Parallel()
	source := mustRepo(t, someFiles)
	y := mustDock(t, source)
	ctx := context.Background()
	again, c, err := y.d.Create(ctx, drydockID(1), checkpointID(1), y.src)
	if err != nil || again != y.place || c.Commit != y.first.Commit {
		t.Errorf("the same again: %v %+v", err, again)
	}
	if _, _, err := y.d.Create(ctx, drydockID(1), checkpointID(2), y.src); fault.CodeOf(err) != fault.RecoveryRequired {
		t.Errorf("another Checkpoint: %v", err)
	}
	mustGit(t, source, "commit", "-q", "--allow-empty", "-m", "second")
	src, err := y.d.Inspect(ctx, source)
	mustDo(t, err)
	if _, _, err := y.d.Create(ctx, drydockID(1), checkpointID(1), src); fault.CodeOf(err) != fault.RecoveryRequired {
		t.Errorf("another commit: %v", err)
	}
	mustGit(t, source, "branch", "cyberagent/drydock/"+strings.ToLower(string(drydockID(2))))
	if _, _, err := y.d.Create(ctx, drydockID(2), checkpointID(1), src); fault.CodeOf(err) != fault.RecoveryRequired {
		t.Errorf("a branch of that name: %v", err)
	}
	mustGit(t, source, "branch", "-qD", "cyberagent/drydock/"+strings.ToLower(string(drydockID(2))))
	if _, _, err := y.d.Create(ctx, drydockID(2), checkpointID(1), src); err != nil {
		t.Errorf("without that branch: %v", err)
	}
	other := mustRepo(t, map[string]string{"x": "1"})
	mustGit(t, other, "branch", "cyberagent")
	src, err = y.d.Inspect(ctx, other)
	mustDo(t, err)
	if _, _, err := y.d.Create(ctx, drydockID(3), checkpointID(1), src); fault.CodeOf(err) != fault.SourceUnsupported {
		t.Errorf("a branch named cyberagent: %v", err)
	}
	src.CommonDir = "relative"
	if _, _, err := y.d.Create(ctx, drydockID(4), checkpointID(1), src); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("a relative common directory: %v", err)
	}
	if _, _, err := y.d.Create(ctx, "dry_../../x", checkpointID(1), y.src); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("an id that is none: %v", err)
	}
}

func TestDrydocks_CaptureFinishesAfterACrashAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"captured", "committed"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			y := mustDock(t, mustRepo(t, someFiles))
			mustWrite(t, y.place.Root, map[string]string{"new": "1"})
			killed(t, order{Stage: "capture", Home: y.d.cfg.Home, Place: y.place, Last: 1, Next: 2, Die: step})
			c := y.capture()
			if c.Changed != (drydock.Counts{Added: 1}) {
				t.Errorf("Changed is %+v", c.Changed)
			}
			checkSame(t, snapshot(t, y.place.Root), readBack(t, y, c.Commit))
		})
	}
}

// fullStage runs in a mount namespace of its own, with a small file system as
// the product's home.
func fullStage(ctx context.Context, d *Drydocks, o order) (answer, error) {
	if err := os.MkdirAll(o.Home, 0o700); err != nil {
		return answer{}, err
	}
	if err := unix.Mount("tmpfs", o.Home, "tmpfs", 0, "size=32m,mode=0700"); err != nil {
		return answer{}, err
	}
	src, err := d.Inspect(ctx, o.Source)
	if err != nil {
		return answer{}, err
	}
	place, _, err := d.Create(ctx, drydockID(1), checkpointID(1), src)
	if err != nil {
		return answer{}, err
	}
	random := make([]byte, 3<<20)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	if err := os.WriteFile(filepath.Join(place.Root, "new"), random, 0o644); err != nil {
		return answer{}, err
	}
	filler := filepath.Join(o.Home, "filler")
	if err := os.WriteFile(filler, make([]byte, 64<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		return answer{}, fmt.Errorf("the file system is not full: %w", err)
	}
	if _, err := d.Capture(ctx, place, checkpointID(1), checkpointID(2)); fault.CodeOf(err) != fault.DiskFull {
		return answer{}, fmt.Errorf("Capture on a full disk: %w", err)
	}
	if _, _, err := d.Drift(ctx, place, checkpointID(1), 1); err != nil {
		return answer{}, fmt.Errorf("Drift on a full disk: %w", err)
	}
	if _, _, err := d.Create(ctx, drydockID(2), checkpointID(1), src); fault.CodeOf(err) != fault.DiskFull {
		return answer{}, fmt.Errorf("Create on a full disk: %w", err)
	}
	if err := os.Remove(filler); err != nil {
		return answer{}, err
	}
	if _, _, err := d.Create(ctx, drydockID(2), checkpointID(1), src); err != nil {
		return answer{}, fmt.Errorf("Create with room again: %w", err)
	}
	c, err := d.Capture(ctx, place, checkpointID(1), checkpointID(2))
	return answer{Capture: c}, err
}

func TestDrydocks_AFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	o := order{Stage: "full", Home: filepath.Join(t.TempDir(), "home"), Source: mustRepo(t, someFiles)}
	a := runStage(t, ownMounts(t), o)
	if a.Error != "" || a.Capture.Changed != (drydock.Counts{Added: 1}) {
		t.Fatalf("%s %s %+v", a.Error, a.Message, a.Capture)
	}
}

// ownMounts is the prefix that runs a program in a mount namespace of its own.
func ownMounts(t testing.TB) []string {
	t.Helper()
	unshare, err := exec.LookPath("unshare")
	if err != nil || os.Geteuid() != 0 {
		t.Fatal("this test mounts in a namespace of its own: install util-linux, run as root")
	}
	return []string{unshare, "--mount", "--propagation", "private", "--"}
}
