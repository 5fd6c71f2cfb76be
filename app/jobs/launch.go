package jobs

import (
	"context"
	"errors"
	"fmt"

	"cyberagent/app/operation"
	"cyberagent/app/standardcode"
	"cyberagent/domain/approval"
	"cyberagent/domain/canon"
	"cyberagent/domain/command"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/job"
	"cyberagent/ports"
)

// wish is one launch that somebody asked for.
type wish struct {
	index  int
	launch job.Launch
	// key is this command's own, made of the caller's: the ledger remembers it with
	// the Job.
	key operation.Key
	// intent includes the input; it is never stored.
	intent string
}

// wishOf checks a launch. Neither the ids of an approval nor the input are part of
// what the key is recorded with: the first so that the same request launches once
// it is approved, the second because no digest of a secret belongs in a ledger.
func (m *Manager) wishOf(callersKey string, index int, mode job.Mode, l job.Launch) (wish, error) {
	w := wish{index: index, launch: l}
	if err := operation.Check(callersKey); err != nil {
		return w, err
	}
	if err := w.launch.Check(); err != nil {
		return w, err
	}
	c, err := command.New(w.launch.Command)
	if err != nil {
		return w, err
	}
	intent := []any{c.Wire(), string(w.launch.Stdin), w.launch.Close, string(mode)}
	w.key, err = operation.NewKey(m.run, "job", "job:"+canon.Digest([]any{callersKey, index}), intent)
	w.intent = canon.Digest(append(intent, canon.SHA256(w.launch.Initial), w.launch.Inline, w.launch.Keep))
	return w, err
}

// outcome is what became of a wish: a Job of this process, one of the ledger, or
// an approval to be had.
type outcome struct {
	live     *live
	recorded *job.Job
	approval *ApprovalView
	replayed bool
}

// Start launches one Job and answers when it is admitted. Without an approval it
// answers what to decide. Errors are those of prepare and execute, limit_reached
// for too many Jobs, operation_conflict for a used key.
func (m *Manager) Start(ctx context.Context, key string, l job.Launch) (Answer, error) {
	w, err := m.wishOf(key, 0, "", l)
	if err != nil {
		return Answer{}, err
	}
	o, err := m.launch(ctx, w)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Replayed: o.replayed}
	switch {
	case o.approval != nil:
		a.Status, a.Approval = StatusApproval, o.approval
	case o.live != nil:
		a.Job = o.live.view()
	default:
		v := viewOf(*o.recorded)
		a.Job = &v
	}
	return a, nil
}

// launch brings a wish to its admission, once.
func (m *Manager) launch(ctx context.Context, w wish) (outcome, error) {
	v, mine, err := m.claim(w)
	if err != nil {
		return outcome{}, err
	}
	if !mine {
		return v.join(ctx, true)
	}
	o, err := m.begin(ctx, w, v)
	if o.live == nil {
		m.forget(w, v)
	}
	if err != nil || o.live == nil {
		return o, err
	}
	return v.join(ctx, false)
}

// claim finds the Job of a key in memory, or makes the place for it.
func (m *Manager) claim(w wish) (v *live, mine bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed != nil {
		return nil, false, m.closed
	}
	if v := m.byKey[w.key.Name()]; v != nil {
		if v.intent != w.intent {
			return nil, false, fault.New(fault.OperationConflict, "the key was used for another request").At("operation_key").
				Hint("use a new key for a new request, or repeat the first request exactly")
		}
		return v, false, nil
	}
	v = newLive(m.s.Clock, m.s.Cleaner, w.launch)
	v.intent = w.intent
	m.byKey[w.key.Name()] = v
	return v, true, nil
}

// join waits until the launch is decided, and answers the Job, or why it was not
// launched.
func (v *live) join(ctx context.Context, replayed bool) (outcome, error) {
	select {
	case <-v.launched:
	case <-ctx.Done():
		return outcome{}, fault.Wrap(fault.Cancelled, ctx.Err(), "the session ended before the launch was decided").
			Hint("begin a new session and repeat the request with its key")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.admit:
		return outcome{live: v, replayed: replayed}, nil
	case v.err != nil:
		return outcome{}, v.err
	}
	return outcome{}, fault.New(fault.InProgress, "the first request of this key was not launched").At("operation_key").
		Hint("repeat the request")
}

// forget gives the key back when nothing was launched.
func (m *Manager) forget(w wish, v *live) {
	m.mu.Lock()
	if m.byKey[w.key.Name()] == v {
		delete(m.byKey, w.key.Name())
	}
	m.mu.Unlock()
	v.decide()
}

