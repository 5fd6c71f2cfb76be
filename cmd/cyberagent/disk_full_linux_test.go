package main_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/app/approvals"
	"cyberagent/app/drydocks"
	"cyberagent/app/runs"
	"cyberagent/app/standardcode"
	"cyberagent/cmd/cyberagent/internal/wiring"
	"cyberagent/config"
	"cyberagent/domain/admission"
	"cyberagent/domain/approval"
	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/run"
)

// smallLedger is the whole product on the real engine, with its ledger on a small
// filesystem of its own.
type smallLedger struct {
	wiring.App

	t    *testing.T
	disk string
	run  runs.View
	dry  drydocks.View
	keys int
	// at is the moment at which the disk is filled once, empty for none. bare takes
	// the ledger's reserve as well, and what room there is before each later entry.
	at   string
	bare bool
	full bool
}

func mustSmallLedger(t *testing.T) *smallLedger {
	t.Helper()
	l := &smallLedger{t: t, disk: t.TempDir()}
	if err := unix.Mount("tmpfs", l.disk, "tmpfs", 0, "size=24m"); err != nil {
		t.Fatalf("mounting a small disk: %v; remedy: make test needs root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(l.disk, 0); err != nil {
			t.Error(err)
		}
	})
	env := map[string]string{"CYBERAGENT_HOME": filepath.Join(t.TempDir(), "home"), "CYBERAGENT_LEDGER_PATH": filepath.Join(l.disk, "ledger.db")}
	for _, kv := range mustEngine(t) {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	cfg, err := config.Load(config.Input{Lookup: func(k string) (string, bool) { v, ok := env[k]; return v, ok }})
	must(t, err)
	app, stop, err := wiring.Open(t.Context(), cfg)
	must(t, err)
	t.Cleanup(stop)
	l.App = app
	l.StandardCode.Fail = l

	source := t.TempDir()
	must(t, os.WriteFile(filepath.Join(source, "README"), []byte("a source\n"), 0o600))
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = source
		must(t, cmd.Run())
	}
	l.run, err = l.Runs.Create(t.Context(), runs.CreateInput{Title: "t", Workspace: source, OperationKey: l.key()})
	must(t, err)
	_, err = l.Runs.SetProfile(t.Context(), l.run.RunID, run.ProfileDocker, l.key())
	must(t, err)
	_, err = l.Runs.SetPermission(t.Context(), l.run.RunID, run.WorkspaceAccess, l.key())
	must(t, err)
	src, err := l.Drydocks.Inspect(t.Context(), l.run.RunID)
	must(t, err)
	l.dry, err = l.Drydocks.Create(t.Context(), drydocks.CreateInput{Run: l.run.RunID, TrustDigest: src.TrustDigest, OperationKey: l.key()})
	must(t, err)
	return l
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (l *smallLedger) key() string {
	l.keys++
	return "key-" + strconv.Itoa(l.keys)
}

// Hit implements ports.FailPoints.
func (l *smallLedger) Hit(name string) {
	now := l.at != "" && name == l.at
	if now || (l.bare && l.full && strings.Contains(name, ".before.")) {
		l.fill()
	}
	l.full = l.full || now
}

