package result_test

import (
	"fmt"
	"slices"
	"testing"

	"cyberagent/domain/result"
	"cyberagent/domain/runnerproto"
)

// exited is the report of a command that ended by itself on an intact mount.
func exited(code int) *runnerproto.Report {
	return &runnerproto.Report{Outcome: runnerproto.OutcomeExited, ExitCode: code, MaskIntact: true, WorkspaceIntact: true}
}

func signaled(sig string) *runnerproto.Report {
	return &runnerproto.Report{Outcome: runnerproto.OutcomeSignaled, Signal: sig, MaskIntact: true, WorkspaceIntact: true}
}

// with changes a report.
func with(r *runnerproto.Report, change func(*runnerproto.Report)) *runnerproto.Report {
	change(r)
	return r
}

func stopped(s runnerproto.Stop) *runnerproto.Report {
	return with(signaled("terminated"), func(r *runnerproto.Report) { r.Stop = s })
}

func code(n int) *int { return &n }

func TestDecide(t *testing.T) {
	t.Parallel()
	events := func(change func(*runnerproto.KernelEvents)) func(*runnerproto.Report) {
		return func(r *runnerproto.Report) { change(&r.Events) }
	}
	oom := events(func(e *runnerproto.KernelEvents) { e.OOMKills = 1 })
	pids := events(func(e *runnerproto.KernelEvents) { e.PidsDenied = 3 })
	file := events(func(e *runnerproto.KernelEvents) { e.FileSizeHit = true })
	cache := events(func(e *runnerproto.KernelEvents) { e.CacheFull = true })
	everything := events(func(e *runnerproto.KernelEvents) {
		*e = runnerproto.KernelEvents{OOMKills: 1, PidsDenied: 1, FileSizeHit: true, CacheFull: true}
	})
	unreadable := events(func(e *runnerproto.KernelEvents) { e.OOMKills, e.PidsDenied = -1, -1 })
	outcome := func(o runnerproto.Outcome) *runnerproto.Report { return &runnerproto.Report{Outcome: o} }

	for _, c := range []struct {
		name   string
		e      result.Evidence
		status result.Status
		reason result.Reason
		exit   *int
	}{
		{"exit 0", result.Evidence{Report: exited(0)}, "succeeded", "exited", code(0)},
		{"exit 1", result.Evidence{Report: exited(1)}, "failed", "exited", code(1)},
		{"exit 137 is not an OOM", result.Evidence{Report: exited(137)}, "failed", "exited", code(137)},
		{"exit 143 is not a cancellation", result.Evidence{Report: exited(143)}, "failed", "exited", code(143)},
		{"exit 153 is not the file size", result.Evidence{Report: exited(153)}, "failed", "exited", code(153)},
		{"a signal", result.Evidence{Report: signaled("killed")}, "failed", "signaled", nil},

		{"a forged TERM is not cancelled", result.Evidence{Report: stopped(runnerproto.StopTerm)}, "failed", "signaled", nil},
		{"a forged TERM that the command survives", result.Evidence{Report: with(exited(0), func(r *runnerproto.Report) { r.Stop = runnerproto.StopTerm })}, "succeeded", "exited", code(0)},
		{"a TERM of the host by the ledger", result.Evidence{HostStop: "cancelled", Report: stopped(runnerproto.StopTerm)}, "cancelled", "cancelled", nil},

		{"no report", result.Evidence{}, "failed", "runner_failure", nil},
		{"no report, OOM by the engine", result.Evidence{EngineOOM: true}, "failed", "runner_failure", nil},
		{"no report, engine lost", result.Evidence{EngineLost: true}, "failed", "engine_lost", nil},
		{"no report, never started", result.Evidence{NotStarted: "never_started"}, "failed", "never_started", nil},
		{"no report, start failed", result.Evidence{NotStarted: "start_failed"}, "failed", "start_failed", nil},
		{"no report, isolation differs at read-back", result.Evidence{NotStarted: "isolation_mismatch"}, "failed", "isolation_mismatch", nil},
		{"no report, cancelled before the start", result.Evidence{NotStarted: "never_started", HostStop: "cancelled"}, "cancelled", "never_started", nil},
		{"no report, owner gone before the start", result.Evidence{NotStarted: "never_started", HostStop: "owner_lost"}, "cancelled", "never_started", nil},
		{"no report, drift before the start", result.Evidence{NotStarted: "never_started", HostStop: "authority_drift"}, "failed", "never_started", nil},
		{"no report, cancelled", result.Evidence{HostStop: "cancelled"}, "cancelled", "cancelled", nil},
		{"no report, timeout of the host", result.Evidence{HostStop: "timeout"}, "timed_out", "timeout", nil},
		{"no report, owner lost", result.Evidence{HostStop: "owner_lost"}, "cancelled", "owner_lost", nil},
		{"no report, authority drift", result.Evidence{HostStop: "authority_drift"}, "failed", "authority_drift", nil},
		{"no report, unattributed growth", result.Evidence{HostStop: "workspace_growth_unattributed"}, "failed", "workspace_growth_unattributed", nil},
		{"no report, the Drydock's .git changed", result.Evidence{IntegrityLost: true}, "failed", "integrity_lost", nil},

		{"refused by the runner", result.Evidence{Report: outcome(runnerproto.OutcomeRefused)}, "failed", "isolation_mismatch", nil},
		{"not started by the runner", result.Evidence{Report: outcome(runnerproto.OutcomeNotStarted)}, "failed", "never_started", nil},
		{"cancelled while the runner prepared", result.Evidence{HostStop: "cancelled", Report: outcome(runnerproto.OutcomeNotStarted)}, "cancelled", "never_started", nil},
		{"too little room before the start", result.Evidence{Report: with(outcome(runnerproto.OutcomeNotStarted), func(r *runnerproto.Report) { r.Stop = runnerproto.StopHeadroom })}, "failed", "headroom", nil},
		{"the kernel refused the tool", result.Evidence{Report: outcome(runnerproto.OutcomeStartFailed)}, "failed", "start_failed", nil},
		{"a repair's report for a command", result.Evidence{Report: outcome(runnerproto.OutcomeRepaired)}, "failed", "runner_failure", nil},
		{"an unknown outcome", result.Evidence{Report: outcome("done")}, "failed", "runner_failure", nil},
		{"an empty report", result.Evidence{Report: &runnerproto.Report{}}, "failed", "runner_failure", nil},

		{"the mask vanished", result.Evidence{Report: with(exited(0), func(r *runnerproto.Report) { r.MaskIntact = false })}, "failed", "integrity_lost", nil},
		{"the workspace vanished", result.Evidence{Report: with(signaled("killed"), func(r *runnerproto.Report) { r.WorkspaceIntact = false })}, "failed", "integrity_lost", nil},

		{"growth in bytes", result.Evidence{Report: stopped(runnerproto.StopGrowthBytes)}, "failed", "workspace_growth_bytes", nil},
		{"growth in entries", result.Evidence{Report: stopped(runnerproto.StopGrowthEntries)}, "failed", "workspace_growth_entries", nil},
		{"growth without a name", result.Evidence{Report: stopped(runnerproto.StopGrowthUnattributed)}, "failed", "workspace_growth_unattributed", nil},
		{"growth although it exited 0", result.Evidence{Report: with(exited(0), func(r *runnerproto.Report) { r.Stop = runnerproto.StopGrowthBytes })}, "failed", "workspace_growth_bytes", nil},
		{"headroom while running", result.Evidence{Report: stopped(runnerproto.StopHeadroom)}, "failed", "headroom", nil},
		{"timeout of the runner", result.Evidence{Report: stopped(runnerproto.StopTimeout)}, "timed_out", "timeout", nil},
		{"timeout although it exited 0 in its grace", result.Evidence{Report: with(exited(0), func(r *runnerproto.Report) { r.Stop = runnerproto.StopTimeout })}, "timed_out", "timeout", nil},
		{"accounting failed", result.Evidence{Report: stopped(runnerproto.StopAccounting)}, "failed", "runner_failure", nil},
		{"accounting failed although it exited 0", result.Evidence{Report: with(exited(0), func(r *runnerproto.Report) { r.Stop = runnerproto.StopAccounting })}, "failed", "runner_failure", nil},

		{"OOM and a failure", result.Evidence{Report: with(exited(1), oom)}, "failed", "oom_killed", nil},
		{"OOM of a child and exit 0", result.Evidence{Report: with(exited(0), oom)}, "succeeded", "exited", code(0)},
		{"OOM by the engine and a signal", result.Evidence{EngineOOM: true, Report: signaled("killed")}, "failed", "oom_killed", nil},
		{"OOM by the engine and exit 0", result.Evidence{EngineOOM: true, Report: exited(0)}, "succeeded", "exited", code(0)},
		{"pids limit and a failure", result.Evidence{Report: with(exited(2), pids)}, "failed", "pids_limit", nil},
		{"pids limit and exit 0", result.Evidence{Report: with(exited(0), pids)}, "succeeded", "exited", code(0)},
		{"file size and a signal", result.Evidence{Report: with(signaled("file size limit exceeded"), file)}, "failed", "file_size", nil},
		{"file size and exit 0", result.Evidence{Report: with(exited(0), file)}, "succeeded", "exited", code(0)},
		{"cache full and a failure", result.Evidence{Report: with(exited(1), cache)}, "failed", "cache_full", nil},
		{"cache full and exit 0", result.Evidence{Report: with(exited(0), cache)}, "succeeded", "exited", code(0)},
		{"everything and exit 0", result.Evidence{EngineOOM: true, Report: with(exited(0), everything)}, "succeeded", "exited", code(0)},
		{"counters that cannot be read", result.Evidence{Report: with(exited(1), unreadable)}, "failed", "exited", code(1)},

		{"engine lost although a report says exit 0", result.Evidence{EngineLost: true, Report: exited(0)}, "failed", "engine_lost", nil},
		{"cancelled although a report says exit 0", result.Evidence{HostStop: "cancelled", Report: exited(0)}, "cancelled", "cancelled", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := result.Decide(c.e)
			if got.Status != c.status || got.Reason != c.reason {
				t.Errorf("got %s/%s, want %s/%s", got.Status, got.Reason, c.status, c.reason)
			}
			if (got.ExitCode == nil) != (c.exit == nil) || (c.exit != nil && *got.ExitCode != *c.exit) {
				t.Errorf("exit code %v, want %v", got.ExitCode, c.exit)
			}
		})
	}
}

