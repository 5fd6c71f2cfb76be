package ports

import (
	"context"
	"time"

	"cyberagent/domain/approval"
	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/result"
	"cyberagent/domain/run"
)

// Ledger is the durable record. Everything that the product does is written here
// before it is done.
//
// Invariants: (1) Write runs its function in one transaction that excludes every
// other writer from its first statement; all of it is kept or nothing; (2) the
// function may run more than once (a busy database), so it changes nothing
// outside; (3) no engine, git or file call is made inside; (4) immutable records
// cannot be changed or deleted by any SQL.
//
// Errors: ledger_busy, ledger_unusable, ledger_schema_newer, disk_full; what
// Records return passes through.
type Ledger interface {
	Read(ctx context.Context, fn func(Records) error) error
	Write(ctx context.Context, fn func(Records) error) error
	// Installation is the random identity of this ledger.
	Installation() id.Installation
}

// Records is what a transaction can read and write. All getters return
// not_found, naming the id, for what is not there.
type Records interface {
	Operations
	Runs
	Drydocks
	Approvals
	Admissions
	Leases
	Jobs
	Events
	Prunings
}

// Operation is one effect that a caller asked for under a key of its own.
// Intent is the digest of everything asked for. Answer is the recorded JSON
// answer, nil while the work is under way.
type Operation struct {
	Run    id.Run // empty for verbs that have no Run yet
	Verb   string
	Key    string
	Intent string
	Answer []byte
	At     time.Time
}

// Operations make every effect happen once.
type Operations interface {
	// FindOperation returns (nil, nil) when the key is new. The same key with
	// another intent is operation_conflict. A Run whose records were pruned is
	// run_not_eligible: whether the key was used is not known any more.
	FindOperation(run id.Run, verb, key, intent string) (*Operation, error)
	// AddOperation records a new key, with its answer or without one yet.
	AddOperation(op Operation) error
	// AnswerOperation records the answer of an operation that had none. A second
	// answer is operation_conflict.
	AnswerOperation(run id.Run, verb, key string, answer []byte) error
}

// Runs keeps Code Runs with their append-only snapshots.
type Runs interface {
	AddRun(r run.Run) error
	// Run returns it with its newest snapshots.
	Run(rid id.Run) (run.Run, error)
	// ListRuns returns the newest first, most at the most.
	ListRuns(most int) ([]run.Run, error)
	SetRunStatus(rid id.Run, s run.Status, at time.Time) error
	// AddProfile and AddPermission append revision+1 of the newest; another
	// revision is operation_conflict.
	AddProfile(rid id.Run, s run.ProfileSnapshot) error
	AddPermission(rid id.Run, s run.PermissionSnapshot) error
}

// Drydocks keeps Drydocks and their immutable Checkpoints.
type Drydocks interface {
	AddDrydock(d drydock.Drydock) error
	Drydock(did id.Drydock) (drydock.Drydock, error)
	// DrydockOfRun returns the Run's newest Drydock that is not cleaned.
	DrydockOfRun(rid id.Run) (drydock.Drydock, error)
	// CleanedDrydockOfRun returns the one of the Run that was cleaned last.
	CleanedDrydockOfRun(rid id.Run) (drydock.Drydock, error)
	// ListDrydocks returns all that are not cleaned.
	ListDrydocks() ([]drydock.Drydock, error)
	// UpdateDrydock writes d over the generation that it was made from: d's
	// Generation is the old one plus one, or generation_stale. Preparing to Ready
	// keeps the rule.
	UpdateDrydock(d drydock.Drydock) error
	AddCheckpoint(c drydock.Checkpoint) error
	Checkpoint(cid id.Checkpoint) (drydock.Checkpoint, error)
	// CheckpointOfAdmission returns not_found when the admission has none.
	CheckpointOfAdmission(a id.Admission) (drydock.Checkpoint, error)
	// ListCheckpoints returns a Drydock's, the oldest first.
	ListCheckpoints(did id.Drydock) ([]drydock.Checkpoint, error)
	// AddStep appends an immutable receipt of what is done to a Drydock; ListSteps
	// returns a Drydock's, the oldest first.
	AddStep(s drydock.Step) error
	ListSteps(did id.Drydock) ([]drydock.Step, error)
}

