package ledger

import (
	"github.com/uptrace/bun"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/job"
)

type jobRow struct {
	bun.BaseModel `bun:"table:jobs"`

	ID            string `bun:"id"`
	RunID         string `bun:"run_id"`
	OwnerID       string `bun:"owner_id"`
	PreparationID string `bun:"preparation_id"`
	ApprovalID    string `bun:"approval_id"`
	Stdin         string `bun:"stdin"`
	OperationKey  string `bun:"operation_key"`
	Created       int64  `bun:"created_at_us"`
}

type transitionRow struct {
	bun.BaseModel `bun:"table:job_transitions"`

	JobID       string `bun:"job_id"`
	Version     int64  `bun:"version"`
	State       string `bun:"state"`
	AdmissionID string `bun:"admission_id,nullzero"`
	Reason      string `bun:"reason"`
	At          int64  `bun:"at_us"`
}

// wholeJobRow is a Job with its newest step.
type wholeJobRow struct {
	jobRow        `bun:",extend"`
	transitionRow `bun:",extend"`
}

// AddJob records a new Job with its first step.
func (r *records) AddJob(j job.Job) error {
	if err := r.begins("add job"); err != nil {
		return err
	}
	if j.State != job.Prepared || j.Version != 1 {
		return fault.New(fault.Internal, "a new Job is %s at version %d", j.State, j.Version)
	}
	if err := r.insert("add job", &jobRow{
		ID: string(j.ID), RunID: string(j.Run), OwnerID: string(j.Owner), PreparationID: string(j.Preparation),
		ApprovalID: string(j.Approval), Stdin: string(j.Stdin), OperationKey: j.OperationKey, Created: j.CreatedAt.UnixMicro(),
	}); err != nil {
		return err
	}
	return r.step(j)
}

// StepJob records the next step, after checking in this transaction that it
// follows the newest.
func (r *records) StepJob(j job.Job) error {
	old, err := r.Job(j.ID)
	if err != nil {
		return err
	}
	if old.Version != j.Version-1 {
		return fault.New(fault.OperationConflict, "%s is at version %d already", j.ID, old.Version).
			With("state", string(old.State)).Hint("read it again")
	}
	if err := old.State.Next(j.State); err != nil {
		return err
	}
	return r.step(j)
}

func (r *records) step(j job.Job) error {
	return r.insert("step job", &transitionRow{
		JobID: string(j.ID), Version: j.Version, State: string(j.State), AdmissionID: string(j.Admission),
		Reason: j.Reason, At: j.UpdatedAt.UnixMicro(),
	})
}

// newest selects Jobs with their newest step.
func (r *records) newest(rows *[]wholeJobRow) *bun.SelectQuery {
	return r.tx.NewSelect().Model(rows).ModelTableExpr("jobs AS j").
		ColumnExpr("j.*, t.version, t.state, t.admission_id, t.reason, t.at_us").
		Join("JOIN job_transitions AS t ON t.job_id = j.id").
		Where("t.version = (SELECT max(version) FROM job_transitions WHERE job_id = j.id)")
}

// Job returns one.
func (r *records) Job(jid id.Job) (job.Job, error) {
	var rows []wholeJobRow
	if err := r.query("read job", r.newest(&rows).Where("j.id = ?", string(jid))); err != nil {
		return job.Job{}, err
	}
	if len(rows) == 0 {
		return job.Job{}, notFound("Job", string(jid))
	}
	return rows[0].job(), nil
}

// ListJobs returns a Run's, the newest first.
func (r *records) ListJobs(rid id.Run, most int) ([]job.Job, error) {
	var rows []wholeJobRow
	err := r.query("list jobs", r.newest(&rows).Where("j.run_id = ?", string(rid)).OrderExpr("j.created_at_us DESC, j.id DESC").Limit(int64(most)))
	return jobsOf(rows), err
}

// OpenJobs returns those that have not ended, the oldest first.
func (r *records) OpenJobs(rid id.Run) ([]job.Job, error) {
	var rows []wholeJobRow
	q := r.newest(&rows).Where("j.id IN (SELECT job_id FROM open_jobs)")
	if rid != "" {
		q = q.Where("j.run_id = ?", string(rid))
	}
	err := r.query("list open jobs", q.OrderExpr("j.created_at_us, j.id"))
	return jobsOf(rows), err
}

func jobsOf(rows []wholeJobRow) []job.Job {
	out := make([]job.Job, len(rows))
	for i, w := range rows {
		out[i] = w.job()
	}
	return out
}

func (w wholeJobRow) job() job.Job {
	return job.Job{
		ID: id.Job(w.ID), Run: id.Run(w.RunID), Owner: id.Owner(w.OwnerID), Preparation: id.Preparation(w.PreparationID),
		Approval: id.Approval(w.ApprovalID), Stdin: isolation.Stdin(w.Stdin), OperationKey: w.OperationKey,
		CreatedAt: moment(&w.Created), State: job.State(w.State), Version: w.Version,
		Admission: id.Admission(w.AdmissionID), Reason: w.Reason, UpdatedAt: moment(&w.At),
	}
}
