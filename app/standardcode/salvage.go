package standardcode

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
	"cyberagent/domain/result"
	"cyberagent/ports"
)

// salvage is recovery's work on one admission.
type salvage struct {
	s      *Service
	engine ports.Engine
	adm    lifecycle.Admission

	// renewing guards lease, which the heartbeat moves on.
	renewing   sync.Mutex
	lease      lifecycle.Lease
	situation  lifecycle.Situation
	drydock    drydock.Drydock
	containers []ports.Container // exactly owned
	known      ports.ContainerID // the one that was created, by the log
	started    time.Time
}

// glance tells from the ledger alone where the admission stands and whether its
// owner lives. Nothing is decided by it.
func (v *salvage) glance(ctx context.Context) (ownerLives bool, err error) {
	err = v.s.Ledger.Read(ctx, func(rec ports.Records) error {
		log, err := rec.Log(v.adm.ID)
		if err != nil {
			return err
		}
		ownerLives = !v.s.ownerDead(rec, v.adm.ID)
		v.situation.State, err = lifecycle.Replay(lifecycle.EventsOf(log))
		return err
	})
	return ownerLives, err
}

// look reads the ledger and the engine anew.
func (v *salvage) look(ctx context.Context) error {
	if err := v.s.Ledger.Read(ctx, v.read); err != nil {
		return err
	}
	return v.observe(ctx)
}

// read tells what the ledger says of the admission.
func (v *salvage) read(rec ports.Records) error {
	v.situation = lifecycle.Situation{}
	log, err := rec.Log(v.adm.ID)
	if err != nil {
		return err
	}
	events := lifecycle.EventsOf(log)
	if v.situation.State, err = lifecycle.Replay(events); err != nil {
		return err
	}
	v.situation.StartIntended = lifecycle.MayHaveStarted(events)
	for _, e := range log {
		if d := verdictOf(e.Detail); d != nil {
			v.situation.Reported = d
		}
		switch e.Event {
		case lifecycle.CreateDone:
			v.known = ports.ContainerID(e.Detail[createdContainer])
		case lifecycle.StartIntent:
			v.started = e.At
		}
	}
	c, err := rec.Cancellation(v.adm.ID)
	if err != nil {
		return err
	}
	v.situation.Cancelled = c != nil
	if _, err = rec.CheckpointOfAdmission(v.adm.ID); err == nil {
		v.situation.Checkpointed = true
	} else if !errors.Is(err, fault.NotFound) {
		return err
	}
	v.drydock, err = rec.Drydock(v.adm.Authority.Drydock)
	return err
}

// observe asks the engine and, where the table needs it, the files.
func (v *salvage) observe(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, limits.EngineCall)
	defer cancel()
	found, err := v.engine.Find(call, v.adm.ID)
	if err != nil {
		v.situation.Seen = lifecycle.SeenUnreachable
		return nil //nolint:nilerr // an engine that does not answer is a fact here
	}
	v.containers, v.situation.Seen = classify(found, v.owner())
	if v.mayHaveStartedLate() {
		changes, _, err := v.s.Worktrees.Drift(ctx, v.drydock.Place, v.adm.Authority.Checkpoint, 1)
		v.situation.DrydockUnchanged = err == nil && len(changes) == 0
	}
	return nil
}

// mayHaveStartedLate says whether only the files can tell if the command ran.
func (v *salvage) mayHaveStartedLate() bool {
	s := v.situation
	if !s.StartIntended {
		return false
	}
	expected := s.Reported != nil && s.Reported.Reason == result.NeverStarted
	return s.Seen == lifecycle.SeenCreated || (s.Seen == lifecycle.SeenAbsent && expected)
}

func (v *salvage) owner() ports.Ownership {
	return ports.Ownership{Admission: v.adm.ID, Installation: v.s.Ledger.Installation()}
}