// begin answers an earlier launch of the ledger, or what approval is missing, or
// sets the Job to work.
func (m *Manager) begin(ctx context.Context, w wish, v *live) (outcome, error) {
	earlier, err := m.earlier(ctx, w)
	if err != nil || earlier != nil {
		return outcome{recorded: earlier, replayed: true}, err
	}
	if !w.launch.Approved() {
		a, err := m.prepare(ctx, w)
		return outcome{approval: a}, err
	}
	p, a, err := m.approved(ctx, w)
	if err != nil || a != nil {
		return outcome{approval: a}, err
	}
	if err := m.add(ctx, w, v); err != nil {
		return outcome{}, err
	}
	// The Job's life is its own, not that of the request.
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m.mu.Lock()
	v.cancel = cancel
	why := m.closed
	if why == nil {
		m.jobs = append(m.jobs, v)
		m.work.Go(func() { m.execute(work, w, v, p) })
	}
	m.mu.Unlock()
	if why != nil {
		// Close came meanwhile and waits for the Jobs that it found.
		cancel()
		m.finish(work, w, v, standardcode.Result{}, why)
		return outcome{}, why
	}
	return outcome{live: v}, nil
}

// earlier finds a launch that the ledger knows by its key.
func (m *Manager) earlier(ctx context.Context, w wish) (*job.Job, error) {
	var found *job.Job
	err := m.s.Ledger.Read(ctx, func(rec ports.Records) error {
		found = nil
		var answer launched
		done, err := w.key.Replay(rec, &answer)
		if err != nil || !done {
			return err
		}
		j, err := rec.Job(answer.Job)
		found = &j
		return err
	})
	return found, err
}

// launched is what an operation of the ledger answers.
type launched struct {
	Job id.Job `json:"job_id"`
}

// prepare proposes the command at the Drydock's present state.
func (m *Manager) prepare(ctx context.Context, w wish) (*ApprovalView, error) {
	var d drydock.Drydock
	err := m.s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
		d, err = rec.DrydockOfRun(m.run)
		if errors.Is(err, fault.NotFound) {
			err = nil // prepare says so in the words of readiness
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	r := standardcode.Request{
		Run: m.run, Generation: d.Generation, Checkpoint: d.Checkpoint, Gates: m.gates, Command: w.launch.Command, Stdin: w.launch.Stdin,
	}
	p, err := m.s.Commands.Prepare(ctx, r, "job:"+canon.Digest([]any{w.key.Name(), d.Generation, d.Checkpoint}))
	if err != nil {
		return nil, err
	}
	return m.missing(ctx, w.index, p.PreparationID)
}

// missing says what an operator has to decide.
func (m *Manager) missing(ctx context.Context, index int, pid id.Preparation) (*ApprovalView, error) {
	var p approval.Preparation
	var a approval.Approval
	err := m.s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
		if p, err = rec.Preparation(pid); err != nil {
			return err
		}
		a, err = rec.ApprovalOfPreparation(pid)
		return err
	})
	return &ApprovalView{
		Index: index, Preparation: p.ID, Approval: a.ID, Status: a.Status(m.s.Clock.Now()),
		Generation: p.Authority.Generation, Checkpoint: p.Authority.Checkpoint,
		Type: []string{
			fmt.Sprintf("cyberagent run sandbox request %s", pid),
			approval.TypeToApprove(pid),
		},
	}, err
}

// approved loads what the launch names. A pending approval is answered like a
// missing one; every other refusal is Execute's, in its transaction.
func (m *Manager) approved(ctx context.Context, w wish) (approval.Preparation, *ApprovalView, error) {
	var p approval.Preparation
	var a approval.Approval
	err := m.s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
		if p, err = rec.Preparation(w.launch.Preparation); err != nil {
			return err
		}
		a, err = rec.Approval(w.launch.Approval)
		return err
	})
	switch {
	case err != nil:
		return p, nil, err
	case p.Run != m.run:
		return p, nil, fault.New(fault.ApprovalForeign, "preparation %s belongs to another Run", p.ID).At("preparation_id").
			Hint("use what approval_required answered in this session")
	case a.Preparation == p.ID && a.Status(m.s.Clock.Now()) == approval.Pending:
		v, err := m.missing(ctx, w.index, p.ID)
		return p, v, err
	}
	return p, nil, nil
}

// add records the Job, prepared, where there is room for it.
func (m *Manager) add(ctx context.Context, w wish, v *live) error {
	now := m.s.Clock.Now()
	j := job.Job{
		ID: id.Job(m.s.IDs.New(id.KindJob)), Run: m.run, Owner: m.owner, Preparation: w.launch.Preparation, Approval: w.launch.Approval,
		Stdin: w.launch.Stdin, OperationKey: w.key.Name(), CreatedAt: now, State: job.Prepared, Version: 1, UpdatedAt: now,
	}
	try := func() error {
		return m.s.Ledger.Write(ctx, func(rec ports.Records) error {
			open, err := rec.OpenJobs("")
			if err != nil {
				return err
			}
			if err := job.Room(open, m.run); err != nil {
				return err
			}
			return rec.AddJob(j)
		})
	}
	err := try()
	if fault.CodeOf(err) == fault.LimitReached {
		// Some may be those of the dead.
		if _, rerr := m.s.Reconcile(ctx, ""); rerr != nil {
			return rerr
		}
		err = try()
	}
	if err == nil {
		v.mu.Lock()
		v.job = j
		v.mu.Unlock()
	}
	return err
}