// Approvals keeps immutable preparations and the decisions on them.
type Approvals interface {
	AddPreparation(p approval.Preparation) error
	Preparation(pid id.Preparation) (approval.Preparation, error)
	AddApproval(a approval.Approval) error
	Approval(aid id.Approval) (approval.Approval, error)
	ApprovalOfPreparation(pid id.Preparation) (approval.Approval, error)
	// ListApprovals returns a Run's, the newest first; an empty Run means all.
	ListApprovals(rid id.Run) ([]approval.Approval, error)
	// Decisions are append-only: each of these may be recorded once for an
	// approval (operation_conflict), and none changes an earlier one.
	AddRequest(a approval.Approval) error
	AddDecision(a approval.Approval) error
	AddRevocation(a approval.Approval) error
	AddConsumption(a approval.Approval) error
}

// Receipts is what a finished admission leaves: bounded facts, never bytes.
type Receipts struct {
	Terminal  lifecycle.State
	Result    []byte // standard-code-command-result.v1, canonical JSON
	Verdict   result.Verdict
	Logs      []result.LogReceipt
	StartedAt time.Time
	EndedAt   time.Time
}

// Admissions keeps admissions, their write-ahead log and their ends.
type Admissions interface {
	// AddAdmission refuses a second admission of a preparation
	// (approval_consumed).
	AddAdmission(a lifecycle.Admission) error
	Admission(aid id.Admission) (lifecycle.Admission, error)
	// AdmissionOfPreparation returns not_found when there is none.
	AdmissionOfPreparation(pid id.Preparation) (lifecycle.Admission, error)
	ListAdmissions(rid id.Run) ([]lifecycle.Admission, error)
	// OpenAdmissions returns all that are not finalized; an empty Run means all.
	OpenAdmissions(rid id.Run) ([]lifecycle.Admission, error)
	// Log returns the write-ahead log in order.
	Log(aid id.Admission) ([]lifecycle.Entry, error)
	// Append adds an entry after checking, in the same transaction, that owner and
	// generation hold the live lease at now (lease_lost) and that the lifecycle
	// table has the edge (operation_conflict). It sets the sequence.
	Append(e lifecycle.Entry, now lifecycle.Boot) error
	AddCancellation(c lifecycle.Cancellation) error
	// Cancellation returns (nil, nil) when nobody cancelled. The first one stays.
	Cancellation(aid id.Admission) (*lifecycle.Cancellation, error)
	// AddReceipts records the one end of an admission; a second is
	// operation_conflict.
	AddReceipts(aid id.Admission, r Receipts) error
	// Receipts returns not_found before the end.
	Receipts(aid id.Admission) (Receipts, error)
}

// Leases fences the owners of admissions.
type Leases interface {
	// Lease returns the newest, live or not; not_found when there was none.
	Lease(aid id.Admission) (lifecycle.Lease, error)
	// TakeLease makes the next generation for owner. It refuses (in_progress)
	// while another owner's lease is live at now, unless ownerDead says that the
	// kernel released that owner's lock.
	TakeLease(aid id.Admission, owner id.Owner, now lifecycle.Boot, ownerDead bool) (lifecycle.Lease, error)
	// RenewLease and ReleaseLease return lease_lost when owner and generation are
	// not the newest or the lease is over.
	RenewLease(l lifecycle.Lease, now lifecycle.Boot) (lifecycle.Lease, error)
	ReleaseLease(l lifecycle.Lease) error
}

// Event is one append-only line of a Run's history: words and ids, never paths,
// output, stdin or image references.
type Event struct {
	Run     id.Run
	Kind    string
	Subject string // an id
	Detail  map[string]string
	At      time.Time
}

// Events keeps each Run's history.
type Events interface {
	AddEvent(e Event) error
	// ListEvents returns a Run's, the oldest first.
	ListEvents(rid id.Run) ([]Event, error)
}
