package e2e

import "time"

// The product's answers as its contract names them, written down anew: a renamed
// field fails here.

type runView struct {
	Protocol           string    `json:"protocol_version"`
	ID                 string    `json:"run_id"`
	Title              string    `json:"title"`
	Workspace          string    `json:"workspace"`
	Kind               string    `json:"kind"`
	Status             string    `json:"status"`
	Profile            string    `json:"profile"`
	ProfileRevision    int64     `json:"profile_revision"`
	Permission         string    `json:"permission"`
	PermissionRevision int64     `json:"permission_revision"`
	CreatedAt          time.Time `json:"created_at"`
	UpdatedAt          time.Time `json:"updated_at"`
	Replayed           bool      `json:"replayed"`
}

type sourceView struct {
	Protocol string `json:"protocol_version"`
	RunID    string `json:"run_id"`
	Source   struct {
		TopLevel     string `json:"top_level"`
		CommonDir    string `json:"common_dir"`
		ObjectFormat string `json:"object_format"`
		HeadCommit   string `json:"head_commit"`
		HeadBranch   string `json:"head_branch"`
		Entries      int64  `json:"entries"`
		Bytes        int64  `json:"bytes"`
		Dirty        struct {
			Modified  int      `json:"modified"`
			Untracked int      `json:"untracked"`
			Paths     []string `json:"paths"`
		} `json:"dirty"`
		Notices []string `json:"notices"`
	} `json:"source"`
	Trust string `json:"trust_digest"`
}

// repairView is what a repair left.
type repairView struct {
	Protocol    string   `json:"protocol_version"`
	RunID       string   `json:"run_id"`
	DrydockID   string   `json:"drydock_id"`
	ExecutionID string   `json:"execution_id"`
	Status      string   `json:"status"`
	Reason      string   `json:"reason"`
	Generation  int64    `json:"generation"`
	Unreadable  []string `json:"unreadable"`
	Detail      string   `json:"detail"`
	Replayed    bool     `json:"replayed"`
}

// cleanupView is a preview of a clean-up, or what became of it.
type cleanupView struct {
	Protocol     string     `json:"protocol_version"`
	RunID        string     `json:"run_id"`
	DrydockID    string     `json:"drydock_id"`
	Status       string     `json:"status"`
	Generation   int64      `json:"generation"`
	Digest       string     `json:"digest"`
	DryRun       bool       `json:"dry_run"`
	Worktree     bool       `json:"worktree"`
	Registration bool       `json:"registration"`
	Branch       bool       `json:"branch"`
	Entries      int64      `json:"entries"`
	Bytes        int64      `json:"bytes"`
	ShadowBytes  int64      `json:"checkpoint_bytes"`
	Unrecorded   string     `json:"unrecorded"`
	UnrecTotal   int        `json:"unrecorded_total"`
	Undelivered  string     `json:"undelivered_checkpoint"`
	Excluded     []excluded `json:"excluded"`
	Pending      bool       `json:"cleanup_pending"`
	Untouched    bool       `json:"untouched"`
	Kept         []doubt    `json:"kept"`
	Replayed     bool       `json:"replayed"`
}

type doubt struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

