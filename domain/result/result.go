// Package result decides how a command ended: one status and one reason, by the
// contract's precedence, from evidence that names who said what (contract
// section 4).
package result

import (
	"time"

	"cyberagent/domain/runnerproto"
)

// Status is the result in one word.
type Status string

// The statuses.
const (
	Succeeded Status = "succeeded"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
	TimedOut  Status = "timed_out"
)

// Reason says why. Reasons are stable: added, never renamed.
type Reason string

// The reasons, in the order of precedence.
const (
	IntegrityLost      Reason = "integrity_lost"
	IsolationMismatch  Reason = "isolation_mismatch"
	NeverStarted       Reason = "never_started"
	StartFailed        Reason = "start_failed"
	GrowthBytes        Reason = "workspace_growth_bytes"
	GrowthEntries      Reason = "workspace_growth_entries"
	GrowthUnattributed Reason = "workspace_growth_unattributed"
	Headroom           Reason = "headroom"
	AuthorityDrift     Reason = "authority_drift"
	CancelledReason    Reason = "cancelled"
	OwnerLost          Reason = "owner_lost"
	Timeout            Reason = "timeout"
	EngineLost         Reason = "engine_lost"
	RunnerFailure      Reason = "runner_failure"
	OOMKilled          Reason = "oom_killed"
	PidsLimit          Reason = "pids_limit"
	FileSize           Reason = "file_size"
	CacheFull          Reason = "cache_full"
	Signaled           Reason = "signaled"
	Exited             Reason = "exited"
)

// Reasons returns every reason in the order of precedence.
func Reasons() []Reason {
	return []Reason{
		IntegrityLost, IsolationMismatch, NeverStarted, StartFailed,
		GrowthBytes, GrowthEntries, GrowthUnattributed, Headroom,
		AuthorityDrift, CancelledReason, OwnerLost, Timeout, EngineLost, RunnerFailure,
		OOMKilled, PidsLimit, FileSize, CacheFull, Signaled, Exited,
	}
}

// Evidence is everything known about how an attempt ended.
type Evidence struct {
	// From the host.
	IntegrityLost bool   // the Drydock's control file or root is not what it was
	NotStarted    Reason // never_started, start_failed or isolation_mismatch, decided before a start
	HostStop      Reason // growth, headroom, authority_drift, cancelled, owner_lost or timeout: why the owner stopped it
	EngineLost    bool   // the engine ended it, lost it, or cannot tell
	EngineOOM     bool

	// From the runner; nil without a valid report.
	Report *runnerproto.Report
}

// Verdict is the decision. ExitCode is meaningful only when Reason is exited.
type Verdict struct {
	Status   Status
	Reason   Reason
	ExitCode *int
	Signal   string
}

// Decide applies the precedence. Without a valid report the answer is never
// succeeded and never exited.
func Decide(e Evidence) Verdict {
	held := map[Reason]bool{}
	set := func(on bool, r Reason) {
		if on {
			held[r] = true
		}
	}
	set(e.IntegrityLost, IntegrityLost)
	set(e.NotStarted != "", e.NotStarted)
	set(e.HostStop != "", e.HostStop)
	set(e.EngineLost, EngineLost)
	if e.Report == nil {
		set(true, RunnerFailure)
		set(e.EngineOOM, OOMKilled)
	} else {
		fromReport(*e.Report, e.EngineOOM, set)
	}
	for _, r := range Reasons() {
		if held[r] {
			return verdict(r, e.Report, held[CancelledReason] || held[OwnerLost])
		}
	}
	return verdict(RunnerFailure, e.Report, false)
}

