package ledger

import (
	"github.com/uptrace/bun"

	"cyberagent/domain/approval"
	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
)

// approvalRow is the immutable proposal.
type approvalRow struct {
	bun.BaseModel `bun:"table:approvals"`

	ID            string `bun:"id"`
	PreparationID string `bun:"preparation_id"`
	RunID         string `bun:"run_id"`
	Command       string `bun:"command"`
	Stdin         string `bun:"stdin"`
	CreatedAt     int64  `bun:"created_at_us"`
	ExpiresAt     int64  `bun:"expires_at_us"`
}

// decidedApproval is a proposal with whatever happened to it.
type decidedApproval struct {
	approvalRow `bun:",extend"`

	RequestedBy    string `bun:"requested_by,scanonly"`
	RequestedAt    *int64 `bun:"requested_at_us,scanonly"`
	Decision       string `bun:"decision,scanonly"`
	Reviewer       string `bun:"reviewer,scanonly"`
	Reason         string `bun:"reason,scanonly"`
	DecidedAt      *int64 `bun:"decided_at_us,scanonly"`
	DecisionExpiry *int64 `bun:"decision_expires_at_us,scanonly"`
	RevokedAt      *int64 `bun:"revoked_at_us,scanonly"`
	ConsumedBy     string `bun:"consumed_by,scanonly"`
	ConsumedAt     *int64 `bun:"consumed_at_us,scanonly"`
}

// AddApproval records the proposal: what a carries of later decisions is not
// looked at. A preparation has one (operation_conflict).
func (r *records) AddApproval(a approval.Approval) error {
	cmd, err := document(a.Command.Wire())
	if err != nil {
		return err
	}
	return r.insert("add approval", &approvalRow{
		ID: string(a.ID), PreparationID: string(a.Preparation), RunID: string(a.Run), Command: cmd, Stdin: string(a.Stdin),
		CreatedAt: a.CreatedAt.UnixMicro(), ExpiresAt: a.ExpiresAt.UnixMicro(),
	})
}

// Approval returns one by id, with what was decided.
func (r *records) Approval(aid id.Approval) (approval.Approval, error) {
	return r.approval("approval", string(aid), "a.id = ?")
}

// ApprovalOfPreparation returns the one that a preparation has.
func (r *records) ApprovalOfPreparation(pid id.Preparation) (approval.Approval, error) {
	return r.approval("approval of preparation", string(pid), "a.preparation_id = ?")
}

func (r *records) approval(what, key, where string) (approval.Approval, error) {
	var rows []decidedApproval
	if err := r.query("read approval", r.decidedApprovals(&rows).Where(where, key)); err != nil {
		return approval.Approval{}, err
	}
	if len(rows) == 0 {
		return approval.Approval{}, notFound(what, key)
	}
	return rows[0].value()
}

// ListApprovals returns a Run's, the newest first; an empty Run means all.
func (r *records) ListApprovals(rid id.Run) ([]approval.Approval, error) {
	var rows []decidedApproval
	q := r.decidedApprovals(&rows).OrderExpr("a.created_at_us DESC, a.id DESC")
	if rid != "" {
		q = q.Where("a.run_id = ?", string(rid))
	}
	if err := r.query("list approvals", q); err != nil {
		return nil, err
	}
	out := make([]approval.Approval, len(rows))
	for i := range rows {
		var err error
		if out[i], err = rows[i].value(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *records) decidedApprovals(rows *[]decidedApproval) *bun.SelectQuery {
	return r.tx.NewSelect().Model(rows).ModelTableExpr("approvals AS a").
		ColumnExpr("a.*").
		ColumnExpr("q.requested_by, q.requested_at_us").
		ColumnExpr("d.decision, d.reviewer, d.reason, d.decided_at_us, d.expires_at_us AS decision_expires_at_us").
		ColumnExpr("v.revoked_at_us, c.admission_id AS consumed_by, c.consumed_at_us").
		Join("LEFT JOIN approval_requests AS q ON q.approval_id = a.id").
		Join("LEFT JOIN approval_decisions AS d ON d.approval_id = a.id").
		Join("LEFT JOIN approval_revocations AS v ON v.approval_id = a.id").
		Join("LEFT JOIN approval_consumptions AS c ON c.approval_id = a.id")
}

func (w decidedApproval) value() (approval.Approval, error) {
	cmd, err := command.Decode([]byte(w.Command))
	if err != nil {
		return approval.Approval{}, fault.Wrap(fault.LedgerUnusable, err, "the command of approval %s cannot be read", w.ID).
			Hint("the ledger was changed by something else; restore it from a backup")
	}
	expires := w.ExpiresAt
	if w.DecisionExpiry != nil {
		expires = *w.DecisionExpiry
	}
	return approval.Approval{
		ID: id.Approval(w.ID), Preparation: id.Preparation(w.PreparationID), Run: id.Run(w.RunID),
		Command: cmd, Stdin: isolation.Stdin(w.Stdin), CreatedAt: moment(&w.CreatedAt), ExpiresAt: moment(&expires),
		RequestedBy: w.RequestedBy, RequestedAt: moment(w.RequestedAt),
		Decision: approval.Decision(w.Decision), Reviewer: w.Reviewer, Reason: w.Reason, DecidedAt: moment(w.DecidedAt),
		RevokedAt: moment(w.RevokedAt), ConsumedBy: id.Admission(w.ConsumedBy), ConsumedAt: moment(w.ConsumedAt),
	}, nil
}
