package jobs

import (
	"time"

	"cyberagent/app/standardcode"
	"cyberagent/domain/approval"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/job"
	"cyberagent/domain/jobproto"
)

// Type says what a line is.
type Type string

// The types of lines.
const (
	TypeAnswer Type = "answer" // the one answer to a request
	TypeEvent  Type = "event"  // of a read that follows, before its answer
)

// Status says how a request fared.
type Status string

// The statuses.
const (
	StatusOK       Status = "ok"
	StatusApproval Status = "approval_required"
	StatusError    Status = "error"
)

// Answer is one line of output. Which parts it has depends on the action, and all
// of them are left out when there is nothing to say.
type Answer struct {
	Protocol string          `json:"protocol_version"`
	Type     Type            `json:"type"`
	Request  string          `json:"request_id"` // empty for a line that names none
	Action   jobproto.Action `json:"action"`
	Status   Status          `json:"status"`
	Replayed bool            `json:"replayed"`
	Job      *JobView        `json:"job,omitempty"`
	Jobs     *[]JobView      `json:"jobs,omitempty"`
	Output   *job.Page       `json:"output,omitempty"`
	Run      *RunView        `json:"run,omitempty"`
	Stdin    *WriteView      `json:"stdin,omitempty"`
	Approval *ApprovalView   `json:"approval,omitempty"`
	Error    *ErrorView      `json:"error,omitempty"`
}

// JobView is a Job as its supervisor sees it.
type JobView struct {
	ID          id.Job          `json:"job_id"`
	Run         id.Run          `json:"run_id"`
	State       job.State       `json:"state"`
	Version     int64           `json:"version"`
	Reason      string          `json:"reason_code"`
	Owned       bool            `json:"owned"` // by this session; only then it has output
	StdinPolicy isolation.Stdin `json:"stdin_policy"`
	Preparation id.Preparation  `json:"preparation_id"`
	Approval    id.Approval     `json:"approval_id"`
	Execution   id.Admission    `json:"execution_id"` // empty before the launch
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   time.Time       `json:"updated_at"`
	End         int64           `json:"end_cursor"`
	Base        int64           `json:"base_cursor"`
	Dropped     int64           `json:"dropped_bytes"`
	// Stdin is there for a pipe that this session owns.
	Stdin *StdinView `json:"stdin,omitempty"`
	// Result is the recorded end, of a Job that this session owned to its end.
	Result *standardcode.Result `json:"result,omitempty"`
}

// StdinView says how far the input has come.
type StdinView struct {
	Accepted int64 `json:"accepted_bytes"`
	Written  int64 `json:"written_bytes"`
	Closed   bool  `json:"closed"` // nothing more is accepted
}

// WriteView is one accepted write: where its bytes lie in the whole input, and its
// place in the order of acceptance.
type WriteView struct {
	Sequence int64 `json:"sequence"`
	From     int64 `json:"from"`
	To       int64 `json:"to"`
	Closed   bool  `json:"closed"`
}

// ApprovalView says what an operator has to decide before the launch. The same
// request with preparation_id and approval_id in its command launches then.
type ApprovalView struct {
	Index       int             `json:"command_index"`
	Preparation id.Preparation  `json:"preparation_id"`
	Approval    id.Approval     `json:"approval_id"`
	Status      approval.Status `json:"status"`
	Generation  int64           `json:"generation"`
	Checkpoint  id.Checkpoint   `json:"checkpoint_id"`
	// Type is what an operator types, in this order.
	Type []string `json:"operator_types"`
}

// RunView is the answer to run: one item a command, in order.
type RunView struct {
	Mode  job.Mode  `json:"mode"`
	Items []RunItem `json:"commands"`
}

// Outcome says what became of one command of a run.
type Outcome string

// The outcomes. Skipped are those after the one that ended the run.
const (
	OutcomeRan      Outcome = "ran"
	OutcomeApproval Outcome = "approval_required"
	OutcomeRefused  Outcome = "refused"
	OutcomeSkipped  Outcome = "skipped"
)

// RunItem is one command of a run.
type RunItem struct {
	Outcome  Outcome       `json:"outcome"`
	Replayed bool          `json:"replayed"`
	Job      *JobView      `json:"job,omitempty"`
	Output   *job.Page     `json:"output,omitempty"` // the first inline_bytes
	Approval *ApprovalView `json:"approval,omitempty"`
	Error    *ErrorView    `json:"error,omitempty"`
}

// ErrorView is an error.v1 within a line.
type ErrorView struct {
	Code        fault.Code        `json:"code"`
	Field       string            `json:"field"`
	Message     string            `json:"message"`
	Remediation string            `json:"remediation"`
	Details     map[string]string `json:"details"`
}

func errorView(err error) *ErrorView {
	e := fault.From(err)
	v := &ErrorView{Code: e.Code, Field: e.Field, Message: e.Error(), Remediation: e.Remedy, Details: e.Details}
	if v.Details == nil {
		v.Details = map[string]string{}
	}
	return v
}
