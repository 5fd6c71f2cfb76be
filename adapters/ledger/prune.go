package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/retention"
	"cyberagent/ports"
)

type pruningRow struct {
	bun.BaseModel `bun:"table:prunings"`

	RunID      string `bun:"run_id"`
	Key        string `bun:"operation_key"`
	Admissions int64  `bun:"admissions"`
	Records    int64  `bun:"records"`
	Bytes      int64  `bun:"bytes"`
	Oldest     int64  `bun:"oldest_us"`
	Newest     int64  `bun:"newest_us"`
	At         int64  `bun:"at_us"`
}

var _ ports.Retention = (*Ledger)(nil)

// Prune runs fn in one transaction of a connection of its own, without foreign
// keys: with them SQLite would look through whole tables for each row that goes.
// All references are checked at once before the commit, as after a migration.
func (l *Ledger) Prune(ctx context.Context, fn func(ports.Records) error) error {
	db, err := handle(pruneDSN(l.path), 1)
	if err != nil {
		return l.translate("prune", err)
	}
	_, err = l.transact(ctx, db, func(rec ports.Records) error {
		r, ok := rec.(*records)
		if !ok {
			return fault.New(fault.Internal, "ledger: foreign records")
		}
		r.prunes = true
		if err := fn(r); err != nil {
			return err
		}
		return r.checkReferences()
	})
	return errors.Join(err, l.translate("prune", db.Close()))
}

func (r *records) checkReferences() error {
	rows, err := r.tx.QueryContext(r.ctx, "PRAGMA foreign_key_check")
	if err != nil {
		return r.fault("check references", err)
	}
	broken := rows.Next()
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return r.fault("check references", err)
	}
	if broken {
		return fault.New(fault.OperationConflict, "what stays refers to records that would go").
			Hint("nothing was changed; report this as a fault of the product")
	}
	return nil
}

// Prune keeps the receipts, then takes away what hangs on their Runs.
func (r *records) Prune(all []retention.Receipt) error {
	if !r.prunes {
		return fault.New(fault.Internal, "ledger: pruning outside of Prune")
	}
	if len(all) == 0 {
		return nil
	}
	rows, runs, want := make([]pruningRow, len(all)), make([]id.Run, len(all)), int64(0)
	for i, p := range all {
		if err := checkKey(p.Key); err != nil {
			return err
		}
		rows[i] = pruningRow{
			RunID: string(p.Run), Key: p.Key, Admissions: p.Admissions, Records: p.Records, Bytes: p.Bytes,
			Oldest: p.Oldest.UnixMicro(), Newest: p.Newest.UnixMicro(), At: p.At.UnixMicro(),
		}
		runs[i], want = p.Run, want+p.Records
	}
	if err := r.insert("prune", &rows); err != nil {
		return err
	}
	gone, err := r.take(runs)
	if err != nil {
		return err
	}
	if gone != want {
		return fault.New(fault.OperationConflict, "%d records would go, the receipts say %d", gone, want).
			Hint("something was recorded meanwhile; look again")
	}
	return nil
}

// take deletes the rows of every table and says how many.
func (r *records) take(runs []id.Run) (gone int64, err error) {
	list, err := json.Marshal(runs)
	if err != nil {
		return 0, fault.Wrap(fault.Internal, err, "ledger: ids have no JSON")
	}
	for _, h := range hanging {
		q := fmt.Sprintf("DELETE FROM %s WHERE %s", h.table, hangs(h.key, "SELECT value FROM json_each(?)"))
		res, err := r.tx.ExecContext(r.ctx, q, string(list))
		if err != nil {
			return gone, r.fault("prune "+h.table, err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return gone, r.fault("prune "+h.table, err)
		}
		gone += n
	}
	return gone, nil
}

// Pruning returns (nil, nil) for a Run that was not pruned.
func (r *records) Pruning(rid id.Run) (*retention.Receipt, error) {
	row := new(pruningRow)
	err := r.tx.NewSelect().Model(row).Where("run_id = ?", string(rid)).Scan(r.ctx)
	if isNoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, r.fault("read pruning", err)
	}
	return &retention.Receipt{
		Run: rid, Key: row.Key, Admissions: row.Admissions, Records: row.Records, Bytes: row.Bytes,
		Oldest: moment(&row.Oldest), Newest: moment(&row.Newest), At: moment(&row.At),
	}, nil
}

// pruned refuses a Run whose records are gone.
func (r *records) pruned(rid id.Run) error {
	if rid == "" {
		return nil
	}
	p, err := r.Pruning(rid)
	if p == nil || err != nil {
		return err
	}
	return fault.New(fault.RunNotEligible, "the records of %s were pruned on %s", rid, p.At.Format("2006-01-02")).At("run").
		Hint("nothing of it is answered or done again; create another Run")
}
