package ledger

import (
	"reflect"
	"testing"
	"time"

	"cyberagent/domain/approval"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/result"
	"cyberagent/domain/run"
	"cyberagent/ports"
)

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s\n got %+v\nwant %+v", what, got, want)
	}
}

func TestRecordsGiveBackExactlyWhatWasRecorded(t *testing.T) {
	t.Parallel()
	l := fresh(t)
	c := chainOf(t, 1)
	proposed := c.approval
	write(t, l, c.prepared)
	same(t, "run", read(t, l, func(r ports.Records) (run.Run, error) { return r.Run(c.run.ID) }), c.run)
	same(t, "pending approval", read(t, l, func(r ports.Records) (approval.Approval, error) {
		return r.ApprovalOfPreparation(c.preparation.ID)
	}), proposed)

	requested, err := proposed.Request("bob", t0.Add(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	decided, err := requested.Review(approval.Approve, "ann", "it's fine", 0, t0.Add(3*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	write(t, l, func(r ports.Records) error { return r.AddRequest(requested) })
	write(t, l, func(r ports.Records) error { return r.AddDecision(decided) })
	c.approval = decided
	write(t, l, c.admit)
	used, err := decided.Consume(c.preparation.ID, c.admission.ID, decided.CreatedAt.Add(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	zero := 0
	end := ports.Receipts{
		Terminal: lifecycle.Finalized, Result: []byte(`{"status":"succeeded"}`),
		Verdict: result.Verdict{Status: result.Succeeded, Reason: result.Exited, ExitCode: &zero},
		Logs: []result.LogReceipt{
			{Kind: "logs", Stream: "stdout", SHA256: hex64("4"), SizeBytes: 9, KeptBytes: 9, Lines: 1, Truncated: true},
			{Kind: "logs", Stream: "stderr", SHA256: hex64("5"), Lost: true},
		},
		StartedAt: t0, EndedAt: t0.Add(time.Second),
	}
	cancel := lifecycle.Cancellation{Admission: c.admission.ID, Reason: "enough", By: "ann", At: t0}
	write(t, l, func(r ports.Records) error { return r.AddReceipts(c.admission.ID, end) })
	write(t, l, func(r ports.Records) error { return r.AddCancellation(cancel) })

	same(t, "used approval", read(t, l, func(r ports.Records) (approval.Approval, error) { return r.Approval(c.approval.ID) }), used)
	same(t, "preparation", read(t, l, func(r ports.Records) (approval.Preparation, error) { return r.Preparation(c.preparation.ID) }), c.preparation)
	same(t, "admission", read(t, l, func(r ports.Records) (lifecycle.Admission, error) { return r.AdmissionOfPreparation(c.preparation.ID) }), c.admission)
	same(t, "receipts", read(t, l, func(r ports.Records) (ports.Receipts, error) { return r.Receipts(c.admission.ID) }), end)
	same(t, "cancellation", read(t, l, func(r ports.Records) (*lifecycle.Cancellation, error) { return r.Cancellation(c.admission.ID) }), &cancel)
	d := read(t, l, func(r ports.Records) (any, error) { return r.DrydockOfRun(c.run.ID) })
	same(t, "drydock", d, c.drydock)
	ck := read(t, l, func(r ports.Records) (any, error) { return r.Checkpoint(c.checkpoint.ID) })
	same(t, "checkpoint", ck, c.checkpoint)
	if !id.Valid(id.KindInstallation, string(l.Installation())) {
		t.Errorf("installation %q", l.Installation())
	}
}
