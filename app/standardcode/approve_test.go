//go:build linux

package standardcode_test

import (
	"errors"
	"testing"
	"time"

	"cyberagent/adapters/host"
	"cyberagent/app/approvals"
	"cyberagent/domain/approval"
	"cyberagent/domain/fault"
	"cyberagent/ports"
)

// A reviewer is not asked to trust what can never run: the Drydock is gone.
func TestReview_NoApprovalOfWhatCannotBeUsed(t *testing.T) {
	t.Parallel()
	l := mustLab(t)
	request := l.approved().Request
	p, err := l.service.Prepare(t.Context(), request, l.key())
	l.must(err)
	l.must(l.ledger.Write(t.Context(), func(rec ports.Records) error {
		d, err := rec.DrydockOfRun(l.run)
		if err != nil {
			return err
		}
		return rec.UpdateDrydock(d.Clean(time.Now()))
	}))
	reviewer := &approvals.Service{Ledger: l.ledger, Clock: host.Clock{}}
	decide := func(d approval.Decision, key string) (approvals.View, error) {
		return reviewer.Review(t.Context(), approvals.ReviewInput{Preparation: p.PreparationID, Decision: d, Reviewer: "t", OperationKey: key})
	}
	if _, err := decide(approval.Approve, "approve"); !errors.Is(err, fault.DrydockNotReady) {
		t.Errorf("approved: %v", err)
	}
	if v, err := reviewer.Show(t.Context(), p.PreparationID); err != nil || v.Status != approval.Pending {
		t.Errorf("a refused approval left %s: %v", v.Status, err)
	}
	if v, err := decide(approval.Deny, "deny"); err != nil || v.Status != approval.Denied {
		t.Errorf("it cannot be denied: %v %s", err, v.Status)
	}
}
