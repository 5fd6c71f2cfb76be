package ledger

import (
	"time"

	"github.com/uptrace/bun"

	"cyberagent/domain/approval"
	"cyberagent/domain/fault"
)

// The rows that are added to a proposal, each at most once. The domain decides
// whether they may be; the schema refuses a second one, and a consumption of
// what is not approved or is revoked.
type (
	requestRow struct {
		bun.BaseModel `bun:"table:approval_requests"`

		ApprovalID  string `bun:"approval_id"`
		RequestedBy string `bun:"requested_by"`
		RequestedAt int64  `bun:"requested_at_us"`
	}
	decisionRow struct {
		bun.BaseModel `bun:"table:approval_decisions"`

		ApprovalID string `bun:"approval_id"`
		Decision   string `bun:"decision"`
		Reviewer   string `bun:"reviewer"`
		Reason     string `bun:"reason"`
		DecidedAt  int64  `bun:"decided_at_us"`
		ExpiresAt  int64  `bun:"expires_at_us"`
	}
	revocationRow struct {
		bun.BaseModel `bun:"table:approval_revocations"`

		ApprovalID string `bun:"approval_id"`
		RevokedAt  int64  `bun:"revoked_at_us"`
	}
	consumptionRow struct {
		bun.BaseModel `bun:"table:approval_consumptions"`

		ApprovalID  string `bun:"approval_id"`
		AdmissionID string `bun:"admission_id"`
		ConsumedAt  int64  `bun:"consumed_at_us"`
	}
)

// AddRequest records who asked for the review.
func (r *records) AddRequest(a approval.Approval) error {
	if err := happened("request", a, a.RequestedAt); err != nil {
		return err
	}
	return r.insert("add request", &requestRow{
		ApprovalID: string(a.ID), RequestedBy: a.RequestedBy, RequestedAt: a.RequestedAt.UnixMicro(),
	})
}

// AddDecision records the decision and until when it may be used.
func (r *records) AddDecision(a approval.Approval) error {
	if err := happened("decision", a, a.DecidedAt); err != nil {
		return err
	}
	return r.insert("add decision", &decisionRow{
		ApprovalID: string(a.ID), Decision: string(a.Decision), Reviewer: a.Reviewer, Reason: a.Reason,
		DecidedAt: a.DecidedAt.UnixMicro(), ExpiresAt: a.ExpiresAt.UnixMicro(),
	})
}

// AddRevocation records that the approval was taken back.
func (r *records) AddRevocation(a approval.Approval) error {
	if err := happened("revocation", a, a.RevokedAt); err != nil {
		return err
	}
	return r.insert("add revocation", &revocationRow{ApprovalID: string(a.ID), RevokedAt: a.RevokedAt.UnixMicro()})
}

// AddConsumption records the one admission that used it, before or after
// AddAdmission in the same transaction.
func (r *records) AddConsumption(a approval.Approval) error {
	if err := happened("consumption", a, a.ConsumedAt); err != nil {
		return err
	}
	return r.insert("add consumption", &consumptionRow{
		ApprovalID: string(a.ID), AdmissionID: string(a.ConsumedBy), ConsumedAt: a.ConsumedAt.UnixMicro(),
	})
}

// happened refuses an approval to which the thing did not happen.
func happened(what string, a approval.Approval, at time.Time) error {
	if at.IsZero() {
		return fault.New(fault.Internal, "approval %s carries no %s to record", a.ID, what)
	}
	return nil
}
