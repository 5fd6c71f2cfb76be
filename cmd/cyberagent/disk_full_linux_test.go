package main_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cyberagent/app/standardcode"
	"cyberagent/domain/fault"
	"cyberagent/domain/lifecycle"
)

// smallLedger is the product with its ledger on a small filesystem of its own.
type smallLedger struct {
	*product

	disk string
	// at is the moment at which the disk is filled once, empty for none. bare takes
	// the ledger's reserve as well, and what room there is before each later entry.
	at   string
	bare bool
	full bool
}

func mustSmallLedger(t *testing.T) *smallLedger {
	t.Helper()
	l := &smallLedger{disk: t.TempDir()}
	if err := unix.Mount("tmpfs", l.disk, "tmpfs", 0, "size=24m"); err != nil {
		t.Fatalf("mounting a small disk: %v; remedy: make test needs root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(l.disk, 0); err != nil {
			t.Error(err)
		}
	})
	l.product = mustProduct(t, "CYBERAGENT_LEDGER_PATH="+filepath.Join(l.disk, "ledger.db"))
	l.StandardCode.Fail = l
	l.mustRun()
	return l
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
				in, before := l.approved("pass"), l.starts()
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
				starts := l.starts() - before
				if bare && c.before == lifecycle.StartDone && starts == 0 {
					starts = c.starts // its owner killed it before it came to its evidence
				}
				l.mustHaveEnded(in, want, starts, c.starts)
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