// precedence is contract section 4, written out by hand.
var precedence = []result.Reason{
	"integrity_lost",
	"isolation_mismatch", "never_started", "start_failed",
	"workspace_growth_bytes", "workspace_growth_entries", "workspace_growth_unattributed", "headroom",
	"authority_drift", "cancelled", "owner_lost",
	"timeout",
	"engine_lost", "runner_failure",
	"oom_killed", "pids_limit", "file_size", "cache_full",
	"signaled",
	"exited",
}

func TestReasonsAreTheContracts(t *testing.T) {
	t.Parallel()
	if got := result.Reasons(); !slices.Equal(got, precedence) {
		t.Errorf("got  %q\nwant %q", got, precedence)
	}
}

// add makes the evidence of one reason hold beside what holds already.
var add = map[result.Reason]func(*result.Evidence){
	"integrity_lost":                func(e *result.Evidence) { e.IntegrityLost = true },
	"isolation_mismatch":            func(e *result.Evidence) { e.NotStarted = "isolation_mismatch" },
	"never_started":                 func(e *result.Evidence) { e.NotStarted = "never_started" },
	"start_failed":                  func(e *result.Evidence) { e.NotStarted = "start_failed" },
	"workspace_growth_bytes":        func(e *result.Evidence) { e.Report.Stop = runnerproto.StopGrowthBytes },
	"workspace_growth_entries":      func(e *result.Evidence) { e.Report.Stop = runnerproto.StopGrowthEntries },
	"workspace_growth_unattributed": func(e *result.Evidence) { e.HostStop = "workspace_growth_unattributed" },
	"headroom":                      func(e *result.Evidence) { e.Report.Stop = runnerproto.StopHeadroom },
	"authority_drift":               func(e *result.Evidence) { e.HostStop = "authority_drift" },
	"cancelled":                     func(e *result.Evidence) { e.HostStop = "cancelled" },
	"owner_lost":                    func(e *result.Evidence) { e.HostStop = "owner_lost" },
	"timeout":                       func(e *result.Evidence) { e.Report.Stop = runnerproto.StopTimeout },
	"engine_lost":                   func(e *result.Evidence) { e.EngineLost = true },
	"runner_failure":                func(e *result.Evidence) { e.Report.Stop = runnerproto.StopAccounting },
	"oom_killed":                    func(e *result.Evidence) { e.Report.Events.OOMKills = 1 },
	"pids_limit":                    func(e *result.Evidence) { e.Report.Events.PidsDenied = 1 },
	"file_size":                     func(e *result.Evidence) { e.Report.Events.FileSizeHit = true },
	"cache_full":                    func(e *result.Evidence) { e.Report.Events.CacheFull = true },
	"signaled":                      func(e *result.Evidence) { e.Report.Outcome = runnerproto.OutcomeSignaled },
	"exited":                        func(*result.Evidence) {},
}

