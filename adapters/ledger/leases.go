package ledger

import (
	"errors"
	"time"

	"github.com/uptrace/bun"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
)

// leaseRow is one generation. Rows of old generations stay as they were.
type leaseRow struct {
	bun.BaseModel `bun:"table:leases"`

	AdmissionID string `bun:"admission_id"`
	Generation  int64  `bun:"generation"`
	Owner       string `bun:"owner"`
	BootID      string `bun:"boot_id"`
	Expires     int64  `bun:"expires_boot_ns"`
	Released    bool   `bun:"released"`
}

// Lease returns the newest, live or not.
func (r *records) Lease(aid id.Admission) (lifecycle.Lease, error) {
	var rows []leaseRow
	q := r.tx.NewSelect().Model(&rows).Where("admission_id = ?", string(aid)).OrderExpr("generation DESC").Limit(1)
	if err := r.query("read lease", q); err != nil {
		return lifecycle.Lease{}, err
	}
	if len(rows) == 0 {
		return lifecycle.Lease{}, notFound("lease of admission", string(aid))
	}
	w := rows[0]
	return lifecycle.Lease{
		Admission: id.Admission(w.AdmissionID), Owner: id.Owner(w.Owner), Generation: w.Generation,
		BootID: w.BootID, ExpiresAt: time.Duration(w.Expires), Released: w.Released,
	}, nil
}

// TakeLease makes the next generation for owner, live for limits.LeaseTTL. It
// refuses (in_progress) while another owner's is live at now, unless ownerDead.
func (r *records) TakeLease(aid id.Admission, owner id.Owner, now lifecycle.Boot, ownerDead bool) (lifecycle.Lease, error) {
	old, err := r.Lease(aid)
	if err != nil && !errors.Is(err, fault.NotFound) {
		return lifecycle.Lease{}, err
	}
	if err == nil && old.Live(now) && old.Owner != owner && !ownerDead {
		return lifecycle.Lease{}, fault.New(fault.InProgress, "another process is at work on %s", aid).At("admission").
			With("generation", itoa(old.Generation)).
			Hint("wait for it, or cancel it: cyberagent run standard-code docker-cancel")
	}
	l := lifecycle.Lease{
		Admission: aid, Owner: owner, Generation: old.Generation + 1,
		BootID: now.ID, ExpiresAt: now.Since + limits.LeaseTTL,
	}
	return l, r.insert("take lease", &leaseRow{
		AdmissionID: string(aid), Generation: l.Generation, Owner: string(owner), BootID: l.BootID, Expires: int64(l.ExpiresAt),
	})
}

// RenewLease moves the expiry of the live newest lease to now plus
// limits.LeaseTTL; lease_lost when l is not that.
func (r *records) RenewLease(l lifecycle.Lease, now lifecycle.Boot) (lifecycle.Lease, error) {
	held, err := r.held(l.Admission, l.Owner, l.Generation, now)
	if err != nil {
		return l, err
	}
	held.ExpiresAt = now.Since + limits.LeaseTTL
	return held, r.updateLease(held, "expires_boot_ns = ?", int64(held.ExpiresAt))
}

// ReleaseLease ends the newest lease before its time; lease_lost when l is not
// the newest or was released before.
func (r *records) ReleaseLease(l lifecycle.Lease) error {
	newest, err := r.Lease(l.Admission)
	if err != nil && !errors.Is(err, fault.NotFound) {
		return err
	}
	if err != nil || newest.Owner != l.Owner || newest.Generation != l.Generation || newest.Released {
		return lost(l.Admission, l.Generation, newest)
	}
	return r.updateLease(newest, "released = ?", 1)
}

// held returns the lease that owner and generation hold live at now, or
// lease_lost.
func (r *records) held(aid id.Admission, owner id.Owner, generation int64, now lifecycle.Boot) (lifecycle.Lease, error) {
	newest, err := r.Lease(aid)
	if err != nil && !errors.Is(err, fault.NotFound) {
		return lifecycle.Lease{}, err
	}
	if err != nil || newest.Owner != owner || newest.Generation != generation || !newest.Live(now) {
		return lifecycle.Lease{}, lost(aid, generation, newest)
	}
	return newest, nil
}

// updateLease writes under the claim that authorises it.
func (r *records) updateLease(l lifecycle.Lease, set string, arg any) error {
	res, err := r.tx.NewUpdate().Model((*leaseRow)(nil)).Set(set, arg).
		Where("admission_id = ? AND generation = ? AND owner = ? AND released = 0",
			string(l.Admission), l.Generation, string(l.Owner)).Exec(r.ctx)
	if err != nil {
		return r.fault("update lease", err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return errors.Join(lost(l.Admission, l.Generation, l), err)
	}
	return nil
}

func lost(aid id.Admission, generation int64, newest lifecycle.Lease) error {
	return fault.New(fault.LeaseLost, "the lease on %s at generation %d is over", aid, generation).At("admission").
		With("newest_generation", itoa(newest.Generation)).
		Hint("another process has taken over or will; read the status of %s", aid)
}
