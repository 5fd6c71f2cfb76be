package ledger

import (
	"errors"
	"testing"
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/job"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

// jobOf is a Job of a chain's admission, as it is recorded first.
func jobOf(c chain, n int) job.Job {
	return job.Job{
		ID: name[id.Job](id.KindJob, n), Run: c.run.ID, Owner: c.owner, Preparation: c.preparation.ID, Approval: c.approval.ID,
		Stdin: isolation.StdinPipe, OperationKey: "start-1", CreatedAt: t0.Add(time.Duration(n) * time.Second),
		State: job.Prepared, Version: 1, UpdatedAt: t0,
	}
}

// addJob records an owner and a Job of the admission that runs.
func addJob(r ports.Records, c chain) error {
	if _, err := r.AddJobOwner(job.Owner{ID: c.owner, Run: c.run.ID, StartedAt: t0}, boot(0)); err != nil {
		return err
	}
	j := jobOf(c, 1)
	if err := r.AddJob(j); err != nil {
		return err
	}
	j, err := j.To(job.Running, "", t0)
	if err != nil {
		return err
	}
	j.Admission = c.admission.ID
	return r.StepJob(j)
}

func withJob(t *testing.T) (*Ledger, chain) {
	t.Helper()
	l, c := fresh(t), chainOf(t, 1)
	write(t, l, func(r ports.Records) error { return errors.Join(c.admitted(r), addJob(r, c)) })
	return l, c
}

func TestJobs_GiveBackExactlyWhatWasRecorded(t *testing.T) {
	t.Parallel()
	l, c := withJob(t)
	want := jobOf(c, 1)
	want.State, want.Version, want.Admission = job.Running, 2, c.admission.ID
	get := func(r ports.Records) (job.Job, error) { return r.Job(want.ID) }
	same(t, "job", read(t, l, get), want)
	open := func(r ports.Records) ([]job.Job, error) { return r.OpenJobs("") }
	same(t, "open", read(t, l, open), []job.Job{want})
	list := func(r ports.Records) ([]job.Job, error) { return r.ListJobs(c.run.ID, 10) }
	second := jobOf(c, 2)
	write(t, l, func(r ports.Records) error { return r.AddJob(second) })
	same(t, "list", read(t, l, list), []job.Job{second, want})

	end, err := want.To(job.TimedOut, "timeout", t0.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	write(t, l, func(r ports.Records) error { return r.StepJob(end) })
	same(t, "ended", read(t, l, get), end)
	same(t, "open", read(t, l, open), []job.Job{second})
	if none := read(t, l, func(r ports.Records) ([]job.Job, error) { return r.OpenJobs(name[id.Run](id.KindRun, 9)) }); len(none) != 0 {
		t.Errorf("%+v", none)
	}
	refused(t, l, fault.NotFound, func(r ports.Records) error { _, err := r.Job(name[id.Job](id.KindJob, 9)); return err })
}

// Two who read the same version cannot both write: the second changes nothing.
func TestJobs_StepOverTheVersionThatWasRead(t *testing.T) {
	t.Parallel()
	l, c := withJob(t)
	j := read(t, l, func(r ports.Records) (job.Job, error) { return r.Job(jobOf(c, 1).ID) })
	mine, _ := j.To(job.Stopping, "", t0)
	theirs, _ := j.To(job.Interrupted, "owner_lost", t0)
	write(t, l, func(r ports.Records) error { return r.StepJob(theirs) })
	refused(t, l, fault.OperationConflict, func(r ports.Records) error { return r.StepJob(mine) })
	mine.Version++
	refused(t, l, fault.OperationConflict, func(r ports.Records) error { return r.StepJob(mine) })
	same(t, "the Job", read(t, l, func(r ports.Records) (job.Job, error) { return r.Job(j.ID) }), theirs)
}

func TestJobs_AreNewOnlyAsPrepared(t *testing.T) {
	t.Parallel()
	l, c := withJob(t)
	j := jobOf(c, 2)
	j.State = job.Running
	refused(t, l, fault.Internal, func(r ports.Records) error { return r.AddJob(j) })
}

func TestJobOwners_LiveByTheirHeartbeat(t *testing.T) {
	t.Parallel()
	l, c := withJob(t)
	renew := func(now lifecycle.Boot) error {
		return l.Write(t.Context(), func(r ports.Records) error { _, err := r.RenewJobOwner(c.owner, now); return err })
	}
	if err := renew(boot(limits.LeaseTTL - 1)); err != nil {
		t.Fatal(err)
	}
	o := read(t, l, func(r ports.Records) (job.Owner, error) { return r.JobOwner(c.owner) })
	if o.ExpiresAt != 2*limits.LeaseTTL-1 || o.Run != c.run.ID || o.BootID != boot(0).ID || !o.StartedAt.Equal(t0) {
		t.Errorf("%+v", o)
	}
	if err := renew(boot(2 * limits.LeaseTTL)); !errors.Is(err, fault.LeaseLost) {
		t.Errorf("renewed too late: %v", err)
	}
	if err := renew(lifecycle.Boot{ID: "another"}); !errors.Is(err, fault.LeaseLost) {
		t.Errorf("renewed after another boot: %v", err)
	}
	for range 2 {
		write(t, l, func(r ports.Records) error { return r.ReleaseJobOwner(c.owner) })
	}
	if err := renew(boot(0)); !errors.Is(err, fault.LeaseLost) {
		t.Errorf("renewed after its release: %v", err)
	}
}
