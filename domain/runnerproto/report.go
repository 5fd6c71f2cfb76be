package runnerproto

import (
	"bytes"

	"cyberagent/domain/canon"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
)

// Outcome says how far the runner came with the command.
type Outcome string

// The outcomes.
const (
	// OutcomeRefused: the isolation is not the contract's; nothing was started.
	OutcomeRefused Outcome = "isolation_mismatch"
	// OutcomeNotStarted: something else failed before the start (Detail says what).
	OutcomeNotStarted Outcome = "not_started"
	// OutcomeStartFailed: the kernel refused to start the tool.
	OutcomeStartFailed Outcome = "start_failed"
	// OutcomeExited: the command ended by itself with ExitCode.
	OutcomeExited Outcome = "exited"
	// OutcomeSignaled: the command ended by Signal.
	OutcomeSignaled Outcome = "signaled"
	// OutcomeRepaired: repair mode ended.
	OutcomeRepaired Outcome = "repaired"
)

// Stop says why the runner ended the command, if it did.
type Stop string

// The causes, empty when the runner did not end the command.
const (
	StopNone          Stop = ""
	StopTimeout       Stop = "timeout"
	StopTerm          Stop = "term" // TERM reached PID 1: the host's, or a forged one
	StopGrowthBytes   Stop = "workspace_growth_bytes"
	StopGrowthEntries Stop = "workspace_growth_entries"
	// StopGrowthUnattributed: the command held open files without a name that took
	// more than the limit.
	StopGrowthUnattributed Stop = "workspace_growth_unattributed"
	StopHeadroom           Stop = "headroom"
	StopAccounting         Stop = "accounting_failed" // a scan failed: fail closed
)

// Report is the runner's one line: what happened and what was measured. Sizes
// are bytes, times milliseconds of the runner's monotonic clock.
type Report struct {
	Protocol       string  `json:"protocol_version"`
	Admission      string  `json:"admission_id"`
	ManifestSHA256 string  `json:"manifest_sha256"`
	Outcome        Outcome `json:"outcome"`
	Stop           Stop    `json:"stop"`
	ExitCode       int     `json:"exit_code"`
	Signal         string  `json:"signal"`
	Detail         string  `json:"detail"`

	Facts      []isolation.Fact       `json:"facts"`
	Mismatches []isolation.Difference `json:"mismatches"`
	// MaskIntact and WorkspaceIntact are the measurement at the end.
	MaskIntact      bool `json:"mask_intact"`
	WorkspaceIntact bool `json:"workspace_intact"`

	Streams []StreamReport `json:"streams"`
	Growth  Growth         `json:"growth"`
	Usage   Usage          `json:"usage"`
	Events  KernelEvents   `json:"kernel_events"`
	// Unreadable names up to 20 entries of the workspace that could not be read
	// even after access was restored.
	Unreadable []string `json:"unreadable"`
}

// StreamReport is what one of the command's streams carried, all bytes seen.
type StreamReport struct {
	Stream string `json:"stream"`
	Bytes  int64  `json:"bytes"`
	Lines  int64  `json:"lines"`
	SHA256 string `json:"sha256"`
	// Forwarded is how many of the bytes went into frames.
	Forwarded int64 `json:"forwarded"`
}

// Growth is the workspace's growth over its baseline at the end and at its
// highest, and the baseline itself.
type Growth struct {
	BaseBytes   int64 `json:"base_bytes"`
	BaseEntries int64 `json:"base_entries"`
	Bytes       int64 `json:"bytes"`
	Entries     int64 `json:"entries"`
	PeakBytes   int64 `json:"peak_bytes"`
	PeakEntries int64 `json:"peak_entries"`
	Scans       int64 `json:"scans"`
	// MaxGapMillis is the longest time between two looks at the free space: how
	// long something could grow unseen.
	MaxGapMillis int64 `json:"max_gap_ms"`
}

// Usage is what the command and everything it left behind used.
type Usage struct {
	SetupMillis     int64 `json:"setup_ms"` // runner start to command start
	WallMillis      int64 `json:"wall_ms"`
	CPUMillis       int64 `json:"cpu_ms"`
	MaxRSSBytes     int64 `json:"max_rss_bytes"`
	PeakMemoryBytes int64 `json:"peak_memory_bytes"`
	PeakPids        int64 `json:"peak_pids"`
	CachePeakBytes  int64 `json:"cache_peak_bytes"`
}

// KernelEvents are counters that the kernel keeps for the container and what
// the runner saw itself. -1 means that it cannot be read here.
type KernelEvents struct {
	OOMKills     int64  `json:"oom_kills"`
	PidsDenied   int64  `json:"pids_denied"`
	FileSizeHit  bool   `json:"file_size_hit"` // SIGXFSZ ended the command, or a file stands at the ceiling
	CacheFull    bool   `json:"cache_full"`    // the cache was seen without free space or inodes
	FileSizePath string `json:"file_size_path"`
}

// DecodeReport reads the runner's stderr: exactly one line, strictly. Anything
// else is runner_failure: without a valid report nothing is known.
func DecodeReport(data []byte, admission, manifestSHA256 string) (Report, error) {
	bad := func(cause error, format string, a ...any) (Report, error) {
		return Report{}, fault.Wrap(fault.RunnerFailure, cause, format, a...)
	}
	if int64(len(data)) > limits.RunnerReportBytes {
		return bad(nil, "the report has over %d bytes", limits.RunnerReportBytes)
	}
	line, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok || len(rest) != 0 {
		return bad(nil, "not exactly one line of report")
	}
	var r Report
	if err := canon.Strict(line, &r); err != nil {
		return bad(err, "unreadable report")
	}
	switch {
	case r.Protocol != Protocol:
		return bad(nil, "report of protocol %q", r.Protocol)
	case r.Admission != admission || r.ManifestSHA256 != manifestSHA256:
		return bad(nil, "report of another admission")
	}
	switch r.Outcome {
	case OutcomeRefused, OutcomeNotStarted, OutcomeStartFailed, OutcomeExited, OutcomeSignaled, OutcomeRepaired:
	default:
		return bad(nil, "outcome %q", r.Outcome)
	}
	return r, nil
}
