//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/limits"
	"cyberagent/domain/runnerproto"
)

func TestAFileOverTheCeilingIsNamed(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"bigfile", "17"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	if e := r.report.Events; !e.FileSizeHit || e.FileSizePath != "/workspace/big" || r.report.ExitCode != 7 {
		t.Errorf("%+v, exit %d", e, r.report.ExitCode)
	}
}

// roomy is a quota that the case at hand does not meet.
func roomy() runnerproto.Quota {
	return runnerproto.Quota{GrowthBytes: 10 * limits.GiB, GrowthEntries: 1 << 20, HeadroomBytes: 1, HeadroomInodes: 1}
}

func TestTooManyEntriesStopTheCommand(t *testing.T) {
	t.Parallel()
	for _, act := range []string{"files", "links"} {
		r := run(t, job{args: []string{act, "5000"}})
		r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopGrowthEntries)
		if r.report.Growth.Entries <= limits.GrowthEntries {
			t.Errorf("%s: %+v", act, r.report.Growth)
		}
		t.Logf("%s: %+v", act, r.report.Growth)
	}
}

func TestTooManyBytesStopTheCommand(t *testing.T) {
	t.Parallel()
	// How far a writer without a pause comes depends on when the machine lets the
	// watcher look: docs/growth.md measures that.
	r := run(t, job{args: []string{"megafiles", "64", "20"}})
	r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopGrowthBytes)
	if r.report.Growth.Bytes <= limits.GrowthBytes || r.report.Growth.Bytes > 2*limits.GrowthBytes {
		t.Errorf("%+v", r.report.Growth)
	}
	t.Logf("%+v", r.report.Growth)
}

func TestManyBusyProcessesCannotHideGrowth(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"hidewrite", "80"}})
	r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopGrowthBytes) // it never ends by itself
	t.Logf("%+v", r.report.Growth)
}

func TestGrowthWithinTheQuotaIsAllowed(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"megafiles", "14"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	if g := r.report.Growth; g.Bytes < 14*limits.MiB || g.Entries != 14 {
		t.Errorf("%+v", g)
	}
}

func TestADeletedOpenFileIsNoVisibleGrowth(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"deleted", "15"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	if r.report.Growth.Bytes > 0 || r.report.Growth.Scans < 2 {
		t.Errorf("%+v", r.report.Growth)
	}
}

func TestOpenFilesWithoutANameStopTheCommand(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"ghosts", "40"}})
	r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopGrowthUnattributed)
	if r.report.Growth.Bytes > 0 {
		t.Errorf("%+v", r.report.Growth)
	}
	t.Logf("%s %+v", r.report.Detail, r.report.Growth)
}

func TestALookAtTheStoppedCommandDisturbsNothing(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"ghosts", "4"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	if string(r.stdout) != "state T\n" || r.report.Growth.Bytes > 0 {
		t.Errorf("%q %+v", r.stdout, r.report.Growth)
	}
}

func TestWhatCannotBeCountedStopsTheCommand(t *testing.T) {
	t.Parallel()
	shut := func(t *testing.T, root string) { must(t, os.Mkdir(filepath.Join(root, "roots"), 0o700)) }
	r := run(t, job{args: []string{"until", "never"}, timeout: time.Minute, during: func(t *testing.T, root, _ string) {
		awaitStarted(t, root)
		shut(t, root) // of another user, and without access: no command can make one
	}})
	r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopAccounting)
	r = run(t, job{args: []string{"say", "x"}, owned: shut})
	r.expect(t, runnerproto.OutcomeNotStarted, runnerproto.StopAccounting)
	if !strings.Contains(r.report.Detail, "open roots: permission denied") {
		t.Errorf("%q", r.report.Detail)
	}
}

func TestTooLittleHeadroomStartsNothing(t *testing.T) {
	t.Parallel()
	q := roomy()
	q.HeadroomBytes = 1 << 52
	r := run(t, job{args: []string{"say", "x"}, quota: q})
	r.expect(t, runnerproto.OutcomeNotStarted, runnerproto.StopHeadroom)
}

func TestDeepTreesAreCounted(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"deep", "60"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	if g := r.report.Growth; g.Entries != 61 {
		t.Errorf("%+v", g)
	}
}

func TestAFullCacheIsSeen(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"fillcache"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	if !r.report.Events.CacheFull || r.report.Usage.CachePeakBytes != limits.CacheBytes || r.report.ExitCode != 6 {
		t.Errorf("%+v %+v", r.report.Events, r.report.Usage)
	}
}

func TestMemoryIsTakenFromTheCommandNotFromTheRunner(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"memory"}, within: 40 * time.Second, timeout: 30 * time.Second})
	r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopNone)
	if r.report.Signal != "SIGKILL" || r.report.Events.OOMKills < 1 {
		t.Errorf("%q %+v", r.report.Signal, r.report.Events)
	}
}
