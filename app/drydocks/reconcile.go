package drydocks

import (
	"context"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/ports"
)

// ReconcileProtocol names the answer of reconcile.
const ReconcileProtocol = "drydock-reconcile.v1"

// ReconcileView says what became of every Drydock that is not simply ready.
type ReconcileView struct {
	Protocol string          `json:"protocol_version"`
	Finished []KeptView      `json:"finished"`
	Kept     []KeptView      `json:"kept"`
	Strays   []drydock.Doubt `json:"strays"`
}

// Reconcile looks at every Drydock. It finishes only a creation that is exactly
// what it set out to make; everything else is preserved, and said why. Without
// thorough it looks only at creations that were cut off and at nothing on disk
// besides.
func (s *Service) Reconcile(ctx context.Context, thorough bool) (ReconcileView, error) {
	v := ReconcileView{Protocol: ReconcileProtocol, Finished: []KeptView{}, Kept: []KeptView{}, Strays: []drydock.Doubt{}}
	var all []state
	err := s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
		all, err = states(rec, func(d drydock.Drydock) bool { return thorough || d.Status == drydock.Preparing })
		return err
	})
	if err != nil {
		return v, err
	}
	var known []id.Drydock
	for _, st := range all {
		d := st.drydock
		known = append(known, d.ID)
		if d.Status == drydock.Preparing && !drydock.Cleaning(st.steps) {
			if !thorough && st.looked() {
				continue
			}
			if err := s.finishCreation(ctx, st, &v); err != nil {
				return v, err
			}
			continue
		}
		if why := s.unsettled(ctx, st, thorough); why != "" {
			v.Kept = append(v.Kept, KeptView{d.Run, d.ID, d.Status, why})
		}
	}
	if thorough {
		v.Strays, err = s.Remnants.Strays(ctx, known)
	}
	return v, err
}

// looked says that a reconcile could not finish this creation before: the next
// one at a start-up does not try again.
func (st state) looked() bool {
	n := len(st.steps)
	return n > 0 && st.steps[n-1].Verb == drydock.VerbReconcile && st.steps[n-1].Phase == drydock.Kept
}

// finishCreation goes on with a creation that was cut off, unless somebody is at
// work on it right now.
func (s *Service) finishCreation(ctx context.Context, st state, v *ReconcileView) error {
	d := st.drydock
	if !s.Remnants.Idle(ctx, d.ID) {
		v.Kept = append(v.Kept, KeptView{d.Run, d.ID, d.Status, "another process is at work on it"})
		return nil
	}
	err := s.create(ctx, d)
	switch {
	case err == nil:
		v.Finished = append(v.Finished, KeptView{d.Run, d.ID, drydock.Ready, "its creation was cut off and is complete"})
		return nil
	case ctx.Err() != nil:
		return err
	}
	v.Kept = append(v.Kept, KeptView{d.Run, d.ID, d.Status, err.Error()})
	if st.looked() || drydock.Pending(st.steps) != nil {
		return nil
	}
	return s.Ledger.Write(ctx, func(rec ports.Records) error {
		return s.note(rec, s.step(d, drydock.VerbReconcile, drydock.Kept, "", map[string]string{"code": string(fault.CodeOf(err))}, s.Clock.Now()))
	})
}

// create finishes one creation, a fork's too.
func (s *Service) create(ctx context.Context, d drydock.Drydock) error {
	var fork *drydock.Step
	var f forking
	err := s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
		if fork, err = pendingFork(rec, d); err == nil && fork != nil {
			f, err = forkOf(rec, d, *fork)
		}
		return err
	})
	if err != nil {
		return err
	}
	if fork != nil {
		_, err := s.finishFork(ctx, f, nil)
		return err
	}
	place, capture, err := s.Worktrees.Create(ctx, d.ID, id.FirstCheckpoint(d.ID), d.Source)
	if err != nil {
		return err
	}
	now := s.Clock.Now()
	d.Place = place
	d = d.Advance(id.FirstCheckpoint(d.ID), now)
	return s.Ledger.Write(ctx, func(rec ports.Records) error {
		if err := s.append(rec, d, "", drydock.OriginCreate, capture); err != nil {
			return err
		}
		if err := s.note(rec, s.step(d, drydock.VerbReconcile, drydock.Done, "", nil, now)); err != nil {
			return err
		}
		return rec.AddEvent(ports.Event{Run: d.Run, Kind: "drydock.ready", Subject: string(d.ID), At: now})
	})
}

// unsettled says why a Drydock needs a person, or nothing.
func (s *Service) unsettled(ctx context.Context, st state, thorough bool) string {
	d := st.drydock
	p := drydock.Pending(st.steps)
	switch {
	case drydock.Cleaning(st.steps):
		return "its clean-up is pending: " + st.advice()
	case p != nil && p.Verb == drydock.VerbRepair:
		return "a repair was cut off: " + st.advice()
	case p != nil && p.Verb == drydock.VerbRewind, d.Status == drydock.RecoveryRequired:
		return d.Reason + "; " + st.advice()
	case st.running != "" || !thorough:
		return ""
	}
	if err := s.Worktrees.Verify(ctx, d.Place); err != nil {
		return err.Error()
	}
	return ""
}