// classify says what the engine shows of an admission.
func classify(found []ports.Container, o ports.Ownership) ([]ports.Container, lifecycle.Seen) {
	if len(found) == 0 {
		return nil, lifecycle.SeenAbsent
	}
	if len(found) > 1 {
		return nil, lifecycle.SeenAmbiguous
	}
	c := found[0]
	if !exact(c, o) {
		return nil, lifecycle.SeenForeign
	}
	seen := map[ports.ContainerState]lifecycle.Seen{
		ports.StateCreated: lifecycle.SeenCreated, ports.StateRunning: lifecycle.SeenRunning,
		ports.StatePaused: lifecycle.SeenPaused, ports.StateExited: lifecycle.SeenExited,
	}[c.State]
	if seen == "" {
		seen = lifecycle.SeenOther
	}
	return found, seen
}

// take makes this process the owner; release ends that. What the ledger says is
// read in the same transaction: whoever owned it before has written his last.
func (v *salvage) take(ctx context.Context) (release func(), err error) {
	owner := id.Owner(v.s.IDs.New(id.KindOwner))
	unlock, err := v.s.Locks.Hold(owner)
	if err != nil {
		return nil, err
	}
	err = v.s.Ledger.Write(ctx, func(rec ports.Records) error {
		dead := false
		if l, err := rec.Lease(v.adm.ID); err == nil && l.Live(v.s.Clock.Boot()) {
			dead = v.s.Locks.Dead(l.Owner)
		}
		var err error
		if v.lease, err = rec.TakeLease(v.adm.ID, owner, v.s.Clock.Boot(), dead); err != nil {
			return err
		}
		return v.read(rec)
	})
	if err != nil {
		unlock()
		return nil, err
	}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	go v.beat(beating)
	return func() { stop(); unlock() }, nil
}

// beat renews the lease while recovery works: stopping, removing and recording
// may take longer than one lease. A lease that is lost shows at the next write.
func (v *salvage) beat(ctx context.Context) {
	tick := time.NewTicker(limits.LeaseBeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		old, boot := v.claim(), v.s.Clock.Boot()
		_ = v.s.Ledger.Write(ctx, func(rec ports.Records) error {
			next, err := rec.RenewLease(old, boot)
			if err != nil {
				return err
			}
			v.renewing.Lock()
			v.lease = next
			v.renewing.Unlock()
			return nil
		})
	}
}

// claim is the lease as it is now.
func (v *salvage) claim() lifecycle.Lease {
	v.renewing.Lock()
	defer v.renewing.Unlock()
	return v.lease
}

func (v *salvage) append(ctx context.Context, e lifecycle.Event, detail map[string]string) error {
	lease := v.claim()
	entry := lifecycle.Entry{
		Admission: v.adm.ID, Event: e, Owner: lease.Owner, Generation: lease.Generation, Detail: detail, At: v.s.Clock.Now(),
	}
	v.s.hit(Recoverer, Before(e))
	defer v.s.hit(Recoverer, After(e))
	return v.s.Ledger.Write(ctx, func(rec ports.Records) error {
		return rec.Append(entry, v.s.Clock.Boot())
	})
}

