package ledger

import (
	"testing"
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

// admittedLedger holds one admission whose owner took its lease one minute
// after boot.
func admittedLedger(t *testing.T) (*Ledger, chain) {
	t.Helper()
	l, c := fresh(t), chainOf(t, 1)
	write(t, l, c.admitted)
	return l, c
}

func TestALeaseIsTakenOnlyWhenNoOtherOwnerIsLive(t *testing.T) {
	t.Parallel()
	other := name[id.Owner](id.KindOwner, 2)
	otherBoot := lifecycle.Boot{ID: "another boot", Since: time.Minute}
	for _, c := range []struct {
		name  string
		owner int
		now   lifecycle.Boot
		dead  bool
		code  fault.Code
	}{
		{"another owner, at once", 2, boot(time.Minute), false, fault.InProgress},
		{"another owner, a nanosecond before the end", 2, boot(time.Minute + limits.LeaseTTL - 1), false, fault.InProgress},
		{"another owner, at the end", 2, boot(time.Minute + limits.LeaseTTL), false, ""},
		{"another owner, after another boot", 2, otherBoot, false, ""},
		{"another owner whose lock the kernel released", 2, boot(time.Minute), true, ""},
		{"the same owner", 1, boot(time.Minute), false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, ch := admittedLedger(t)
			var got lifecycle.Lease
			take := func(r ports.Records) (err error) {
				got, err = r.TakeLease(ch.admission.ID, name[id.Owner](id.KindOwner, c.owner), c.now, c.dead)
				return err
			}
			if c.code != "" {
				refused(t, l, c.code, take)
				return
			}
			write(t, l, take)
			want := lifecycle.Lease{
				Admission: ch.admission.ID, Owner: name[id.Owner](id.KindOwner, c.owner), Generation: 2,
				BootID: c.now.ID, ExpiresAt: c.now.Since + limits.LeaseTTL,
			}
			same(t, "answer", got, want)
			same(t, "stored", read(t, l, func(r ports.Records) (lifecycle.Lease, error) { return r.Lease(ch.admission.ID) }), want)
		})
	}
	t.Run("an admission that is not there", func(t *testing.T) {
		refused(t, fresh(t), fault.NotFound, func(r ports.Records) error {
			_, err := r.TakeLease(name[id.Admission](id.KindAdmission, 1), other, boot(0), false)
			return err
		})
	})
}

