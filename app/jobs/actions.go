package jobs

import (
	"context"
	"time"

	"cyberagent/app/operation"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/job"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

// Run runs 1 to 4 commands in order, each a Job of its own, and answers when the
// last one has ended. A later command can be prepared only when the earlier ones
// have ended, for each changes the files that an approval is bound to: then the
// answer says approval_required for it, and the same request, with the ids of all
// that were approved, repeats nothing and goes on from there.
func (m *Manager) Run(ctx context.Context, key string, mode job.Mode, launches []job.Launch) (Answer, error) {
	wishes := make([]wish, len(launches))
	for i, l := range launches {
		w, err := m.wishOf(key, i, mode, l)
		if err != nil {
			return Answer{}, err
		}
		wishes[i] = w
	}
	a := Answer{Run: &RunView{Mode: mode, Items: []RunItem{}}}
	stopped := false
	for _, w := range wishes {
		item := RunItem{Outcome: OutcomeSkipped}
		if !stopped {
			item = m.runOne(ctx, w)
			switch {
			case item.Outcome == OutcomeApproval:
				a.Status, a.Approval, stopped = StatusApproval, item.Approval, true
			case item.Outcome == OutcomeRan && item.Job.State == job.Succeeded:
			default:
				stopped = mode != job.Continue
			}
		}
		a.Run.Items = append(a.Run.Items, item)
	}
	return a, nil
}

// runOne takes one command of a run to its end.
func (m *Manager) runOne(ctx context.Context, w wish) RunItem {
	o, err := m.launch(ctx, w)
	switch {
	case err != nil:
		return RunItem{Outcome: OutcomeRefused, Error: errorView(err)}
	case o.approval != nil:
		return RunItem{Outcome: OutcomeApproval, Approval: o.approval}
	case o.recorded != nil:
		v := viewOf(*o.recorded)
		return RunItem{Outcome: OutcomeRan, Replayed: true, Job: &v}
	}
	select {
	case <-o.live.done:
	case <-ctx.Done():
	}
	p, err := o.live.read(0, w.launch.Inline)
	if err != nil {
		return RunItem{Outcome: OutcomeRefused, Error: errorView(err)}
	}
	return RunItem{Outcome: OutcomeRan, Replayed: o.replayed, Job: o.live.view(), Output: &p}
}

// listed is how many Jobs list answers.
const listed = 100

// List answers the Run's newest Jobs, the newest first, whoever owned them.
func (m *Manager) List(ctx context.Context) (Answer, error) {
	var all []job.Job
	if err := m.s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
		all, err = rec.ListJobs(m.run, listed)
		return err
	}); err != nil {
		return Answer{}, err
	}
	views := []JobView{}
	for _, j := range all {
		view := viewOf(j)
		if v := m.find(j.ID); v != nil {
			view = *v.view()
			view.Result = nil // wait has it
		}
		views = append(views, view)
	}
	return Answer{Jobs: &views}, nil
}

func (v *live) read(cursor, most int64) (job.Page, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.out.Read(cursor, most)
}

// Read answers output from a cursor on. It waits up to patience for some to come;
// at the end of an ended Job it answers at once.
func (m *Manager) Read(ctx context.Context, jid id.Job, cursor, most int64, patience time.Duration) (Answer, error) {
	v, err := m.owned(ctx, jid)
	if err != nil {
		return Answer{}, err
	}
	p, _, err := v.await(ctx, cursor, most, patience)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Job: v.brief(), Output: &p}, nil
}

// brief is the view without the result, for lines that are many.
func (v *live) brief() *JobView {
	view := v.view()
	view.Result = nil
	return view
}

// await reads, and waits for something to read. It also says whether the Job had
// ended before it read: then an empty page is the end of the output.
func (v *live) await(ctx context.Context, cursor, most int64, patience time.Duration) (p job.Page, ended bool, err error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		j, changed := v.now()
		p, err := v.read(cursor, most)
		if err != nil || len(p.Frames) > 0 || j.State.Terminal() || patience == 0 {
			return p, j.State.Terminal(), err
		}
		select {
		case <-changed:
		case <-v.done:
			patience = 0
		case <-late.C:
			patience = 0
		case <-ctx.Done():
			return p, false, nil
		}
	}
}

// Follow hands every page to each, until the Job has ended and everything was
// read, or each fails. It answers the Job's end.
func (m *Manager) Follow(ctx context.Context, jid id.Job, cursor, most int64, each func(Answer) error) (Answer, error) {
	v, err := m.owned(ctx, jid)
	if err != nil {
		return Answer{}, err
	}
	for {
		p, ended, err := v.await(ctx, cursor, most, limits.RuntimeWait)
		if err != nil {
			return Answer{}, err
		}
		if len(p.Frames) == 0 && (ended || ctx.Err() != nil) {
			return Answer{Job: v.view(), Output: &p}, nil
		}
		if cursor = p.Next; len(p.Frames) == 0 {
			continue
		}
		if err := each(Answer{Type: TypeEvent, Job: v.brief(), Output: &p}); err != nil {
			return Answer{}, err
		}
	}
}

// Wait answers the Job when it has ended, or after patience as it is then.
func (m *Manager) Wait(ctx context.Context, jid id.Job, patience time.Duration) (Answer, error) {
	v := m.find(jid)
	if v == nil {
		j, err := m.recorded(ctx, jid)
		if err != nil {
			return Answer{}, err
		}
		view := viewOf(j)
		return Answer{Job: &view}, nil
	}
	select {
	case <-v.done:
	case <-time.After(patience):
	case <-ctx.Done():
	}
	return Answer{Job: v.view()}, nil
}

// Write accepts input of a Job with a pipe, whole or not at all.
func (m *Manager) Write(ctx context.Context, jid id.Job, key string, data []byte, end bool) (Answer, error) {
	if err := operation.Check(key); err != nil {
		return Answer{}, err
	}
	if int64(len(data)) > limits.StdinWriteBytes {
		return Answer{}, job.TooLong(len(data))
	}
	v, err := m.owned(ctx, jid)
	if err != nil {
		return Answer{}, err
	}
	if v.stdin == nil {
		return Answer{}, fault.New(fault.InvalidArgument, "the stdin of %s is closed", jid).At("job_id").
			Hint("start a Job with stdin_policy pipe")
	}
	w, replayed, err := v.stdin.write(key, data, end)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Stdin: &w, Replayed: replayed}, nil
}

// Cancel ends a Job the TERM way, and answers at once.
func (m *Manager) Cancel(ctx context.Context, jid id.Job) (Answer, error) {
	v, err := m.owned(ctx, jid)
	if err != nil {
		return Answer{}, err
	}
	m.stop(ctx, v)
	return Answer{Job: v.view()}, nil
}

// Kill ends a Job without a grace, and answers at once.
func (m *Manager) Kill(ctx context.Context, jid id.Job) (Answer, error) {
	v, err := m.owned(ctx, jid)
	if err != nil {
		return Answer{}, err
	}
	v.killed.Do(func() { close(v.kill) })
	_ = m.step(ctx, v, job.Stopping, "kill", func(rec ports.Records) error { return rec.AddEvent(m.event(v, "job.stopping")) })
	return Answer{Job: v.view()}, nil
}
