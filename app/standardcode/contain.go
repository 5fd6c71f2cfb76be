package standardcode

import (
	"context"
	"fmt"
	"strings"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
	"cyberagent/domain/phrase"
	"cyberagent/domain/result"
	"cyberagent/domain/runnerproto"
)

// run is the execution path: contain the command, decide how it ended, remove
// its container, record its files, record its end. From here on the caller's
// cancellation is a wish to end the command, and ends no call of ours: one that it
// cut off would leave a container without an owner.
func (a *attempt) run(caller context.Context) (Result, error) {
	ctx, interrupted := context.WithoutCancel(caller), caller.Done()
	beatCtx, stopBeat := context.WithCancel(ctx)
	defer stopBeat()
	lost := make(chan struct{})
	go a.beat(beatCtx, lost)

	e, err := a.contain(ctx, interrupted, lost)
	if err != nil {
		return Result{}, err
	}
	a.say("removing the container")
	return a.finish(ctx, e)
}

// contain creates, proves, starts and watches the container until its process
// ended or everything was tried. The evidence says what happened; an error means
// that this process must not go on (lease_lost), or must not touch what it found
// (recovery_required).
func (a *attempt) contain(ctx context.Context, interrupted, lost <-chan struct{}) (result.Evidence, error) {
	a.say("creating the container")
	measured := a.baseline(ctx)
	if e, err := a.create(ctx); err != nil || e != nil {
		return deref(e), err
	}
	call, cancel := detached(ctx, limits.EngineCall)
	defer cancel()
	out, err := a.engine.Attach(call, a.container)
	if err != nil {
		a.heard(err)
		return a.notStarted(result.NeverStarted, "attach", err), nil
	}
	defer func() { _ = out.Close() }()

	// The wait is registered before the start (pitfall A3).
	waitCtx, stopWait := context.WithCancel(ctx)
	defer stopWait()
	w := a.watch(waitCtx, out)

	if a.base = <-measured; a.base.err != nil {
		return a.notStarted(result.NeverStarted, "baseline", a.base.err), nil
	}
	if e, err := a.start(ctx, interrupted); err != nil || e != nil {
		a.halt(ctx, err)
		return deref(e), err
	}
	a.say("running")
	w.stdin = a.attachStdin(ctx)
	defer w.stdin.wait()
	return a.supervise(ctx, w, interrupted, lost)
}

// deref makes an absent decision an empty one.
func deref(e *result.Evidence) result.Evidence {
	if e == nil {
		return result.Evidence{}
	}
	return *e
}

// notStarted is the evidence of an attempt that ended before its start.
func (a *attempt) notStarted(why result.Reason, step string, err error) result.Evidence {
	a.details[step] = err.Error()
	a.details["code"] = string(fault.CodeOf(err))
	return result.Evidence{NotStarted: why}
}

// createdContainer is the detail of create:done that says which container it was.
const createdContainer = "container"

// create makes the container and holds the engine's read-back against the
// contract. A non-nil evidence ends the attempt.
func (a *attempt) create(ctx context.Context) (*result.Evidence, error) {
	if e := a.verify(ctx); e != nil {
		return e, nil
	}
	if err := a.own(); err != nil {
		return nil, err
	}
	call, cancel := detached(ctx, limits.EngineCall)
	defer cancel()
	a.s.hit(Executor, MomentCreating)
	cid, observed, err := a.engine.Create(call, a.spec)
	a.s.hit(Executor, MomentCreated)
	switch {
	case is(err, fault.RecoveryRequired):
		return nil, err
	case err != nil:
		a.heard(err)
		e := a.notStarted(result.NeverStarted, "create", err)
		return &e, nil
	}
	a.container = cid
	if diffs := isolation.Compare(a.spec, observed); len(diffs) > 0 {
		a.noteDifferences("read_back", diffs)
		return &result.Evidence{NotStarted: result.IsolationMismatch}, nil
	}
	return a.written(a.append(ctx, lifecycle.CreateDone, map[string]string{createdContainer: string(cid)}))
}