// slot says which field of the evidence carries a reason; two reasons of one
// field cannot hold together.
var slot = map[result.Reason]string{
	"isolation_mismatch": "not started", "never_started": "not started", "start_failed": "not started",
	"workspace_growth_bytes": "runner's stop", "workspace_growth_entries": "runner's stop", "headroom": "runner's stop",
	"timeout": "runner's stop", "runner_failure": "runner's stop",
	"workspace_growth_unattributed": "host's stop", "authority_drift": "host's stop", "cancelled": "host's stop", "owner_lost": "host's stop",
	"signaled": "outcome", "exited": "outcome",
}

func TestTheFirstOfTwoReasonsWinsForEveryPair(t *testing.T) {
	t.Parallel()
	pairs := 0
	for i, first := range precedence {
		for _, second := range precedence[i:] {
			if first != second && slot[first] != "" && slot[first] == slot[second] {
				continue
			}
			pairs++
			e := result.Evidence{Report: exited(1)}
			add[second](&e)
			add[first](&e)
			if got := result.Decide(e).Reason; got != first {
				t.Errorf("%s and %s: got %s", first, second, got)
			}
		}
	}
	if pairs < 180 {
		t.Errorf("only %d pairs were tried", pairs)
	}
}

func TestEveryReasonWinsOverAllThatFollowIt(t *testing.T) {
	t.Parallel()
	for i, first := range precedence {
		e := result.Evidence{Report: exited(1)}
		for _, r := range slices.Backward(precedence[i:]) {
			add[r](&e)
		}
		if got := result.Decide(e).Reason; got != first {
			t.Errorf("%s and all after it: got %s", first, got)
		}
	}
}

