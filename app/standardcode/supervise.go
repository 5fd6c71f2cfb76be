package standardcode

import (
	"context"
	"errors"
	"io"
	"time"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
	"cyberagent/domain/result"
	"cyberagent/domain/run"
	"cyberagent/domain/runnerproto"
	"cyberagent/ports"
)

// watching is what runs beside the container: its end, and its two streams.
type watching struct {
	exit   chan exited
	output chan error  // frames ended, cleanly or not
	report chan []byte // the runner's stderr, bounded
	close  func() error
	stdin  *input
}

type exited struct {
	exit ports.Exit
	err  error
}

// watch begins to wait and to read before the start.
func (a *attempt) watch(ctx context.Context, out ports.Output) *watching {
	w := &watching{exit: make(chan exited, 1), output: make(chan error, 1), report: make(chan []byte, 1), close: out.Close}
	go func() {
		e, err := a.engine.Wait(ctx, a.container)
		w.exit <- exited{e, err}
	}()
	go func() { w.output <- a.pump(out.Stdout) }()
	go func() {
		b, _ := io.ReadAll(io.LimitReader(out.Stderr, limits.RunnerReportBytes+1))
		_, _ = io.Copy(io.Discard, out.Stderr)
		w.report <- b
	}()
	return w
}

// pump reads frames to the end, always: what is not kept is counted. After a
// protocol error the rest is drained, so that the container never blocks.
func (a *attempt) pump(r io.Reader) error {
	dec := runnerproto.NewDecoder(r)
	for {
		s, p, err := dec.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			_, _ = io.Copy(io.Discard, r)
			return err
		}
		a.s.hit(Executor, MomentOutput)
		if s == runnerproto.Stdout {
			a.stdout.write(p)
		} else {
			a.stderr.write(p)
		}
		if a.live != nil {
			a.live(s, p)
		}
	}
}

// supervise watches the running container: its end, the authority, the lease,
// the quota's backstop and the outer deadline.
func (a *attempt) supervise(ctx context.Context, w *watching, interrupted, lost <-chan struct{}) (result.Evidence, error) {
	guardCtx, stopGuard := context.WithCancel(ctx)
	defer stopGuard()
	breach := a.guard(guardCtx)
	deadline := time.NewTimer(outerDeadline(a.command))
	defer deadline.Stop()
	tick := time.NewTicker(limits.AuthorityWatch)
	defer tick.Stop()
	var unfed <-chan time.Time
	for {
		select {
		case x := <-w.exit:
			return a.collect(w, x, ""), nil
		case err := <-w.stdin.failed:
			// A command that has ended cannot be attached to, which is normal; one that
			// goes on would wait for an input that never comes.
			a.details["stdin"] = err.Error()
			unfed = time.After(limits.StopGrace)
		case <-unfed:
			return a.end(ctx, w, result.EngineLost, true)
		case <-a.kill:
			a.recordInterrupt(ctx)
			return a.end(ctx, w, result.CancelledReason, false)
		case <-lost:
			_ = w.close()
			return result.Evidence{}, leaseLost(a.adm.ID)
		case <-interrupted:
			a.recordInterrupt(ctx)
			return a.end(ctx, w, result.CancelledReason, true)
		case reason := <-breach:
			return a.end(ctx, w, reason, false)
		case <-deadline.C:
			return a.end(ctx, w, result.Timeout, true)
		case <-tick.C:
			stop, err := a.authority(ctx)
			if err != nil {
				a.details["authority"] = err.Error()
				return a.end(ctx, w, result.AuthorityDrift, true)
			}
			if stop != "" {
				return a.end(ctx, w, stop, true)
			}
		}
	}
}