func TestOnlyTheLiveNewestLeaseRenewsReleasesAndAppends(t *testing.T) {
	t.Parallel()
	taken := lifecycle.Lease{Owner: name[id.Owner](id.KindOwner, 1), Generation: 1}
	for _, c := range []struct {
		name  string
		lease lifecycle.Lease
		now   lifecycle.Boot
		// before is what happened since the lease was taken.
		before func(ports.Records, id.Admission) error
		lost   bool
		// released says that ReleaseLease, which knows no clock, still works.
		releases bool
	}{
		{name: "in time", lease: taken, now: boot(time.Minute + limits.LeaseTTL - 1), releases: true},
		{name: "at its end", lease: taken, now: boot(time.Minute + limits.LeaseTTL), lost: true, releases: true},
		{name: "after another boot", lease: taken, now: lifecycle.Boot{ID: "x", Since: time.Minute}, lost: true, releases: true},
		{name: "by another owner", lease: lifecycle.Lease{Owner: name[id.Owner](id.KindOwner, 2), Generation: 1}, now: boot(time.Minute), lost: true},
		{name: "of a generation to come", lease: lifecycle.Lease{Owner: taken.Owner, Generation: 2}, now: boot(time.Minute), lost: true},
		{name: "of generation 0", lease: lifecycle.Lease{Owner: taken.Owner}, now: boot(time.Minute), lost: true},
		{
			name: "after another took over", lease: taken, now: boot(time.Minute), lost: true,
			before: func(r ports.Records, a id.Admission) error {
				_, err := r.TakeLease(a, name[id.Owner](id.KindOwner, 2), boot(time.Minute), true)
				return err
			},
		},
		{
			name: "after its own second take", lease: taken, now: boot(time.Minute), lost: true,
			before: func(r ports.Records, a id.Admission) error {
				_, err := r.TakeLease(a, taken.Owner, boot(time.Minute), false)
				return err
			},
		},
		{
			name: "after its release", lease: taken, now: boot(time.Minute), lost: true,
			before: func(r ports.Records, a id.Admission) error {
				return r.ReleaseLease(lifecycle.Lease{Admission: a, Owner: taken.Owner, Generation: 1})
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, ch := admittedLedger(t)
			c.lease.Admission = ch.admission.ID
			if c.before != nil {
				write(t, l, func(r ports.Records) error { return c.before(r, ch.admission.ID) })
			}
			append := func(r ports.Records) error {
				return r.Append(lifecycle.Entry{
					Admission: ch.admission.ID, Event: lifecycle.CreateIntent, Owner: c.lease.Owner, Generation: c.lease.Generation, At: t0,
				}, c.now)
			}
			renew := func(r ports.Records) error {
				got, err := r.RenewLease(c.lease, c.now)
				if err == nil && got.ExpiresAt != c.now.Since+limits.LeaseTTL {
					t.Errorf("expires at %s", got.ExpiresAt)
				}
				return err
			}
			release := func(r ports.Records) error { return r.ReleaseLease(c.lease) }
			if c.lost {
				refused(t, l, fault.LeaseLost, append)
				refused(t, l, fault.LeaseLost, renew)
			} else {
				write(t, l, append)
				write(t, l, renew)
			}
			if !c.releases {
				refused(t, l, fault.LeaseLost, release)
				return
			}
			write(t, l, release)
			refused(t, l, fault.LeaseLost, release)
		})
	}
	t.Run("an admission without a lease", func(t *testing.T) {
		l, ch := fresh(t), chainOf(t, 1)
		refused(t, l, fault.LeaseLost, func(r ports.Records) error { return r.Append(ch.entry(lifecycle.CreateIntent), boot(0)) })
		refused(t, l, fault.LeaseLost, func(r ports.Records) error {
			return r.ReleaseLease(lifecycle.Lease{Admission: ch.admission.ID, Owner: ch.owner, Generation: 1})
		})
	})
}

func TestALogHasNoGapAndFollowsTheLifecycle(t *testing.T) {
	t.Parallel()
	l, c := admittedLedger(t)
	at := boot(time.Minute)
	life := lifecycle.Events()
	for i, e := range life {
		// Every event that the table does not allow here is refused.
		var done []lifecycle.Event
		done = append(done, life[:i]...)
		state, err := lifecycle.Replay(done)
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range lifecycle.Events() {
			if _, err := state.Next(other); err != nil {
				refused(t, l, fault.OperationConflict, func(r ports.Records) error { return r.Append(c.entry(other), at) })
			}
		}
		entry := c.entry(e)
		entry.Sequence = 77 // the ledger's to set
		write(t, l, func(r ports.Records) error { return r.Append(entry, at) })
	}
	log := read(t, l, func(r ports.Records) ([]lifecycle.Entry, error) { return r.Log(c.admission.ID) })
	same(t, "events", lifecycle.EventsOf(log), life)
	for i, e := range log {
		want := c.entry(life[i])
		want.Sequence = int64(i) + 1
		same(t, "entry", e, want)
	}
}

func TestOpenAdmissionsAreThoseThatAreNotFinalized(t *testing.T) {
	t.Parallel()
	l, c := admittedLedger(t)
	other := chainOf(t, 2)
	write(t, l, other.admitted)
	open := func(rid id.Run) []id.Admission {
		var ids []id.Admission
		for _, a := range read(t, l, func(r ports.Records) ([]lifecycle.Admission, error) { return r.OpenAdmissions(rid) }) {
			ids = append(ids, a.ID)
		}
		return ids
	}
	same(t, "both", open(""), []id.Admission{c.admission.ID, other.admission.ID})
	write(t, l, func(r ports.Records) error { return r.Append(c.entry(lifecycle.FinalizeDone), boot(time.Minute)) })
	same(t, "all", open(""), []id.Admission{other.admission.ID})
	same(t, "of the finished run", open(c.run.ID), []id.Admission(nil))
	same(t, "of the other run", open(other.run.ID), []id.Admission{other.admission.ID})
}
