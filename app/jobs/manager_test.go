package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cyberagent/app/jobs"
	"cyberagent/app/standardcode"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/job"
	"cyberagent/domain/limits"
	"cyberagent/domain/result"
	"cyberagent/domain/runnerproto"
	"cyberagent/ports"
)

// until runs until its context or its kill ends it.
func until(ctx context.Context, in standardcode.ExecuteInput) (result.Status, []result.LogReceipt) {
	select {
	case <-ctx.Done():
	case <-in.Kill:
	}
	return result.Cancelled, nil
}

func TestStart_LaunchesNothingWithoutAnApproval(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	m := l.open(t, 0)
	in := launch("p")
	for range 2 {
		a, err := m.Start(t.Context(), "k", in)
		if err != nil || a.Status != jobs.StatusApproval || a.Job != nil || a.Approval.Generation != 1 {
			t.Fatalf("%+v, %v", a, err)
		}
		if want := "cyberagent run sandbox review " + string(a.Approval.Preparation) + " --decision approve --operation-key review-" + string(a.Approval.Preparation); a.Approval.Type[1] != want {
			t.Errorf("to be typed: %q", a.Approval.Type)
		}
		// Also with the ids of what nobody decided.
		in.Preparation, in.Approval = a.Approval.Preparation, a.Approval.Approval
	}
	if a, err := m.List(t.Context()); err != nil || len(*a.Jobs) != 0 || l.executed.Load() != 0 {
		t.Errorf("%+v, %v, %d executed", a.Jobs, err, l.executed.Load())
	}
}

func TestStart_OneKeyIsOneJob(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	l.body = until
	m := l.open(t, 0)
	in := l.approved(t, m, "k", launch("p"))
	var wg sync.WaitGroup
	var mu sync.Mutex
	ids, first := map[id.Job]int{}, 0
	for range 8 {
		wg.Go(func() {
			a, err := m.Start(t.Context(), "k", in)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			ids[a.Job.ID]++
			if !a.Replayed {
				first++
			}
		})
	}
	wg.Wait()
	if len(ids) != 1 || first != 1 || l.executed.Load() != 1 {
		t.Errorf("%v Jobs, %d first, %d executed", ids, first, l.executed.Load())
	}
	other := in
	other.Command.Purpose = "another"
	if _, err := m.Start(t.Context(), "k", other); !errors.Is(err, fault.OperationConflict) {
		t.Errorf("another request of the key: %v", err)
	}
	other = in
	other.Initial = []byte("other input")
	if _, err := m.Start(t.Context(), "k", other); !errors.Is(err, fault.OperationConflict) {
		t.Errorf("other input of the key: %v", err)
	}
}

func TestStart_ARefusedLaunchGivesItsKeyBack(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	m := l.open(t, 0)
	in := l.approved(t, m, "k", launch("p"))
	l.refuse = errors.New("not now")
	if _, err := m.Start(t.Context(), "k", in); !errors.Is(err, fault.GenerationStale) {
		t.Fatal(err)
	}
	l.refuse = nil
	a, err := m.Start(t.Context(), "k", in)
	if err != nil || a.Replayed || a.Job.Execution == "" {
		t.Fatalf("%+v, %v", a, err)
	}
	wait(t, m, a.Job.ID)
	list, err := m.List(t.Context())
	if err != nil || len(*list.Jobs) != 2 || (*list.Jobs)[1].State != job.Failed || (*list.Jobs)[1].Reason != "generation_stale" {
		t.Errorf("%+v, %v", *list.Jobs, err)
	}
}

func TestStart_BoundsTheJobsThatHaveNotEnded(t *testing.T) {
	t.Parallel()
	l := newLab(t, 5)
	l.body = until
	var last *jobs.Manager
	for n := range 4 {
		last = l.open(t, n)
		for k := range 4 {
			l.start(t, last, fmt.Sprintf("k%d", k), launch("p"))
		}
	}
	in := l.approved(t, last, "more", launch("p"))
	if _, err := last.Start(t.Context(), "more", in); !errors.Is(err, fault.LimitReached) || !strings.Contains(err.Error(), "of this Run") {
		t.Errorf("a fifth of a Run: %v", err)
	}
	other := l.open(t, 4)
	in = l.approved(t, other, "k", launch("p"))
	if _, err := other.Start(t.Context(), "k", in); !errors.Is(err, fault.LimitReached) || !strings.Contains(err.Error(), "installation") {
		t.Errorf("a seventeenth: %v", err)
	}
	// One that ends makes room.
	list, _ := last.List(t.Context())
	if _, err := last.Kill(t.Context(), (*list.Jobs)[0].ID); err != nil {
		t.Fatal(err)
	}
	wait(t, last, (*list.Jobs)[0].ID)
	if a, err := other.Start(t.Context(), "k", in); err != nil || a.Job == nil {
		t.Errorf("with room: %+v, %v", a, err)
	}
}

