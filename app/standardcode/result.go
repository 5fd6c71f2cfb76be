package standardcode

import (
	"time"

	"cyberagent/domain/admission"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/result"
)

// ResultProtocol names the answer of execute and of everything that finishes an
// admission.
const ResultProtocol = "standard-code-command-result.v1"

// Result is the one recorded end of an admission.
type Result struct {
	Protocol    string           `json:"protocol_version"`
	Backend     string           `json:"backend"`
	Engine      isolation.Engine `json:"engine"`
	ExecutionID id.Admission     `json:"execution_id"`
	RunID       id.Run           `json:"run_id"`
	DrydockID   id.Drydock       `json:"drydock_id"`
	Status      result.Status    `json:"status"`
	ReasonCode  result.Reason    `json:"reason_code"`
	// Remediation says what to do about a command that did not succeed.
	Remediation string              `json:"remediation"`
	ExitCode    *int                `json:"exit_code,omitempty"`
	Signal      string              `json:"signal"`
	Network     string              `json:"network"`
	Credentials string              `json:"credentials"`
	StartedAt   *time.Time          `json:"started_at"`
	CompletedAt time.Time           `json:"completed_at"`
	Checkpoint  CheckpointResult    `json:"checkpoint"`
	Artifacts   []result.LogReceipt `json:"artifacts"`
	Resources   result.Resources    `json:"resources"`
	Isolation   IsolationResult     `json:"isolation"`
	// Details are evidence and sentences that no decision reads.
	Details map[string]string `json:"details"`
	// Recovery says that the Drydock needs an operator before the next command.
	Recovery bool `json:"recovery_required"`
	Replayed bool `json:"replayed"`
}

// CheckpointResult is the file result. AfterID equals BeforeID when nothing was
// started, and is empty when no Checkpoint could be made.
type CheckpointResult struct {
	DrydockID        id.Drydock         `json:"drydock_id"`
	GenerationBefore int64              `json:"generation_before"`
	GenerationAfter  int64              `json:"generation_after"`
	BeforeID         id.Checkpoint      `json:"before_id"`
	AfterID          id.Checkpoint      `json:"after_id"`
	ReceiptID        id.Receipt         `json:"receipt_id"`
	Changed          drydock.Counts     `json:"changed"`
	Excluded         []drydock.Excluded `json:"excluded"`
}

// IsolationResult is what the runner measured before the start.
type IsolationResult struct {
	Contract       string           `json:"contract"`
	MeasuredSHA256 string           `json:"measured_sha256"` // empty when nothing was measured
	Facts          []isolation.Fact `json:"facts"`
}

// blank fills what every result of an admission has.
func blank(a admissionRef, v result.Verdict, completed time.Time) Result {
	remedy := ""
	if v.Status != result.Succeeded {
		remedy = v.Reason.Remedy()
	}
	return Result{
		Protocol: ResultProtocol, Remediation: remedy, Backend: admission.Backend, Engine: a.engine, ExecutionID: a.id, RunID: a.run,
		DrydockID: a.drydock, Status: v.Status, ReasonCode: v.Reason, ExitCode: v.ExitCode, Signal: v.Signal,
		Network: "disabled", Credentials: "none", CompletedAt: completed,
		Checkpoint: CheckpointResult{
			DrydockID: a.drydock, GenerationBefore: a.generation, GenerationAfter: a.generation,
			BeforeID: a.checkpoint, AfterID: a.checkpoint, Excluded: []drydock.Excluded{},
		},
		Artifacts: []result.LogReceipt{}, Details: map[string]string{},
		Isolation: IsolationResult{Contract: isolation.Contract, Facts: []isolation.Fact{}},
	}
}

// admissionRef is what a result needs of its admission.
type admissionRef struct {
	id         id.Admission
	run        id.Run
	drydock    id.Drydock
	generation int64
	checkpoint id.Checkpoint
	engine     isolation.Engine
}

// Err turns a result that is not a success into the error class that callers
// expect; nil for succeeded. It is used for exit statuses only.
func (r Result) Err() error {
	if r.Recovery {
		return fault.New(fault.RecoveryRequired, "the Drydock needs an operator: %s", r.Details["recovery"]).
			Hint("look at `cyberagent drydock status %s`", r.RunID)
	}
	return nil
}