// apply does the plan step by step. Each step is recorded, and repeating a plan
// after a crash ends alike.
func (v *salvage) apply(ctx context.Context, p lifecycle.Plan) error {
	verdict := result.Verdict{Status: p.Status, Reason: p.Reason}
	if r := v.situation.Reported; r != nil && r.Reason == p.Reason {
		verdict = *r // with its exit code and signal
	}
	r := blank(refOf(v.adm), verdict, v.s.Clock.Now())
	r.Details["recovered"] = p.Why
	if v.situation.StartIntended && !v.started.IsZero() {
		r.StartedAt = &v.started
	}
	if len(v.containers) == 1 && v.situation.Seen == lifecycle.SeenExited {
		r.Details["engine_exit_code"] = strconv.Itoa(v.containers[0].ExitCode)
	}
	var end ending
	if touches(p) {
		// The verdict goes with the intent, before anything is touched: whoever
		// finishes after a crash decides alike.
		if err := v.append(ctx, lifecycle.RemoveIntent, verdictDetail(verdict)); err != nil {
			return err
		}
	}
	for _, step := range p.Steps {
		var err error
		switch step {
		case lifecycle.StepStop:
			err = v.stop(ctx)
		case lifecycle.StepRemove:
			err = v.remove(ctx)
		case lifecycle.StepCheckpoint:
			end = v.checkpoint(ctx, &r)
		case lifecycle.StepFinalize:
			err = v.finalize(ctx, verdict, end, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stop ends a running container of a lost owner.
func (v *salvage) stop(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, limits.EngineCall)
	defer cancel()
	cid := v.containers[0].ID
	v.s.hit(Recoverer, MomentStopping)
	defer v.s.hit(Recoverer, MomentStopped)
	err := v.halt(call, cid)
	if is(err, fault.NotFound) {
		return nil // somebody else removes it, or did: the next step proves that
	}
	return err
}

func (v *salvage) halt(call context.Context, cid ports.ContainerID) error {
	// A frozen process receives nothing; thawing one that runs does nothing.
	_ = v.engine.Thaw(call, cid)
	if err := v.engine.Stop(call, cid); err != nil {
		return err
	}
	soon, stop := context.WithTimeout(call, stopPatience)
	defer stop()
	if _, err := v.engine.Wait(soon, cid); err == nil {
		return nil
	}
	if err := v.engine.Kill(call, cid); err != nil {
		return err
	}
	_, err := v.engine.Wait(call, cid)
	return err
}

func (v *salvage) remove(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, limits.EngineCall)
	defer cancel()
	v.s.hit(Recoverer, MomentRemoving)
	err := removeOwned(call, v.engine, v.owner(), v.known)
	v.s.hit(Recoverer, MomentAbsent)
	if err != nil {
		return err
	}
	return v.append(ctx, lifecycle.RemoveDone, nil)
}

// touches says whether a plan acts on a container.
func touches(p lifecycle.Plan) bool {
	return slices.Contains(p.Steps, lifecycle.StepStop) || slices.Contains(p.Steps, lifecycle.StepRemove)
}

// checkpoint records what the lost command left, or quarantines the Drydock.
func (v *salvage) checkpoint(ctx context.Context, r *Result) ending {
	integrity := r.ReasonCode == result.IntegrityLost
	if err := v.s.Worktrees.Verify(ctx, v.drydock.Place); err != nil {
		r.Details["verify"] = err.Error()
		integrity = true
	}
	v.s.hit(Recoverer, MomentCapturing)
	defer v.s.hit(Recoverer, MomentCaptured)
	return recordFiles(ctx, v.s, v.adm, v.drydock, drydock.OriginRecovery, integrity, r)
}

func (v *salvage) finalize(ctx context.Context, verdict result.Verdict, end ending, r Result) error {
	lease := v.claim()
	v.s.hit(Recoverer, Before(lifecycle.FinalizeDone))
	defer v.s.hit(Recoverer, After(lifecycle.FinalizeDone))
	return v.s.Ledger.Write(ctx, func(rec ports.Records) error {
		defer v.s.hit(Recoverer, Within(lifecycle.FinalizeDone))
		entry := lifecycle.Entry{
			Admission: v.adm.ID, Event: lifecycle.FinalizeDone, Owner: lease.Owner, Generation: lease.Generation,
			Detail: verdictDetail(verdict), At: v.s.Clock.Now(),
		}
		if err := rec.Append(entry, v.s.Clock.Boot()); err != nil {
			return err
		}
		if err := writeEnd(rec, v.adm, verdict, end, r, v.started); err != nil {
			return err
		}
		return rec.ReleaseLease(lease)
	})
}
