package ledger

import (
	"time"

	"github.com/uptrace/bun"

	"cyberagent/domain/id"
	"cyberagent/domain/run"
)

type runRow struct {
	bun.BaseModel `bun:"table:runs"`

	ID        string `bun:"id"`
	Title     string `bun:"title"`
	Workspace string `bun:"workspace"`
	Kind      string `bun:"kind"`
	Status    string `bun:"status"`
	CreatedAt int64  `bun:"created_at_us"`
	UpdatedAt int64  `bun:"updated_at_us"`
}

// currentRun is a Run with its newest snapshots.
type currentRun struct {
	runRow `bun:",extend"`

	ProfileRevision    int64  `bun:"profile_revision,scanonly"`
	Profile            string `bun:"profile,scanonly"`
	ProfileAt          int64  `bun:"profile_at_us,scanonly"`
	PermissionRevision int64  `bun:"permission_revision,scanonly"`
	Permission         string `bun:"permission,scanonly"`
	PermissionAt       int64  `bun:"permission_at_us,scanonly"`
}

// AddRun records a new Run with its first snapshots.
func (r *records) AddRun(v run.Run) error {
	if err := r.begins("add run"); err != nil {
		return err
	}
	if err := storable("workspace", v.Workspace); err != nil {
		return err
	}
	err := r.insert("add run", &runRow{
		ID: string(v.ID), Title: v.Title, Workspace: v.Workspace, Kind: string(v.Kind), Status: string(v.Status),
		CreatedAt: v.CreatedAt.UnixMicro(), UpdatedAt: v.UpdatedAt.UnixMicro(),
	})
	if err != nil {
		return err
	}
	if err := r.AddProfile(v.ID, v.Profile); err != nil {
		return err
	}
	return r.AddPermission(v.ID, v.Permission)
}

// Run returns a Run with its newest snapshots.
func (r *records) Run(rid id.Run) (run.Run, error) {
	var rows []currentRun
	if err := r.query("read run", selectCurrentRuns(r.tx, &rows).Where("r.id = ?", string(rid))); err != nil {
		return run.Run{}, err
	}
	if len(rows) == 0 {
		return run.Run{}, notFound("run", string(rid))
	}
	return rows[0].value(), nil
}

// ListRuns returns the newest first; most below 1 means none.
func (r *records) ListRuns(most int) ([]run.Run, error) {
	if most < 1 {
		return nil, nil
	}
	var rows []currentRun
	q := selectCurrentRuns(r.tx, &rows).OrderExpr(newestFirst).Limit(int64(most))
	if err := r.query("list runs", q); err != nil {
		return nil, err
	}
	out := make([]run.Run, len(rows))
	for i := range rows {
		out[i] = rows[i].value()
	}
	return out, nil
}

// SetRunStatus follows the Run's own rules: closed is final (run_not_eligible).
func (r *records) SetRunStatus(rid id.Run, s run.Status, at time.Time) error {
	v, err := r.Run(rid)
	if err != nil {
		return err
	}
	next, err := v.Transition(s, at)
	if err != nil || next == v {
		return err
	}
	_, err = r.tx.NewUpdate().Model((*runRow)(nil)).
		Set("status = ?, updated_at_us = ?", string(next.Status), next.UpdatedAt.UnixMicro()).
		Where("id = ?", string(rid)).Exec(r.ctx)
	return r.fault("set run status", err)
}

// newestFirst is the order of the index runs_by_age.
const newestFirst = "r.created_at_us DESC, r.id DESC"

func selectCurrentRuns(db bun.IDB, rows *[]currentRun) *bun.SelectQuery {
	return db.NewSelect().Model(rows).ModelTableExpr("runs AS r").
		ColumnExpr("r.*").
		ColumnExpr("p.revision AS profile_revision, p.profile AS profile, p.at_us AS profile_at_us").
		ColumnExpr("m.revision AS permission_revision, m.permission AS permission, m.at_us AS permission_at_us").
		Join("JOIN run_profiles AS p ON p.run_id = r.id AND p.revision = (SELECT max(revision) FROM run_profiles WHERE run_id = r.id)").
		Join("JOIN run_permissions AS m ON m.run_id = r.id AND m.revision = (SELECT max(revision) FROM run_permissions WHERE run_id = r.id)")
}

func (c currentRun) value() run.Run {
	return run.Run{
		ID: id.Run(c.ID), Title: c.Title, Workspace: c.Workspace, Kind: run.Kind(c.Kind), Status: run.Status(c.Status),
		Profile: run.ProfileSnapshot{
			Revision: c.ProfileRevision, Profile: run.Profile(c.Profile), At: moment(&c.ProfileAt),
		},
		Permission: run.PermissionSnapshot{
			Revision: c.PermissionRevision, Permission: run.Permission(c.Permission), At: moment(&c.PermissionAt),
		},
		CreatedAt: moment(&c.CreatedAt), UpdatedAt: moment(&c.UpdatedAt),
	}
}
