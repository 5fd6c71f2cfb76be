//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/runnerproto"
)

func TestAForkBombEndsAtTheTimeLimit(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"forkbomb"}, timeout: 2 * time.Second})
	r.expect(t, r.report.Outcome, runnerproto.StopTimeout)
	if r.report.Events.PidsDenied == 0 {
		t.Errorf("the pids limit was never met: %+v", r.report.Events)
	}
	t.Logf("%s %+v %+v", r.took, r.report.Usage, r.report.Events)
}

func TestAnIgnoredTermIsFollowedByKill(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"stubborn"}, timeout: time.Second})
	r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopTimeout)
	if r.report.Signal != "SIGKILL" || r.report.Usage.WallMillis < 1500 || r.report.Usage.WallMillis > 60_000 {
		t.Errorf("%s after %d ms", r.report.Signal, r.report.Usage.WallMillis)
	}
}

func TestAnOrphanThatHoldsStdoutDoesNotOutliveTheCommand(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"orphan", "600"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	r.whole(t)
	if !strings.HasPrefix(string(r.stdout), "left ") {
		t.Errorf("%q", r.stdout)
	}
}

func TestTheCommandCannotForgeFramesOrTheReport(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"forge"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	r.whole(t)
	if r.report.ExitCode != 4 || strings.Contains(string(r.stdout), "opened") || !strings.Contains(string(r.stdout), "wrong") {
		t.Errorf("exit %d, %q", r.report.ExitCode, r.stdout)
	}
}

func TestTheCommandCannotReachTheRunner(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"peek"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	if string(r.stdout) != "done\n" {
		t.Errorf("%q", r.stdout)
	}
}

func TestNoSignalButTermTouchesTheRunner(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"signal", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "16", "17", "18", "19", "20", "21", "22", "23", "24", "25", "27", "29", "31", "34", "64"},
		{"sigqueue"},
	} {
		r := run(t, job{args: args})
		r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
		if string(r.stdout) != "alive\n" {
			t.Errorf("%s: %q", args[0], r.stdout)
		}
	}
}

func TestATermStopsTheCommandAndSaysSo(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"signal", "15"}})
	r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopTerm)
}

func TestAHostThatStopsReadingHoldsUpTheCommandOnly(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"hidewrite", "1", "loud"}, pause: 2 * time.Second})
	r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopGrowthBytes)
}

func TestAMaskThatVanishesIsReported(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"until", "go"}, timeout: time.Minute, during: func(t *testing.T, root, _ string) {
		awaitStarted(t, root)
		other := filepath.Join(root, "other")
		must(t, os.WriteFile(other, []byte("gitdir: /elsewhere\n"), 0o644))
		must(t, os.Rename(other, filepath.Join(root, ".git")))
		must(t, os.WriteFile(filepath.Join(root, "go"), nil, 0o644))
	}})
	if r.report.Outcome != runnerproto.OutcomeExited || r.report.MaskIntact || !r.report.WorkspaceIntact {
		t.Errorf("%+v", r.report)
	}
}
