package ledger

import (
	"time"

	"github.com/uptrace/bun"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/job"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
)

type jobOwnerRow struct {
	bun.BaseModel `bun:"table:job_owners"`

	ID       string `bun:"id"`
	RunID    string `bun:"run_id"`
	BootID   string `bun:"boot_id"`
	Expires  int64  `bun:"expires_boot_ns"`
	Released bool   `bun:"released"`
	Started  int64  `bun:"started_at_us"`
}

// AddJobOwner makes a process an owner.
func (r *records) AddJobOwner(o job.Owner, now lifecycle.Boot) (job.Owner, error) {
	if err := r.begins("add job owner"); err != nil {
		return o, err
	}
	o.BootID, o.ExpiresAt, o.Released = now.ID, now.Since+limits.LeaseTTL, false
	return o, r.insert("add job owner", &jobOwnerRow{
		ID: string(o.ID), RunID: string(o.Run), BootID: o.BootID, Expires: int64(o.ExpiresAt), Started: o.StartedAt.UnixMicro(),
	})
}

// JobOwner returns one, live or not.
func (r *records) JobOwner(oid id.Owner) (job.Owner, error) {
	row := new(jobOwnerRow)
	err := r.get(row, "Job owner", string(oid), "id = ?", string(oid))
	return job.Owner{
		ID: id.Owner(row.ID), Run: id.Run(row.RunID), BootID: row.BootID, ExpiresAt: time.Duration(row.Expires),
		Released: row.Released, StartedAt: moment(&row.Started),
	}, err
}

// RenewJobOwner is one heartbeat.
func (r *records) RenewJobOwner(oid id.Owner, now lifecycle.Boot) (job.Owner, error) {
	o, err := r.JobOwner(oid)
	if err != nil {
		return o, err
	}
	if !o.Live(now) {
		return o, fault.New(fault.LeaseLost, "the claim of %s on its Jobs is over", oid).
			Hint("its Jobs are interrupted; begin a new session")
	}
	o.ExpiresAt = now.Since + limits.LeaseTTL
	_, err = r.tx.NewUpdate().Model((*jobOwnerRow)(nil)).Set("expires_boot_ns = ?", int64(o.ExpiresAt)).
		Where("id = ? AND released = 0", string(oid)).Exec(r.ctx)
	return o, r.fault("renew job owner", err)
}

// ReleaseJobOwner ends the claim; one that is over stays so.
func (r *records) ReleaseJobOwner(oid id.Owner) error {
	_, err := r.tx.NewUpdate().Model((*jobOwnerRow)(nil)).Set("released = ?", 1).
		Where("id = ? AND released = 0", string(oid)).Exec(r.ctx)
	return r.fault("release job owner", err)
}
