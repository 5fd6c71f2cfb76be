package ledger

import (
	"github.com/uptrace/bun"

	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
)

type checkpointRow struct {
	bun.BaseModel `bun:"table:checkpoints"`

	ID          string `bun:"id"`
	DrydockID   string `bun:"drydock_id"`
	RunID       string `bun:"run_id"`
	ParentID    string `bun:"parent_id,nullzero"`
	Generation  int64  `bun:"generation"`
	Origin      string `bun:"origin"`
	AdmissionID string `bun:"admission_id,nullzero"`
	ReceiptID   string `bun:"receipt_id,nullzero"`
	CommitID    string `bun:"commit_id"`
	TreeID      string `bun:"tree_id"`
	IndexSHA256 string `bun:"index_sha256"`
	Entries     int64  `bun:"entries"`
	Bytes       int64  `bun:"bytes"`
	Added       int64  `bun:"added"`
	Modified    int64  `bun:"modified"`
	Deleted     int64  `bun:"deleted"`
	Excluded    string `bun:"excluded"`
	CreatedAt   int64  `bun:"created_at_us"`
}

// AddCheckpoint records an immutable Checkpoint: one a generation of its
// Drydock and one an admission, or operation_conflict. It may come before or
// after the UpdateDrydock that names it, in the same transaction.
func (r *records) AddCheckpoint(c drydock.Checkpoint) error {
	excluded, err := document(c.Capture.Excluded)
	if err != nil {
		return err
	}
	return r.insert("add checkpoint", &checkpointRow{
		ID: string(c.ID), DrydockID: string(c.Drydock), RunID: string(c.Run), ParentID: string(c.Parent),
		Generation: c.Generation, Origin: string(c.Origin), AdmissionID: string(c.Admission), ReceiptID: string(c.Receipt),
		CommitID: c.Capture.Commit, TreeID: c.Capture.Tree, IndexSHA256: c.Capture.IndexSHA256,
		Entries: c.Capture.Entries, Bytes: c.Capture.Bytes,
		Added: c.Capture.Changed.Added, Modified: c.Capture.Changed.Modified, Deleted: c.Capture.Changed.Deleted,
		Excluded: excluded, CreatedAt: c.CreatedAt.UnixMicro(),
	})
}

// Checkpoint returns one by id.
func (r *records) Checkpoint(cid id.Checkpoint) (drydock.Checkpoint, error) {
	return r.checkpoint("checkpoint", string(cid), "id = ?")
}

// CheckpointOfAdmission returns not_found when the admission has none.
func (r *records) CheckpointOfAdmission(a id.Admission) (drydock.Checkpoint, error) {
	return r.checkpoint("checkpoint of admission", string(a), "admission_id = ?")
}

func (r *records) checkpoint(what, key, where string) (drydock.Checkpoint, error) {
	row := new(checkpointRow)
	if err := r.get(row, what, key, where, key); err != nil {
		return drydock.Checkpoint{}, err
	}
	return row.value()
}

// ListCheckpoints returns a Drydock's, the oldest first.
func (r *records) ListCheckpoints(did id.Drydock) ([]drydock.Checkpoint, error) {
	var rows []checkpointRow
	q := r.tx.NewSelect().Model(&rows).Where("drydock_id = ?", string(did)).OrderExpr("generation")
	if err := r.query("list checkpoints", q); err != nil {
		return nil, err
	}
	out := make([]drydock.Checkpoint, len(rows))
	for i := range rows {
		var err error
		if out[i], err = rows[i].value(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (w checkpointRow) value() (drydock.Checkpoint, error) {
	c := drydock.Checkpoint{
		ID: id.Checkpoint(w.ID), Drydock: id.Drydock(w.DrydockID), Run: id.Run(w.RunID), Parent: id.Checkpoint(w.ParentID),
		Generation: w.Generation, Origin: drydock.Origin(w.Origin),
		Admission: id.Admission(w.AdmissionID), Receipt: id.Receipt(w.ReceiptID),
		Capture: drydock.Capture{
			Commit: w.CommitID, Tree: w.TreeID, IndexSHA256: w.IndexSHA256, Entries: w.Entries, Bytes: w.Bytes,
			Changed: drydock.Counts{Added: w.Added, Modified: w.Modified, Deleted: w.Deleted},
		},
		CreatedAt: moment(&w.CreatedAt),
	}
	return c, parse(w.Excluded, &c.Capture.Excluded)
}
