package ledger

import (
	"github.com/uptrace/bun"

	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
)

type stepRow struct {
	bun.BaseModel `bun:"table:drydock_steps"`

	ReceiptID    string `bun:"receipt_id"`
	DrydockID    string `bun:"drydock_id"`
	RunID        string `bun:"run_id"`
	Sequence     int64  `bun:"sequence"`
	Verb         string `bun:"verb"`
	Phase        string `bun:"phase"`
	Generation   int64  `bun:"generation"`
	CheckpointID string `bun:"checkpoint_id,nullzero"`
	Key          string `bun:"operation_key"`
	Facts        string `bun:"facts"`
	At           int64  `bun:"at_us"`
}

// AddStep appends an immutable receipt to a Drydock's.
func (r *records) AddStep(s drydock.Step) error {
	facts := s.Facts
	if facts == nil {
		facts = map[string]string{}
	}
	text, err := document(facts)
	if err != nil {
		return err
	}
	n, err := r.tx.NewSelect().Model((*stepRow)(nil)).Where("drydock_id = ?", string(s.Drydock)).Count(r.ctx)
	if err != nil {
		return r.fault("count drydock steps", err)
	}
	return r.insert("add drydock step", &stepRow{
		ReceiptID: string(s.Receipt), DrydockID: string(s.Drydock), RunID: string(s.Run), Sequence: int64(n) + 1,
		Verb: string(s.Verb), Phase: string(s.Phase), Generation: s.Generation, CheckpointID: string(s.Checkpoint),
		Key: s.Key, Facts: text, At: s.At.UnixMicro(),
	})
}

// ListSteps returns a Drydock's, the oldest first.
func (r *records) ListSteps(did id.Drydock) ([]drydock.Step, error) {
	var rows []stepRow
	q := r.tx.NewSelect().Model(&rows).Where("drydock_id = ?", string(did)).OrderExpr("sequence")
	if err := r.query("list drydock steps", q); err != nil {
		return nil, err
	}
	out := make([]drydock.Step, len(rows))
	for i, w := range rows {
		out[i] = drydock.Step{
			Receipt: id.Receipt(w.ReceiptID), Drydock: id.Drydock(w.DrydockID), Run: id.Run(w.RunID),
			Verb: drydock.Verb(w.Verb), Phase: drydock.Phase(w.Phase), Generation: w.Generation,
			Checkpoint: id.Checkpoint(w.CheckpointID), Key: w.Key, At: moment(&w.At),
		}
		if err := parse(w.Facts, &out[i].Facts); err != nil {
			return nil, err
		}
	}
	return out, nil
}