func TestJob_GoesThroughItsStates(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*jobs.Manager, context.Context, id.Job) (jobs.Answer, error){
		"cancel": (*jobs.Manager).Cancel, "kill": (*jobs.Manager).Kill,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 1)
			l.body = until
			m := l.open(t, 0)
			j := l.start(t, m, "k", launch("p"))
			if j.State != job.Running || j.Version != 2 {
				t.Errorf("%+v", j)
			}
			for range 3 {
				if _, err := stop(m, t.Context(), j.ID); err != nil {
					t.Error(err)
				}
			}
			end := wait(t, m, j.ID)
			if end.State != job.Cancelled || end.Version != 4 || end.Result == nil {
				t.Errorf("%+v", end)
			}
			if _, err := stop(m, t.Context(), j.ID); err != nil {
				t.Errorf("after the end: %v", err)
			}
		})
	}
}

func TestOutput_ComesAsItArrivesAndIsCleanedAcrossItsPieces(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	gate := make(chan struct{})
	l.body = func(_ context.Context, in standardcode.ExecuteInput) (result.Status, []result.LogReceipt) {
		in.Live(runnerproto.Stdout, []byte("caf\xc3"))
		in.Live(runnerproto.Stderr, []byte("\x1b[3"))
		in.Live(runnerproto.Stdout, []byte("\xa9 \xff"))
		in.Live(runnerproto.Stderr, []byte("1mred\x07"))
		<-gate
		in.Live(runnerproto.Stdout, []byte("!\xe2\x82"))
		return result.Succeeded, nil
	}
	m := l.open(t, 0)
	j := l.start(t, m, "k", launch("p"))
	var got [2]strings.Builder
	add := func(p *job.Page) int64 {
		for _, f := range p.Frames {
			i := 0
			if f.Stream == "stderr" {
				i = 1
			}
			got[i].WriteString(f.Text)
		}
		return p.Next
	}
	cursor := int64(0)
	for cursor < int64(len("café �red")) {
		a, err := m.Read(t.Context(), j.ID, cursor, 100, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		cursor = add(a.Output)
	}
	close(gate)
	a, err := m.Follow(t.Context(), j.ID, cursor, 100, func(a jobs.Answer) error {
		if a.Type != jobs.TypeEvent {
			t.Errorf("%+v", a)
		}
		add(a.Output)
		return nil
	})
	if err != nil || a.Job.State != job.Succeeded {
		t.Errorf("%+v, %v", a, err)
	}
	if got[0].String() != "café �!�" || got[1].String() != "red" {
		t.Errorf("%q, %q", got[0].String(), got[1].String())
	}
}

// The runner passes on the beginning of a long stream, and its end when all is
// over; how much is between only its report says.
func TestOutput_SaysExactlyWhatTheRunnerLeftOut(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	const missing = 12_345
	l.body = func(_ context.Context, in standardcode.ExecuteInput) (result.Status, []result.LogReceipt) {
		piece := []byte(strings.Repeat("x", 32<<10))
		for range runnerproto.LiveBytes / (32 << 10) {
			in.Live(runnerproto.Stdout, piece)
		}
		in.Live(runnerproto.Stdout, []byte("the end\n"))
		return result.Succeeded, []result.LogReceipt{{Stream: "stdout", SizeBytes: runnerproto.LiveBytes + missing + 8}}
	}
	m := l.open(t, 0)
	j := l.start(t, m, "k", launch("p"))
	end := wait(t, m, j.ID)
	if end.End != runnerproto.LiveBytes+missing+8 || end.Base != end.End-8 {
		t.Errorf("%+v", end)
	}
	a, err := m.Read(t.Context(), j.ID, runnerproto.LiveBytes, 100, 0)
	if err != nil || len(a.Output.Frames) != 2 || a.Output.Frames[0].Omitted != missing || a.Output.Frames[0].Stream != "stdout" || a.Output.Frames[1].Text != "the end\n" {
		t.Errorf("%+v, %v", a.Output, err)
	}
	if end.Dropped != end.End-limits.JobOutputBytes && end.Dropped < end.End-limits.JobOutputBytes {
		t.Errorf("%d dropped of %d", end.Dropped, end.End)
	}
}

func TestOutput_OfEndedJobsIsBoundedAndTheOldestGoesFirst(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	l.body = func(_ context.Context, in standardcode.ExecuteInput) (result.Status, []result.LogReceipt) {
		for range 20 {
			in.Live(runnerproto.Stdout, []byte(strings.Repeat("x", 32<<10)))
		}
		return result.Succeeded, nil
	}
	m := l.open(t, 0)
	var all []id.Job
	for n := range 40 {
		j := l.start(t, m, fmt.Sprintf("k%d", n), launch("p"))
		wait(t, m, j.ID)
		all = append(all, j.ID)
	}
	var kept int64
	for i, j := range all {
		v := wait(t, m, j)
		if v.End != 20*32<<10 {
			t.Errorf("%d: %+v", i, v)
		}
		kept += v.End - v.Dropped
	}
	if first := wait(t, m, all[0]); first.Dropped != first.End || kept > limits.JobsOutputBytes || kept < limits.JobsOutputBytes-limits.JobOutputBytes {
		t.Errorf("%d bytes kept; of the first %d of %d are gone", kept, first.Dropped, first.End)
	}
}

func TestReconcile_InterruptsTheJobsOfTheDeadAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t, 2)
	l.body = until
	alive := l.open(t, 0)
	j := l.start(t, alive, "k", launch("p"))
	// An owner that died after its admission and before its own next step.
	dead := id.Owner(l.ids.New(id.KindOwner))
	p, err := l.Prepare(t.Context(), standardcode.Request{Run: l.runs[1], Command: launch("p").Command, Stdin: "pipe"}, "")
	if err != nil {
		t.Fatal(err)
	}
	orphan := job.Job{
		ID: id.Job(l.ids.New(id.KindJob)), Run: l.runs[1], Owner: dead, Preparation: p.PreparationID, Stdin: "pipe", OperationKey: "k",
		CreatedAt: l.clock.Now(), State: job.Prepared, Version: 1, UpdatedAt: l.clock.Now(),
	}
	l.write(t, func(rec ports.Records) error {
		a, err := rec.ApprovalOfPreparation(p.PreparationID)
		if err != nil {
			return err
		}
		orphan.Approval = a.ID
		if _, err := rec.AddJobOwner(job.Owner{ID: dead, Run: l.runs[1], StartedAt: l.clock.Now()}, l.clock.Boot()); err != nil {
			return err
		}
		return rec.AddJob(orphan)
	})
	for range 2 {
		if _, err := l.svc.Reconcile(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	var got, living job.Job
	if err := l.Read(t.Context(), func(rec ports.Records) (err error) {
		if got, err = rec.Job(orphan.ID); err != nil {
			return err
		}
		living, err = rec.Job(j.ID)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got.State != job.Interrupted || got.Reason != "owner_lost" || got.Version != 2 || living.State != job.Running {
		t.Errorf("%+v, %+v", got, living)
	}
}

// An owner whose heart stopped is dead to others though its lock is held; when it
// notices, its Jobs end, and it changes nothing that was decided meanwhile.
func TestManager_AnOwnerThatLostItsClaimEndsItsJobs(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	l.body = until
	m := l.open(t, 0)
	j := l.start(t, m, "k", launch("p"))
	l.clock.ahead.Store(int64(limits.LeaseTTL + time.Second))
	if done, err := l.svc.Reconcile(t.Context(), l.runs[0]); err != nil || len(done) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if end := wait(t, m, j.ID); end.State != job.Interrupted {
		t.Errorf("%+v", end)
	}
	if _, err := m.Start(t.Context(), "next", launch("p")); !errors.Is(err, fault.LeaseLost) {
		t.Errorf("a launch without the claim: %v", err)
	}
}

func TestClose_EndsEveryJobAndLaunchesNoMore(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	l.body = until
	m := l.open(t, 0)
	j := l.start(t, m, "k", launch("p"))
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if end := wait(t, m, j.ID); end.State != job.Cancelled {
		t.Errorf("%+v", end)
	}
	if _, err := m.Start(t.Context(), "next", launch("p")); !errors.Is(err, fault.Cancelled) {
		t.Errorf("%v", err)
	}
	if done, err := l.svc.Reconcile(t.Context(), ""); err != nil || len(done) != 0 {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestRun_StopsWhereAnApprovalIsMissingAndGoesOnFromThere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode job.Mode
		want string
	}{{job.FailFast, "ran skipped skipped"}, {job.Continue, "ran ran ran"}} {
		l := newLab(t, 1)
		l.body = func(_ context.Context, in standardcode.ExecuteInput) (result.Status, []result.LogReceipt) {
			if in.Command.Purpose == "first" {
				return result.Failed, nil
			}
			in.Live(runnerproto.Stdout, []byte(in.Command.Purpose))
			return result.Succeeded, nil
		}
		m := l.open(t, 0)
		all := []job.Launch{launch("first"), launch("second"), launch("third")}
		var a jobs.Answer
		for range 4 {
			var err error
			if a, err = m.Run(t.Context(), "k", c.mode, all); err != nil {
				t.Fatal(err)
			}
			if a.Status != jobs.StatusApproval {
				break
			}
			l.approve(t, a.Approval.Preparation)
			i := a.Approval.Index
			all[i].Preparation, all[i].Approval = a.Approval.Preparation, a.Approval.Approval
		}
		var got []string
		for _, i := range a.Run.Items {
			got = append(got, string(i.Outcome))
		}
		if strings.Join(got, " ") != c.want || int(l.executed.Load()) != strings.Count(c.want, "ran") {
			t.Errorf("%s: %v, %d executed", c.mode, got, l.executed.Load())
		}
	}
}