// TestWithoutAReportNothingSucceeded goes through everything that a host can
// know without one.
func TestWithoutAReportNothingSucceeded(t *testing.T) {
	t.Parallel()
	reasons := append([]result.Reason{"", "made_up"}, precedence...)
	for _, notStarted := range reasons {
		for _, hostStop := range reasons {
			for bits := range 8 {
				e := result.Evidence{
					NotStarted: notStarted, HostStop: hostStop,
					IntegrityLost: bits&1 != 0, EngineLost: bits&2 != 0, EngineOOM: bits&4 != 0,
				}
				got := result.Decide(e)
				if got.Status == result.Succeeded || got.Reason == result.Exited || got.ExitCode != nil {
					t.Fatalf("%+v: got %+v", e, got)
				}
			}
		}
	}
}

// TestInvariantsOfAllReports goes through every outcome, stop and flag.
func TestInvariantsOfAllReports(t *testing.T) {
	t.Parallel()
	seen := map[result.Reason]bool{}
	n := 0
	for _, outcome := range []runnerproto.Outcome{"isolation_mismatch", "not_started", "start_failed", "exited", "signaled", "repaired", "x"} {
		for _, stop := range []runnerproto.Stop{"", "timeout", "term", "workspace_growth_bytes", "workspace_growth_entries", "workspace_growth_unattributed", "headroom", "accounting_failed", "x"} {
			for _, hostStop := range []result.Reason{"", "cancelled", "owner_lost", "authority_drift", "timeout", "workspace_growth_unattributed", "headroom"} {
				for bits := range 1 << 9 {
					on := func(i int) bool { return bits&(1<<i) != 0 }
					r := runnerproto.Report{
						Outcome: outcome, Stop: stop, MaskIntact: !on(0), WorkspaceIntact: !on(1),
						Events: runnerproto.KernelEvents{FileSizeHit: on(2), CacheFull: on(3)},
					}
					if on(4) {
						r.ExitCode = 7
					}
					if on(5) {
						r.Events.OOMKills = 1
					}
					if on(6) {
						r.Events.PidsDenied = 1
					}
					e := result.Evidence{HostStop: hostStop, EngineOOM: on(7), EngineLost: on(8), Report: &r}
					got := result.Decide(e)
					n++
					seen[got.Reason] = true
					if problem := problem(e, got); problem != "" {
						t.Fatalf("%s: %+v with %+v: got %+v", problem, e, r, got)
					}
				}
			}
		}
	}
	for _, r := range []result.Reason{
		"integrity_lost", "isolation_mismatch", "never_started", "start_failed", "workspace_growth_bytes", "workspace_growth_entries",
		"workspace_growth_unattributed", "headroom", "authority_drift", "cancelled", "owner_lost", "timeout", "engine_lost",
		"runner_failure", "oom_killed", "pids_limit", "file_size", "cache_full", "signaled", "exited",
	} {
		if !seen[r] {
			t.Errorf("%s was never the reason in %d cases", r, n)
		}
	}
}

