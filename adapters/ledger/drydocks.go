package ledger

import (
	"github.com/uptrace/bun"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
)

// drydockRow is the only row that holds host paths of a Drydock.
type drydockRow struct {
	bun.BaseModel `bun:"table:drydocks"`

	ID            string `bun:"id,pk"`
	RunID         string `bun:"run_id"`
	Status        string `bun:"status"`
	Generation    int64  `bun:"generation"`
	CheckpointID  string `bun:"checkpoint_id,nullzero"`
	Source        string `bun:"source"`
	Root          string `bun:"root"`
	Shadow        string `bun:"shadow"`
	CommonDir     string `bun:"common_dir"`
	Branch        string `bun:"branch"`
	RootDev       int64  `bun:"root_dev"`
	RootInode     int64  `bun:"root_inode"`
	ControlDev    int64  `bun:"control_dev"`
	ControlInode  int64  `bun:"control_inode"`
	ControlSHA256 string `bun:"control_sha256"`
	Access        string `bun:"access"`
	Reason        string `bun:"reason"`
	CreatedAt     int64  `bun:"created_at_us"`
	UpdatedAt     int64  `bun:"updated_at_us"`
	ExpiresAt     int64  `bun:"expires_at_us"`
}

// AddDrydock records a new Drydock; its root must not be another's that is not
// cleaned (operation_conflict).
func (r *records) AddDrydock(d drydock.Drydock) error {
	if err := r.begins("add drydock"); err != nil {
		return err
	}
	row, err := drydockRowOf(d)
	if err != nil {
		return err
	}
	return r.insert("add drydock", row)
}

// Drydock returns one by id.
func (r *records) Drydock(did id.Drydock) (drydock.Drydock, error) {
	row := new(drydockRow)
	if err := r.get(row, "drydock", string(did), "id = ?", string(did)); err != nil {
		return drydock.Drydock{}, err
	}
	return row.value()
}

// DrydockOfRun returns the Run's newest that is not cleaned.
func (r *records) DrydockOfRun(rid id.Run) (drydock.Drydock, error) {
	return r.lastDrydock("drydock of run", rid, "status <> 'cleaned'", "created_at_us DESC, id DESC")
}

// CleanedDrydockOfRun returns the one of the Run that was cleaned last.
func (r *records) CleanedDrydockOfRun(rid id.Run) (drydock.Drydock, error) {
	return r.lastDrydock("cleaned drydock of run", rid, "status = 'cleaned'", "updated_at_us DESC, id DESC")
}

// lastDrydock returns the first of a Run in an order.
func (r *records) lastDrydock(what string, rid id.Run, which, order string) (drydock.Drydock, error) {
	var rows []drydockRow
	q := r.tx.NewSelect().Model(&rows).Where("run_id = ?", string(rid)).Where(which).OrderExpr(order).Limit(1)
	if err := r.query("read "+what, q); err != nil {
		return drydock.Drydock{}, err
	}
	if len(rows) == 0 {
		return drydock.Drydock{}, notFound(what, string(rid))
	}
	return rows[0].value()
}

// ListDrydocks returns all that are not cleaned, the oldest first.
func (r *records) ListDrydocks() ([]drydock.Drydock, error) {
	var rows []drydockRow
	q := r.tx.NewSelect().Model(&rows).Where("status <> 'cleaned'").OrderExpr("created_at_us, id")
	if err := r.query("list drydocks", q); err != nil {
		return nil, err
	}
	out := make([]drydock.Drydock, len(rows))
	for i := range rows {
		var err error
		if out[i], err = rows[i].value(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// UpdateDrydock writes d over exactly the generation before it; any other is
// generation_stale.
func (r *records) UpdateDrydock(d drydock.Drydock) error {
	row, err := drydockRowOf(d)
	if err != nil {
		return err
	}
	res, err := r.tx.NewUpdate().Model(row).ExcludeColumn("id", "run_id", "created_at_us").
		Where("id = ? AND generation = ?", row.ID, row.Generation-1).Exec(r.ctx)
	if err != nil {
		return r.fault("update drydock", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return r.fault("update drydock", err)
	}
	now, err := r.Drydock(d.ID)
	if err != nil {
		return err
	}
	return fault.New(fault.GenerationStale, "drydock %s is at generation %d, the change was made from %d",
		d.ID, now.Generation, d.Generation-1).At("generation").Hint("read the drydock again and repeat the change")
}

func drydockRowOf(d drydock.Drydock) (*drydockRow, error) {
	for field, s := range map[string]string{
		"root": d.Place.Root, "shadow": d.Place.Shadow, "common_dir": d.Place.CommonDir,
		"branch": d.Place.Branch, "top_level": d.Source.TopLevel, "reason": d.Reason,
	} {
		if err := storable(field, s); err != nil {
			return nil, err
		}
	}
	source, err := document(d.Source)
	if err != nil {
		return nil, err
	}
	return &drydockRow{
		ID: string(d.ID), RunID: string(d.Run), Status: string(d.Status), Generation: d.Generation,
		CheckpointID: string(d.Checkpoint), Source: source,
		Root: d.Place.Root, Shadow: d.Place.Shadow, CommonDir: d.Place.CommonDir, Branch: d.Place.Branch,
		// The same 64 bits; SQLite has signed integers only.
		RootDev: int64(d.Place.RootID.Dev), RootInode: int64(d.Place.RootID.Inode), // bit pattern
		ControlDev: int64(d.Place.ControlID.Dev), ControlInode: int64(d.Place.ControlID.Inode), // bit pattern
		ControlSHA256: d.Place.ControlSHA256, Access: string(d.Place.Access), Reason: d.Reason,
		CreatedAt: d.CreatedAt.UnixMicro(), UpdatedAt: d.UpdatedAt.UnixMicro(), ExpiresAt: d.ExpiresAt.UnixMicro(),
	}, nil
}

func (w drydockRow) value() (drydock.Drydock, error) {
	d := drydock.Drydock{
		ID: id.Drydock(w.ID), Run: id.Run(w.RunID), Status: drydock.Status(w.Status), Generation: w.Generation,
		Checkpoint: id.Checkpoint(w.CheckpointID),
		Place: drydock.Place{
			Root: w.Root, Shadow: w.Shadow, CommonDir: w.CommonDir, Branch: w.Branch,
			RootID:        isolation.FileID{Dev: uint64(w.RootDev), Inode: uint64(w.RootInode)},       // bit pattern
			ControlID:     isolation.FileID{Dev: uint64(w.ControlDev), Inode: uint64(w.ControlInode)}, // bit pattern
			ControlSHA256: w.ControlSHA256, Access: drydock.Access(w.Access),
		},
		Reason:    w.Reason,
		CreatedAt: moment(&w.CreatedAt), UpdatedAt: moment(&w.UpdatedAt), ExpiresAt: moment(&w.ExpiresAt),
	}
	return d, parse(w.Source, &d.Source)
}