// end stops the container: TERM first where a report is wanted, then KILL. It
// waits within bounds that an engine that hangs cannot stretch (pitfall F6), and
// touches nothing when the lease is gone.
func (a *attempt) end(ctx context.Context, w *watching, why result.Reason, gently bool) (result.Evidence, error) {
	a.say("stopping: " + string(why))
	w.stdin.close()
	type try struct {
		what string
		send func(context.Context, ports.ContainerID) error
		wait time.Duration
	}
	tries := []try{
		{"stop", a.engine.Stop, limits.StopGrace + time.Second},
		{"kill", a.engine.Kill, limits.StopGrace},
	}
	if !gently {
		tries = tries[1:]
	}
	for i, t := range tries {
		if err := a.own(); err != nil {
			_ = w.close()
			return result.Evidence{}, err
		}
		err := a.signal(ctx, t.what, t.send)
		if is(err, fault.EngineTimeout) {
			break
		}
		hurry := a.kill
		if i == len(tries)-1 {
			hurry = nil
		}
		select {
		case x := <-w.exit:
			return a.collect(w, x, why), nil
		case <-hurry:
		case <-time.After(t.wait):
		}
	}
	_ = w.close()
	a.hung = true
	return result.Evidence{HostStop: why, EngineLost: true}, nil
}

// signal asks the engine within one grace.
func (a *attempt) signal(ctx context.Context, what string, send func(context.Context, ports.ContainerID) error) error {
	call, cancel := detached(ctx, limits.StopGrace)
	defer cancel()
	err := send(call, a.container)
	if err != nil {
		a.details[what] = err.Error()
	}
	return err
}

// drainTime is how long the end of the streams may lag behind the end of the
// process (pitfall A15: the end of the output is the streams' EOF).
const drainTime = 5 * time.Second

// collect drains the streams to their end and reads the report.
func (a *attempt) collect(w *watching, x exited, why result.Reason) result.Evidence {
	a.s.hit(Executor, MomentExited)
	e := result.Evidence{HostStop: why, EngineOOM: x.exit.OOMKilled, EngineLost: x.err != nil || x.exit.Interrupted}
	if x.err != nil {
		a.details["wait"] = x.err.Error()
	}
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	var line []byte
	for range 2 {
		select {
		case err := <-w.output:
			if err != nil {
				a.details["output"] = err.Error()
			}
		case line = <-w.report:
		case <-timer.C:
			a.details["output"] = "the streams did not end"
			_ = w.close()
			timer.Reset(time.Second)
		}
	}
	e.Report = a.report(line)
	if e.Report != nil && !x.exit.Interrupted {
		// The runner's own word about the end is better than a broken wait.
		e.EngineLost = false
	}
	return e
}

// authority compares the ledger with what the admission is bound to. It returns
// why to stop, or nothing.
func (a *attempt) authority(ctx context.Context) (result.Reason, error) {
	var stop result.Reason
	ctx, cancel := detached(ctx, limits.EngineProbeCall)
	defer cancel()
	err := a.s.Ledger.Read(ctx, func(rec ports.Records) error {
		if c, err := rec.Cancellation(a.adm.ID); err != nil || c != nil {
			stop = result.CancelledReason
			return err
		}
		r, err := rec.Run(a.adm.Run)
		if err != nil {
			return err
		}
		d, err := rec.Drydock(a.drydock.ID)
		if err != nil {
			return err
		}
		appr, err := rec.Approval(a.adm.Approval)
		if err != nil {
			return err
		}
		auth := a.adm.Authority
		switch {
		case r.Status != run.Active:
			stop = a.drift("run_status")
		case r.Profile.Revision != auth.ProfileRevision:
			stop = a.drift("profile_revision")
		case r.Permission.Revision != auth.PermissionRevision:
			stop = a.drift("permission_revision")
		case !appr.RevokedAt.IsZero():
			stop = a.drift("approval")
		case d.Generation != auth.Generation || d.Status != drydock.Ready:
			stop = a.drift("generation")
		}
		return nil
	})
	return stop, err
}

func (a *attempt) drift(what string) result.Reason {
	a.details["authority"] = what + " changed"
	return result.AuthorityDrift
}

// recordInterrupt makes the end of the caller's context a recorded, sticky
// cancellation, so that recovery decides alike.
func (a *attempt) recordInterrupt(ctx context.Context) {
	ctx, cancel := detached(ctx, limits.EngineProbeCall)
	defer cancel()
	err := a.s.Ledger.Write(ctx, func(rec ports.Records) error {
		if c, err := rec.Cancellation(a.adm.ID); err != nil || c != nil {
			return err
		}
		return rec.AddCancellation(lifecycle.Cancellation{
			Admission: a.adm.ID, Reason: "the owner process was interrupted", By: "owner", At: a.s.Clock.Now(),
		})
	})
	if err != nil {
		a.details["cancel"] = err.Error()
	}
}