func problem(e result.Evidence, got result.Verdict) string {
	clean := e.Report.Outcome == "exited" && e.Report.ExitCode == 0 && e.Report.MaskIntact && e.Report.WorkspaceIntact
	switch {
	case got.Status == "succeeded" && (!clean || e.EngineLost || e.HostStop != ""):
		return "succeeded against the evidence"
	case got.Status == "succeeded" && got.Reason != "exited":
		return "succeeded for another reason than exited"
	case (got.ExitCode != nil) != (got.Reason == "exited"):
		return "an exit code without exited, or exited without one"
	case got.Status == "cancelled" && e.HostStop != "cancelled" && e.HostStop != "owner_lost":
		return "cancelled although nobody cancelled"
	case got.Status == "timed_out" && e.HostStop != "timeout" && e.Report.Stop != "timeout":
		return "timed out although nobody timed it out"
	case (got.Status == "timed_out") != (got.Reason == "timeout"):
		return "timed out and timeout are not the same"
	case !slices.Contains(precedence, got.Reason):
		return fmt.Sprintf("unknown reason %q", got.Reason)
	}
	return ""
}

func TestTheSignalIsReported(t *testing.T) {
	t.Parallel()
	if got := result.Decide(result.Evidence{Report: signaled("segmentation fault")}); got.Signal != "segmentation fault" {
		t.Errorf("got %+v", got)
	}
}

func TestTheReportsExitCodeIsNotShared(t *testing.T) {
	t.Parallel()
	r := exited(3)
	got := result.Decide(result.Evidence{Report: r})
	r.ExitCode = 0
	if *got.ExitCode != 3 {
		t.Error("the verdict changed with the report")
	}
}