// fill takes what room there is, to the last page.
func (l *smallLedger) fill() {
	f, err := os.OpenFile(filepath.Join(l.disk, "filler"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		l.t.Error(err)
		return
	}
	defer f.Close()
	if l.bare {
		_ = os.Remove(filepath.Join(l.disk, "ledger.db-reserve"))
	}
	for n := 1 << 20; n >= 4096; {
		if _, err := f.Write(make([]byte, n)); errors.Is(err, unix.ENOSPC) {
			n /= 2
		} else if err != nil {
			l.t.Error(err)
			return
		}
	}
}

// empty makes room again.
func (l *smallLedger) empty() {
	l.t.Helper()
	l.at, l.full = "", false
	if err := os.Remove(filepath.Join(l.disk, "filler")); err != nil {
		l.t.Errorf("the disk was never full: %v", err)
	}
}

// approved is a command that leaves one line, once more for each start.
func (l *smallLedger) approved() standardcode.ExecuteInput {
	l.t.Helper()
	in := standardcode.ExecuteInput{
		Request: standardcode.Request{
			Run: l.run.RunID, Generation: l.dry.Generation, Checkpoint: l.dry.CheckpointID,
			Gates: admission.Gates{PermissionControl: true, WorkspaceSandbox: true, DockerExecution: true},
			Command: command.Input{
				Toolchain: "python", Args: []string{"-c", "f=open('starts','a'); f.write('start\\n'); f.close()"}, Timeout: time.Minute, Purpose: "t",
			},
		},
		OperationKey: l.key(),
	}
	p, err := l.StandardCode.Prepare(l.t.Context(), in.Request, l.key())
	must(l.t, err)
	in.Preparation, in.Approval = p.PreparationID, p.Approval.ID
	_, err = l.Approvals.Review(l.t.Context(), approvals.ReviewInput{Preparation: in.Preparation, Decision: approval.Approve, Reviewer: "t", OperationKey: l.key()})
	must(l.t, err)
	return in
}

func (l *smallLedger) starts() int {
	l.t.Helper()
	b, err := os.ReadFile(filepath.Join(l.dry.Path, "starts"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		l.t.Fatal(err)
	}
	return strings.Count(string(b), "start\n")
}

// The ledger's disk is full from one entry of the log on. What would begin stops
// with disk_full; what has begun is cleaned up and recorded with the room that the
// ledger keeps. Where that is gone, too, the owner says so and leaves nothing
// running, and recovery ends it when there is room again.
func TestDiskFull_StartingStopsAndCleaningGoesOnAtEveryEntryOfTheLog(t *testing.T) {
	t.Parallel()
	const never, lost, succeeded = "failed/never_started", "failed/owner_lost", "succeeded/exited"
	l := mustSmallLedger(t)
	for _, c := range []struct {
		before lifecycle.Event
		// kept is how it ends with the reserve, bare how without: empty means that
		// the call is disk_full and bare the end that recovery gives.
		starts int
		kept   string
		bare   string
	}{
		{lifecycle.CreateIntent, 0, "", ""},
		{lifecycle.CreateDone, 0, never, "cancelled/never_started"},
		{lifecycle.StartIntent, 0, never, "cancelled/never_started"},
		{lifecycle.StartDone, 1, succeeded, lost},
		{lifecycle.ExitDone, 1, succeeded, lost},
		{lifecycle.RemoveIntent, 1, succeeded, succeeded},
		{lifecycle.RemoveDone, 1, succeeded, succeeded},
		{lifecycle.FinalizeDone, 1, succeeded, succeeded},
	} {
		for _, bare := range []bool{false, true} {
			name := map[bool]string{false: "with the reserve", true: "with no room at all"}[bare]
			t.Run(c.before.String()+" "+name, func(t *testing.T) {
				l.t = t
				in, before := l.approved(), l.starts()
				l.at, l.bare = standardcode.Executor.At(standardcode.Before(c.before)), bare
				r, _, err := l.StandardCode.Execute(t.Context(), in)
				l.empty()
				want := c.kept
				switch {
				case bare || c.kept == "":
					if !errors.Is(err, fault.DiskFull) || fault.From(err).Remedy == "" {
						t.Fatalf("%+v, %v", r, err)
					}
					want = c.bare
				case err != nil:
					t.Fatal(err)
				}
				v, err := l.StandardCode.Recover(t.Context(), standardcode.RecoverInput{Run: l.run.RunID})
				if err != nil || v.Open != 0 || (len(v.Items) > 0) != (bare && c.bare != "") {
					t.Errorf("recovered: %+v, %v", v, err)
				}
				l.mustHaveEnded(in, want, l.starts()-before, c.starts)
			})
		}
	}
}

// mustHaveEnded looks at the newest execution; an empty end means that nothing was
// recorded, and then the same call runs.
func (l *smallLedger) mustHaveEnded(in standardcode.ExecuteInput, end string, starts, want int) {
	l.t.Helper()
	if end == "" {
		r, _, err := l.StandardCode.Execute(l.t.Context(), in)
		if err != nil || r.Status != "succeeded" || r.Replayed {
			l.t.Errorf("when there is room, the same call: %+v, %v", r, err)
		}
		starts, want, end = starts+1, want+1, "succeeded/exited"
	}
	all, err := l.StandardCode.Status(l.t.Context(), l.run.RunID, "")
	must(l.t, err)
	x := all[0]
	if x.Preparation != in.Preparation || x.State != lifecycle.Finalized || x.Result == nil {
		l.t.Fatalf("not ended: %+v", x)
	}
	if got := string(x.Result.Status) + "/" + string(x.Result.ReasonCode); got != end || starts != want {
		l.t.Errorf("it ended %s after %d starts, right is %s after %d: %v", got, starts, end, want, x.Result.Details)
	}
	if l.dry, err = l.Drydocks.Status(l.t.Context(), l.run.RunID); err != nil || l.dry.Status != "ready" || len(l.dry.Drift) > 0 {
		l.t.Errorf("the Drydock: %+v, %v", l.dry, err)
	}
	found, err := l.StandardCode.Engine.Find(l.t.Context(), x.ExecutionID)
	if err != nil || len(found) > 0 {
		l.t.Errorf("left: %v, %v", found, err)
	}
}