func fromReport(r runnerproto.Report, engineOOM bool, set func(bool, Reason)) {
	switch r.Outcome {
	case runnerproto.OutcomeRefused:
		set(true, IsolationMismatch)
	case runnerproto.OutcomeNotStarted:
		// Too little room is the better answer than "never started".
		set(r.Stop != runnerproto.StopHeadroom, NeverStarted)
	case runnerproto.OutcomeStartFailed:
		set(true, StartFailed)
	case runnerproto.OutcomeExited, runnerproto.OutcomeSignaled:
		// Only a command that ran can have done damage to the mounts.
		set(!r.MaskIntact || !r.WorkspaceIntact, IntegrityLost)
	default:
		set(true, RunnerFailure)
	}
	switch r.Stop {
	case runnerproto.StopGrowthBytes:
		set(true, GrowthBytes)
	case runnerproto.StopGrowthEntries:
		set(true, GrowthEntries)
	case runnerproto.StopGrowthUnattributed:
		set(true, GrowthUnattributed)
	case runnerproto.StopHeadroom:
		set(true, Headroom)
	case runnerproto.StopTimeout:
		set(true, Timeout)
	case runnerproto.StopAccounting:
		set(true, RunnerFailure)
	case runnerproto.StopTerm, runnerproto.StopNone:
		// A TERM may be forged by the command: the ledger says who cancelled.
	}
	failed := r.Outcome == runnerproto.OutcomeSignaled || (r.Outcome == runnerproto.OutcomeExited && r.ExitCode != 0)
	set(failed && (r.Events.OOMKills > 0 || engineOOM), OOMKilled)
	set(failed && r.Events.PidsDenied > 0, PidsLimit)
	set(failed && r.Events.FileSizeHit, FileSize)
	set(failed && r.Events.CacheFull, CacheFull)
	set(r.Outcome == runnerproto.OutcomeSignaled, Signaled)
	set(r.Outcome == runnerproto.OutcomeExited, Exited)
}

// verdict maps the winning reason to a status. stopped says that somebody
// cancelled, which makes a command that never started a cancelled one.
func verdict(r Reason, rep *runnerproto.Report, stopped bool) Verdict {
	v := Verdict{Status: Failed, Reason: r}
	switch r {
	case CancelledReason, OwnerLost:
		v.Status = Cancelled
	case NeverStarted:
		if stopped {
			v.Status = Cancelled
		}
	case Timeout:
		v.Status = TimedOut
	case Exited:
		code := rep.ExitCode
		v.ExitCode = &code
		if code == 0 {
			v.Status = Succeeded
		}
	default: // failed, for its reason
	}
	if rep != nil {
		v.Signal = rep.Signal
	}
	return v
}

// LogReceipt is what is kept of one stream: counts and a hash over all bytes
// seen, never the bytes.
type LogReceipt struct {
	Kind      string `json:"kind"` // logs
	Stream    string `json:"stream"`
	SHA256    string `json:"sha256"`
	SizeBytes int64  `json:"size_bytes"`
	KeptBytes int64  `json:"kept_bytes"`
	Lines     int64  `json:"lines"`
	Truncated bool   `json:"truncated"`
	// Lost says that the host did not get what the runner forwarded, or that there
	// is no report to compare with.
	Lost bool `json:"lost"`
}

// Resources is what the command used. Peaks are of the whole container, the
// runner's own part among them; -1 where the kernel does not count it. Growth is
// at the end and at its highest.
type Resources struct {
	WallMillis        int64 `json:"wall_ms"`
	CPUMillis         int64 `json:"cpu_ms"`
	MaxRSSBytes       int64 `json:"max_rss_bytes"` // of the largest process
	PeakMemoryBytes   int64 `json:"peak_memory_bytes"`
	PeakPids          int64 `json:"peak_pids"`
	PeakCacheBytes    int64 `json:"peak_cache_bytes"`
	GrowthBytes       int64 `json:"growth_bytes"`
	GrowthEntries     int64 `json:"growth_entries"`
	PeakGrowthBytes   int64 `json:"peak_growth_bytes"`
	PeakGrowthEntries int64 `json:"peak_growth_entries"`
}

// Terminal is the immutable end of an admission.
type Terminal struct {
	Verdict     Verdict
	StartedAt   time.Time // zero when it never started
	CompletedAt time.Time
}
