package ledger

import (
	"github.com/uptrace/bun"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
)

type logRow struct {
	bun.BaseModel `bun:"table:lifecycle_log"`

	AdmissionID string `bun:"admission_id"`
	Sequence    int64  `bun:"sequence"`
	Action      string `bun:"action"`
	Phase       string `bun:"phase"`
	Owner       string `bun:"owner"`
	Generation  int64  `bun:"generation"`
	Detail      string `bun:"detail"`
	At          int64  `bun:"at_us"`
}

// Log returns an admission's write-ahead log in order.
func (r *records) Log(aid id.Admission) ([]lifecycle.Entry, error) {
	var rows []logRow
	q := r.tx.NewSelect().Model(&rows).Where("admission_id = ?", string(aid)).OrderExpr("sequence")
	if err := r.query("read log", q); err != nil {
		return nil, err
	}
	out := make([]lifecycle.Entry, len(rows))
	for i, w := range rows {
		out[i] = lifecycle.Entry{
			Admission: id.Admission(w.AdmissionID), Sequence: w.Sequence,
			Event: lifecycle.Event{Action: lifecycle.Action(w.Action), Phase: lifecycle.Phase(w.Phase)},
			Owner: id.Owner(w.Owner), Generation: w.Generation, At: moment(&w.At),
		}
		if err := parse(w.Detail, &out[i].Detail); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Append adds one entry and sets its sequence. In this transaction, which
// excludes every other writer, it checks that owner and generation hold the
// live lease at now (lease_lost), then that the lifecycle table has the edge
// from where the log stands (operation_conflict).
func (r *records) Append(e lifecycle.Entry, now lifecycle.Boot) error {
	if beginning(e.Event) {
		if err := r.begins("append to log"); err != nil {
			return err
		}
	}
	if _, err := r.held(e.Admission, e.Owner, e.Generation, now); err != nil {
		return err
	}
	log, err := r.Log(e.Admission)
	if err != nil {
		return err
	}
	state, err := lifecycle.Replay(lifecycle.EventsOf(log))
	if err != nil {
		return fault.Wrap(fault.LedgerUnusable, err, "the log of %s does not follow the lifecycle", e.Admission).
			Hint("the ledger was changed by something else; restore it from a backup")
	}
	if _, err := state.Next(e.Event); err != nil {
		return err
	}
	detail, err := document(e.Detail)
	if err != nil {
		return err
	}
	return r.insert("append to log", &logRow{
		AdmissionID: string(e.Admission), Sequence: int64(len(log)) + 1,
		Action: string(e.Event.Action), Phase: string(e.Event.Phase),
		Owner: string(e.Owner), Generation: e.Generation, Detail: detail, At: e.At.UnixMicro(),
	})
}