// written makes a full disk before the start an end like any other: what begins
// stops, what exists is cleaned up with the room that the ledger keeps for that
// (pitfall E5).
func (a *attempt) written(err error) (*result.Evidence, error) {
	if is(err, fault.DiskFull) {
		e := a.notStarted(result.NeverStarted, "ledger", err)
		return &e, nil
	}
	return nil, err
}

// halt kills a command whose start could not be recorded: nobody is going to
// watch it. Recovery removes it and tells its end. An owner that lost its lease
// does nothing.
func (a *attempt) halt(ctx context.Context, err error) {
	if err == nil || a.started.IsZero() || a.own() != nil {
		return
	}
	_ = a.signal(ctx, "kill", a.engine.Kill)
}

// heard notes that the engine left a question open for the whole of its time: it
// hangs, and the removal gets no such time again (pitfall F6).
func (a *attempt) heard(err error) { a.hung = a.hung || is(err, fault.EngineTimeout) }

func (a *attempt) noteDifferences(step string, diffs []isolation.Difference) {
	var names []string
	for _, d := range diffs {
		names = append(names, fmt.Sprintf("%s: want %s, got %s", d.Property, brief(d.Want), brief(d.Got)))
	}
	a.details[step] = strings.Join(names, "; ")
}

// brief keeps one value of a difference short and on one line.
func brief(s string) string { return clip(s, 160) }

// clip keeps a text, which may have names that a command chose, to a number of
// characters and on one line.
func clip(s string, most int) string { return phrase.Head(phrase.Line(s), most) }

// verify proves that the Drydock and the mask are what was recorded (pitfall
// G2); a non-nil evidence ends the attempt.
func (a *attempt) verify(ctx context.Context) *result.Evidence {
	if err := a.s.Worktrees.Verify(ctx, a.drydock.Place); err != nil {
		e := a.notStarted(result.NeverStarted, "verify", err)
		e.IntegrityLost = is(err, fault.IntegrityLost)
		return &e
	}
	mask, err := a.s.Masks.Mask(ctx)
	if err == nil {
		err = isolation.CheckMask(mask)
	}
	if err != nil {
		e := a.notStarted(result.NeverStarted, "mask", err)
		return &e
	}
	return nil
}

// start sends the one start request, unless the authority is gone or the files
// changed. A non-nil evidence ends the attempt.
func (a *attempt) start(ctx context.Context, interrupted <-chan struct{}) (*result.Evidence, error) {
	if e := a.verify(ctx); e != nil {
		return e, nil
	}
	stop, err := a.authority(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case <-interrupted:
		a.recordInterrupt(ctx)
		stop = result.CancelledReason
	case <-a.kill:
		a.recordInterrupt(ctx)
		stop = result.CancelledReason
	default:
	}
	if stop != "" {
		return &result.Evidence{NotStarted: result.NeverStarted, HostStop: stop}, nil
	}
	if e, err := a.written(a.append(ctx, lifecycle.StartIntent, nil)); err != nil || e != nil {
		return e, err
	}
	if err := a.own(); err != nil {
		return nil, err
	}
	call, cancel := detached(ctx, limits.EngineCall)
	defer cancel()
	a.started = a.s.Clock.Now()
	a.s.hit(Executor, MomentStarting)
	err = a.engine.Start(call, a.container)
	a.s.hit(Executor, MomentStarted)
	switch {
	case is(err, fault.StartFailed):
		e := a.notStarted(result.StartFailed, "start", err)
		return &e, nil
	case err != nil:
		// Whether it runs is open. It is not asked again: it is ended.
		a.heard(err)
		a.details["start"] = err.Error()
		return &result.Evidence{EngineLost: true}, nil
	}
	return nil, a.append(ctx, lifecycle.StartDone, nil)
}

// report reads the runner's one line; nil without a valid one.
func (a *attempt) report(line []byte) *runnerproto.Report {
	r, err := runnerproto.DecodeReport(line, string(a.adm.ID), a.adm.ManifestSHA256)
	if err != nil {
		a.details["report"] = err.Error()
		return nil
	}
	if len(r.Mismatches) > 0 {
		a.noteDifferences("measured", r.Mismatches)
	}
	if r.Detail != "" {
		a.details["runner"] = brief(r.Detail)
	}
	return &r
}