type drydockView struct {
	Protocol    string    `json:"protocol_version"`
	ID          string    `json:"drydock_id"`
	RunID       string    `json:"run_id"`
	Status      string    `json:"status"`
	Reason      string    `json:"reason"`
	Generation  int64     `json:"generation"`
	Checkpoint  string    `json:"checkpoint_id"`
	BaseCommit  string    `json:"base_commit"`
	Branch      string    `json:"branch"`
	Path        string    `json:"path"`
	Access      string    `json:"access"`
	Intact      bool      `json:"intact"`
	IntactError string    `json:"intact_error"`
	DriftTotal  int       `json:"drift_total"`
	Drift       []string  `json:"drift"`
	Running     string    `json:"running_admission"`
	Pending     string    `json:"pending"`
	Advice      string    `json:"advice"`
	Expired     bool      `json:"expired"`
	Cleaning    bool      `json:"cleanup_pending"`
	History     int64     `json:"checkpoint_bytes"`
	CleanedBy   string    `json:"cleaned_by"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	ExpiresAt   time.Time `json:"expires_at"`
	Replayed    bool      `json:"replayed"`
}

type counts struct {
	Added    int64 `json:"added"`
	Modified int64 `json:"modified"`
	Deleted  int64 `json:"deleted"`
}

type excluded struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

type checkpointView struct {
	Protocol   string     `json:"protocol_version"`
	ID         string     `json:"checkpoint_id"`
	DrydockID  string     `json:"drydock_id"`
	RunID      string     `json:"run_id"`
	Parent     string     `json:"parent_id"`
	Generation int64      `json:"generation"`
	Origin     string     `json:"origin"`
	Admission  string     `json:"admission_id"`
	Commit     string     `json:"commit"`
	Entries    int64      `json:"entries"`
	Bytes      int64      `json:"bytes"`
	Changed    counts     `json:"changed"`
	Excluded   []excluded `json:"excluded"`
	CreatedAt  time.Time  `json:"created_at"`
	Replayed   bool       `json:"replayed"`
}

type authority struct {
	Drydock            string `json:"drydock_id"`
	Generation         int64  `json:"generation"`
	Checkpoint         string `json:"checkpoint_id"`
	Binding            string `json:"binding_sha256"`
	ProfileRevision    int64  `json:"profile_revision"`
	PermissionRevision int64  `json:"permission_revision"`
	Engine             string `json:"engine"`
	ImageDigest        string `json:"image_digest"`
}

type preparationView struct {
	Protocol       string    `json:"protocol_version"`
	ID             string    `json:"preparation_id"`
	RunID          string    `json:"run_id"`
	ManifestSHA256 string    `json:"manifest_sha256"`
	CommandSHA256  string    `json:"command_sha256"`
	Authority      authority `json:"authority"`
	Approval       struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	} `json:"approval"`
	CreatedAt time.Time `json:"created_at"`
	Replayed  bool      `json:"replayed"`
}

type approvalView struct {
	Protocol    string `json:"protocol_version"`
	ID          string `json:"approval_id"`
	Preparation string `json:"preparation_id"`
	RunID       string `json:"run_id"`
	Status      string `json:"status"`
	Command     struct {
		Toolchain string   `json:"toolchain"`
		Arguments []string `json:"arguments"`
		Quoted    []string `json:"quoted"`
		Workdir   string   `json:"working_directory"`
		Timeout   int64    `json:"timeout_seconds"`
		Purpose   string   `json:"purpose"`
		Stdin     string   `json:"stdin_policy"`
	} `json:"command"`
	CommandSHA256  string     `json:"command_sha256"`
	ManifestSHA256 string     `json:"manifest_sha256"`
	Authority      authority  `json:"authority"`
	RequestedBy    string     `json:"requested_by"`
	RequestedAt    *time.Time `json:"requested_at"`
	Reviewer       string     `json:"reviewer"`
	Reason         string     `json:"reason"`
	CreatedAt      time.Time  `json:"created_at"`
	DecidedAt      *time.Time `json:"decided_at"`
	ExpiresAt      time.Time  `json:"expires_at"`
	ConsumedBy     string     `json:"consumed_by"`
	Since          *sinceView `json:"since_last_approved"`
	Replayed       bool       `json:"replayed"`
}

// sinceView is what a reviewer sees of the last approved command.
type sinceView struct {
	Approval    string `json:"approval_id"`
	Preparation string `json:"preparation_id"`
	SameCommand bool   `json:"same_command"`
	Engine      string `json:"engine"`
	ImageDigest string `json:"image_digest"`
	Checkpoint  string `json:"checkpoint_id"`
	Changed     struct {
		Added    int64 `json:"added"`
		Modified int64 `json:"modified"`
		Deleted  int64 `json:"deleted"`
	} `json:"changed"`
	Paths []struct {
		Path string `json:"path"`
		Kind string `json:"kind"`
	} `json:"paths"`
	FilesUnknown bool `json:"files_unknown"`
}

type readinessView struct {
	Protocol    string   `json:"protocol_version"`
	Backend     string   `json:"backend"`
	Engine      string   `json:"engine"`
	Status      string   `json:"status"`
	Reason      string   `json:"reason_code"`
	Remediation string   `json:"remediation_code"`
	BlockedBy   []string `json:"blocked_by"`
	Remedies    []string `json:"remediation"`
	Blockers    []struct {
		Reason      string `json:"reason_code"`
		BlockedBy   string `json:"blocked_by"`
		Remediation string `json:"remediation"`
		Detail      string `json:"detail"`
		Advice      string `json:"advice"`
	} `json:"blockers"`
	CheckedAt          time.Time `json:"checked_at"`
	ExpiresAt          time.Time `json:"expires_at"`
	CapabilityGrant    bool      `json:"capability_grant"`
	EvidenceSHA256     string    `json:"evidence_sha256"`
	RunID              string    `json:"run_id"`
	DrydockID          string    `json:"drydock_id"`
	Generation         int64     `json:"generation"`
	Checkpoint         string    `json:"checkpoint_id"`
	ProfileRevision    int64     `json:"profile_revision"`
	PermissionRevision int64     `json:"permission_revision"`
	EngineVersion      string    `json:"engine_version"`
	ImageID            string    `json:"image_id"`
}

type fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type logReceipt struct {
	Kind      string `json:"kind"`
	Stream    string `json:"stream"`
	SHA256    string `json:"sha256"`
	SizeBytes int64  `json:"size_bytes"`
	KeptBytes int64  `json:"kept_bytes"`
	Lines     int64  `json:"lines"`
	Truncated bool   `json:"truncated"`
	Lost      bool   `json:"lost"`
}

type resultView struct {
	Protocol    string     `json:"protocol_version"`
	Backend     string     `json:"backend"`
	Engine      string     `json:"engine"`
	ExecutionID string     `json:"execution_id"`
	RunID       string     `json:"run_id"`
	DrydockID   string     `json:"drydock_id"`
	Status      string     `json:"status"`
	Reason      string     `json:"reason_code"`
	Remedy      string     `json:"remediation"`
	ExitCode    *int       `json:"exit_code,omitempty"`
	Signal      string     `json:"signal"`
	Network     string     `json:"network"`
	Credentials string     `json:"credentials"`
	StartedAt   *time.Time `json:"started_at"`
	CompletedAt time.Time  `json:"completed_at"`
	Checkpoint  struct {
		DrydockID        string     `json:"drydock_id"`
		GenerationBefore int64      `json:"generation_before"`
		GenerationAfter  int64      `json:"generation_after"`
		BeforeID         string     `json:"before_id"`
		AfterID          string     `json:"after_id"`
		ReceiptID        string     `json:"receipt_id"`
		Changed          counts     `json:"changed"`
		Excluded         []excluded `json:"excluded"`
	} `json:"checkpoint"`
	Artifacts []logReceipt `json:"artifacts"`
	Resources struct {
		WallMillis    int64 `json:"wall_ms"`
		CPUMillis     int64 `json:"cpu_ms"`
		MaxRSSBytes   int64 `json:"max_rss_bytes"`
		PeakMemory    int64 `json:"peak_memory_bytes"`
		PeakPids      int64 `json:"peak_pids"`
		PeakCache     int64 `json:"peak_cache_bytes"`
		GrowthBytes   int64 `json:"growth_bytes"`
		GrowthEntries int64 `json:"growth_entries"`
		PeakBytes     int64 `json:"peak_growth_bytes"`
		PeakEntries   int64 `json:"peak_growth_entries"`
	} `json:"resources"`
	Isolation struct {
		Contract       string `json:"contract"`
		MeasuredSHA256 string `json:"measured_sha256"`
		Facts          []fact `json:"facts"`
	} `json:"isolation"`
	Details  map[string]string `json:"details"`
	Recovery bool              `json:"recovery_required"`
	Replayed bool              `json:"replayed"`
}

// ended is the end in the words that most tests look at.
func (r resultView) ended() string { return r.Status + "/" + r.Reason }

type executionView struct {
	Protocol    string `json:"protocol_version"`
	ID          string `json:"execution_id"`
	RunID       string `json:"run_id"`
	Preparation string `json:"preparation_id"`
	Approval    string `json:"approval_id"`
	State       string `json:"state"`
	OwnerLives  bool   `json:"owner_lives"`
	Cancelled   bool   `json:"cancel_requested"`
	Log         []struct {
		Sequence   int64     `json:"sequence"`
		Event      string    `json:"event"`
		Generation int64     `json:"lease_generation"`
		At         time.Time `json:"at"`
	} `json:"log"`
	CreatedAt time.Time   `json:"created_at"`
	Result    *resultView `json:"result"`
}

// starts counts the intents to start: there may never be two.
func (x executionView) starts() (n int) {
	for _, e := range x.Log {
		if e.Event == "start:intent" {
			n++
		}
	}
	return n
}

type statusView struct {
	Protocol   string          `json:"protocol_version"`
	RunID      string          `json:"run_id"`
	Executions []executionView `json:"executions"`
}

type recoveryView struct {
	Protocol string `json:"protocol_version"`
	DryRun   bool   `json:"dry_run"`
	Items    []struct {
		ExecutionID string   `json:"execution_id"`
		RunID       string   `json:"run_id"`
		State       string   `json:"state"`
		Seen        string   `json:"seen"`
		Outcome     string   `json:"outcome"`
		Why         string   `json:"why"`
		Steps       []string `json:"steps"`
		Status      string   `json:"status"`
		Reason      string   `json:"reason_code"`
	} `json:"items"`
	Open int `json:"open"`
}

type errorView struct {
	Protocol    string            `json:"protocol_version"`
	Code        string            `json:"code"`
	Field       string            `json:"field"`
	Message     string            `json:"message"`
	Remediation string            `json:"remediation"`
	Details     map[string]string `json:"details"`
}
