package jobs

import (
	"context"

	"cyberagent/app/standardcode"
	"cyberagent/domain/approval"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/job"
	"cyberagent/ports"
)

// execute is a Job's whole life, from its admission to its recorded end.
func (m *Manager) execute(ctx context.Context, w wish, v *live, p approval.Preparation) {
	defer v.cancel()
	in := standardcode.ExecuteInput{
		Request: standardcode.Request{
			Run: m.run, Generation: p.Authority.Generation, Checkpoint: p.Authority.Checkpoint, Gates: m.gates,
			Command: w.launch.Command, Stdin: w.launch.Stdin,
		},
		Preparation: w.launch.Preparation, Approval: w.launch.Approval, OperationKey: w.key.Name(),
		Live: v.sink, Kill: v.kill, Admitted: func(a id.Admission) { m.admitted(w, v, a) },
	}
	if v.stdin != nil {
		in.Feed = v.stdin.feed
	}
	r, _, err := m.s.Commands.Execute(ctx, in)
	if v.stdin != nil {
		v.stdin.end()
	}
	if err == nil && !v.wasAdmitted() {
		// An earlier owner ran it and died before its Job knew: this is its end.
		m.admitted(w, v, r.ExecutionID)
	}
	m.finish(ctx, w, v, r, err)
}

func (v *live) wasAdmitted() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.admit
}

// admitted makes the Job running and remembers its key with it, in one
// transaction. From now on the key answers this Job.
func (m *Manager) admitted(w wish, v *live, a id.Admission) {
	v.mu.Lock()
	v.job.Admission, v.admit = a, true
	v.mu.Unlock()
	err := m.step(context.Background(), v, job.Running, "", func(rec ports.Records) error {
		if err := w.key.Record(rec, launched{v.id()}, m.s.Clock.Now()); err != nil {
			return err
		}
		return rec.AddEvent(m.event(v, "job.running"))
	})
	if err != nil {
		v.cancel() // a Job that the ledger does not know as running must not run
	}
	v.decide()
}

func (m *Manager) event(v *live, kind string) ports.Event {
	return ports.Event{Run: m.run, Kind: kind, Subject: string(v.id()), At: m.s.Clock.Now()}
}

// step records the Job's next state. A Job that is being stopped does not become
// running; what comes with that is recorded all the same.
func (m *Manager) step(ctx context.Context, v *live, to job.State, reason string, more func(ports.Records) error) error {
	v.stepping.Lock()
	defer v.stepping.Unlock()
	j, _ := v.now()
	next, moves := j, true
	if to == job.Running && j.State == job.Stopping {
		moves = false
	} else {
		var err error
		if next, err = j.To(to, reason, m.s.Clock.Now()); err != nil {
			return err
		}
	}
	err := m.s.Ledger.Write(context.WithoutCancel(ctx), func(rec ports.Records) error {
		if moves {
			if err := rec.StepJob(next); err != nil {
				return err
			}
		}
		return more(rec)
	})
	v.mu.Lock()
	defer v.mu.Unlock()
	if err == nil {
		next.Admission = v.job.Admission
		v.job = next
		v.notify()
	}
	return err
}

// stop asks the Job to end the TERM way. Repeating it is harmless.
func (m *Manager) stop(ctx context.Context, v *live) {
	_ = m.step(ctx, v, job.Stopping, "", func(rec ports.Records) error { return rec.AddEvent(m.event(v, "job.stopping")) })
	m.mu.Lock()
	cancel := v.cancel
	m.mu.Unlock()
	cancel()
}

// finish records the end, and keeps it in memory even if the ledger takes nothing
// any more: reconciliation calls the Job interrupted then.
func (m *Manager) finish(ctx context.Context, w wish, v *live, r standardcode.Result, err error) {
	to, reason := job.Failed, string(fault.CodeOf(err))
	switch {
	case err == nil:
		to, reason = job.Ended(r.Status), string(r.ReasonCode)
	case fault.CodeOf(err) == fault.LeaseLost:
		to = job.Interrupted
	case ctx.Err() != nil && !v.wasAdmitted():
		to, reason = job.Cancelled, string(fault.Cancelled)
	}
	v.mu.Lock()
	v.err = err
	if err == nil {
		v.result = &r
	}
	v.drain(v.result)
	v.mu.Unlock()
	serr := m.step(ctx, v, to, reason, func(rec ports.Records) error { return rec.AddEvent(m.event(v, "job."+string(to))) })
	v.mu.Lock()
	if serr != nil {
		// Somebody who held this owner for dead was first, or the ledger is full.
		v.job.State, v.job.Reason, v.job.UpdatedAt = job.Interrupted, string(fault.CodeOf(serr)), m.s.Clock.Now()
	}
	v.notify()
	admitted := v.admit
	v.mu.Unlock()
	m.tidy() // whoever learns of the end finds the output bounded
	close(v.done)
	if !admitted {
		m.forget(w, v)
	}
	v.decide()
}
