package ledger

import (
	"github.com/uptrace/bun"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/run"
)

type profileRow struct {
	bun.BaseModel `bun:"table:run_profiles"`

	RunID    string `bun:"run_id"`
	Revision int64  `bun:"revision"`
	Profile  string `bun:"profile"`
	At       int64  `bun:"at_us"`
}

type permissionRow struct {
	bun.BaseModel `bun:"table:run_permissions"`

	RunID      string `bun:"run_id"`
	Revision   int64  `bun:"revision"`
	Permission string `bun:"permission"`
	At         int64  `bun:"at_us"`
}

// AddProfile appends the next revision; another one is operation_conflict.
func (r *records) AddProfile(rid id.Run, s run.ProfileSnapshot) error {
	if err := r.nextRevision("run_profiles", rid, s.Revision); err != nil {
		return err
	}
	return r.insert("add profile", &profileRow{
		RunID: string(rid), Revision: s.Revision, Profile: string(s.Profile), At: s.At.UnixMicro(),
	})
}

// AddPermission appends the next revision; another one is operation_conflict.
func (r *records) AddPermission(rid id.Run, s run.PermissionSnapshot) error {
	if err := r.nextRevision("run_permissions", rid, s.Revision); err != nil {
		return err
	}
	return r.insert("add permission", &permissionRow{
		RunID: string(rid), Revision: s.Revision, Permission: string(s.Permission), At: s.At.UnixMicro(),
	})
}

func (r *records) nextRevision(table string, rid id.Run, revision int64) error {
	var newest int64
	err := r.tx.NewSelect().TableExpr(table).ColumnExpr("coalesce(max(revision), 0)").
		Where("run_id = ?", string(rid)).Scan(r.ctx, &newest)
	if err != nil {
		return r.fault("read "+table, err)
	}
	if revision != newest+1 {
		return fault.New(fault.OperationConflict, "revision %d does not follow %d", revision, newest).
			Hint("read the run again and repeat the change")
	}
	return nil
}
