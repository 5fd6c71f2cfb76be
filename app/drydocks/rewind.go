package drydocks

import (
	"context"

	"cyberagent/app/operation"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/ports"
)

// Protocols of rewind and undo.
const (
	PlanProtocol   = "drydock-plan.v1"
	RewindProtocol = "drydock-rewind.v1"
)

// planShown is how many paths a preview lists. Its digest covers all.
const planShown = 200

// RewindInput names a rewind: to a Checkpoint of the Run's Drydock, or, with
// Undo, to the one before the current one. Confirm is the preview's digest.
type RewindInput struct {
	Run          id.Run
	Target       id.Checkpoint
	Undo         bool
	Confirm      string
	OperationKey string
	// Unkeyed says that the caller chose no key: the key is a new one, and a rewind of
	// the same preview that was cut off is gone on with under its own.
	Unkeyed bool
}

// PlanView is the preview of a rewind.
type PlanView struct {
	Protocol    string               `json:"protocol_version"`
	RunID       id.Run               `json:"run_id"`
	DrydockID   id.Drydock           `json:"drydock_id"`
	Current     id.Checkpoint        `json:"current_id"`
	Target      id.Checkpoint        `json:"target_id"`
	Digest      string               `json:"digest"`
	Counts      drydock.Counts       `json:"counts"`
	Changes     []drydock.PlanChange `json:"changes"`
	Unrecorded  int64                `json:"unrecorded"`
	Index       bool                 `json:"index_changes"`
	Blocked     []drydock.Excluded   `json:"blocked"`
	Interrupted bool                 `json:"interrupted"`
}

// RewindView is what a rewind recorded. Saved is the Checkpoint of what was not
// recorded before; its id is empty when there was nothing.
type RewindView struct {
	Protocol   string         `json:"protocol_version"`
	RunID      id.Run         `json:"run_id"`
	DrydockID  id.Drydock     `json:"drydock_id"`
	Target     id.Checkpoint  `json:"target_id"`
	Saved      id.Checkpoint  `json:"saved_id"`
	Checkpoint CheckpointView `json:"checkpoint"`
	Replayed   bool           `json:"replayed"`
}

// Plan shows what a rewind would do and changes nothing.
func (s *Service) Plan(ctx context.Context, in RewindInput) (PlanView, error) {
	st, target, err := s.target(ctx, in)
	if err != nil {
		return PlanView{}, err
	}
	p, err := s.Rewinds.Plan(ctx, st.drydock.Place, st.drydock.Checkpoint, target, planShown)
	if err != nil {
		return PlanView{}, err
	}
	v := PlanView{
		Protocol: PlanProtocol, RunID: in.Run, DrydockID: st.drydock.ID, Current: p.Current, Target: p.Target, Digest: p.Digest,
		Counts: p.Counts, Changes: p.Changes, Unrecorded: p.Unrecorded, Index: p.Index, Blocked: p.Blocked, Interrupted: p.Interrupted,
	}
	if v.Changes == nil {
		v.Changes = []drydock.PlanChange{}
	}
	return v, nil
}

// target checks that a rewind may begin and finds where it leads.
func (s *Service) target(ctx context.Context, in RewindInput) (st state, target id.Checkpoint, err error) {
	err = s.Ledger.Read(ctx, func(rec ports.Records) error {
		if st, err = readState(rec, in.Run); err != nil {
			return err
		}
		if err := st.idle(); err != nil {
			return err
		}
		if st.drydock.Status == drydock.Preparing {
			return notReady(st.drydock)
		}
		if !in.Undo {
			target = in.Target
			_, err := own(rec, st.drydock, target, "checkpoint")
			return err
		}
		c, err := rec.Checkpoint(st.drydock.Checkpoint)
		if err != nil {
			return err
		}
		if c.Parent == "" {
			return fault.New(fault.InvalidArgument, "the current Checkpoint is the first one: there is nothing to undo").At("run").
				Hint("rewind to it to drop unrecorded changes: `cyberagent drydock rewind %s --checkpoint %s`", in.Run, c.ID)
		}
		target = c.Parent
		return nil
	})
	return st, target, err
}

// Rewind makes the files those of the target and appends that as a Checkpoint.
// What was not recorded is recorded first. A rewind that was cut off leaves the
// Drydock recovery_required; the same call finishes it.
func (s *Service) Rewind(ctx context.Context, in RewindInput) (RewindView, error) {
	key, err := in.key(in.OperationKey)
	if err == nil && in.Unkeyed {
		key, err = s.cutOff(ctx, in, key)
	}
	if err != nil {
		return RewindView{}, err
	}
	var v RewindView
	answered, begun, err := s.recall(ctx, key, &v)
	if err != nil || answered {
		v.Replayed = answered
		return v, err
	}
	var step drydock.Step
	var d drydock.Drydock
	if begun {
		st, err := s.state(ctx, in.Run)
		if err == nil {
			step, err = st.resumed(drydock.VerbRewind, key)
		}
		if err != nil {
			return v, err
		}
		d = st.drydock
	} else if d, step, err = s.beginRewind(ctx, key, in); err != nil {
		return v, err
	}
	o := drydock.RewindOrder{
		Current: step.Checkpoint, Target: id.Checkpoint(step.Facts["target"]), Saved: id.Checkpoint(step.Facts["saved"]),
		Next: id.Checkpoint(step.Facts["next"]), Digest: step.Facts["digest"],
	}
	s.hit("rewind.begun")
	w, err := s.Rewinds.Rewind(ctx, d.Place, o, func(c drydock.Capture) error {
		kept, err := s.keepSaved(ctx, key, d, o, c)
		if err == nil {
			d = kept
		}
		return err
	})
	if err != nil {
		return v, s.refusedRewind(ctx, d, step, err)
	}
	s.hit("rewind.restored")
	return s.finishRewind(ctx, key, d, step, o, w)
}

// key is the operation that an input asks for, under a name.
func (in RewindInput) key(name string) (operation.Key, error) {
	return operation.NewKey(in.Run, "drydock.rewind", name, struct {
		Target  id.Checkpoint
		Undo    bool
		Confirm string
	}{in.Target, in.Undo, in.Confirm})
}

// cutOff returns the key under which the very same was confirmed and begun, and the
// given one where nothing is.
func (s *Service) cutOff(ctx context.Context, in RewindInput, fresh operation.Key) (key operation.Key, err error) {
	key = fresh
	err = s.Ledger.Read(ctx, func(rec ports.Records) error {
		st, err := readState(rec, in.Run)
		if err != nil {
			return err
		}
		p := drydock.Pending(st.steps)
		if p == nil || p.Verb != drydock.VerbRewind {
			return nil
		}
		begun, err := in.key(p.Key)
		if err != nil {
			return err
		}
		switch op, err := begun.Find(rec); {
		case fault.CodeOf(err) == fault.OperationConflict: // something else was confirmed
		case err != nil:
			return err
		case op != nil:
			key = begun
		}
		return nil
	})
	return key, err
}

// keepSaved records what was saved before the first file is replaced: whatever
// becomes of the rewind, it is a Checkpoint that can be gone back to.
func (s *Service) keepSaved(ctx context.Context, key operation.Key, d drydock.Drydock, o drydock.RewindOrder, c drydock.Capture) (drydock.Drydock, error) {
	if d.Checkpoint == o.Saved {
		return d, nil
	}
	now := s.Clock.Now()
	kept := d.Keep(o.Saved, now)
	err := s.Ledger.Write(ctx, func(rec ports.Records) error {
		st, err := readState(rec, d.Run)
		if err == nil {
			_, err = st.resumed(drydock.VerbRewind, key)
		}
		if err != nil {
			return err
		}
		if st.drydock.Checkpoint == o.Saved { // by another process with the same key
			kept = st.drydock
			return nil
		}
		if err := s.append(rec, kept, d.Checkpoint, drydock.OriginOperator, c); err != nil {
			return err
		}
		return rec.AddEvent(ports.Event{Run: d.Run, Kind: "drydock.checkpoint", Subject: string(o.Saved), At: now})
	})
	if err == nil {
		s.hit("rewind.saved")
	}
	return kept, err
}

// beginRewind takes the Drydock out of use before a file is touched.
func (s *Service) beginRewind(ctx context.Context, key operation.Key, in RewindInput) (drydock.Drydock, drydock.Step, error) {
	none := func(err error) (drydock.Drydock, drydock.Step, error) { return drydock.Drydock{}, drydock.Step{}, err }
	plan, err := s.Plan(ctx, in)
	switch {
	case err != nil:
		return none(err)
	case plan.Digest != in.Confirm:
		return none(fault.New(fault.TrustMismatch, "this is not what was confirmed").At("confirm").
			Hint("look at the preview again and confirm its digest").With("digest", plan.Digest))
	case len(plan.Blocked) > 0:
		return none(fault.New(fault.RecoveryRequired, "the entry %s (%s) stands where the target has something else", plan.Blocked[0].Path, plan.Blocked[0].Reason).
			At("confirm").Hint("move it out of the Drydock: such an entry is never changed"))
	}
	now := s.Clock.Now()
	facts := map[string]string{
		"target": string(plan.Target), "saved": s.IDs.New(id.KindCheckpoint), "next": s.IDs.New(id.KindCheckpoint), "digest": plan.Digest,
	}
	var d drydock.Drydock
	var step drydock.Step
	err = s.Ledger.Write(ctx, func(rec ports.Records) error {
		st, err := readState(rec, in.Run)
		if err == nil {
			err = st.idle()
		}
		if err == nil && st.drydock.Checkpoint != plan.Current {
			err = overtaken(st.drydock)
		}
		if err != nil {
			return err
		}
		facts["status"] = string(st.drydock.Status)
		d = st.drydock.Quarantine("a rewind to "+string(plan.Target)+" is under way, or was cut off: its files are neither the one nor the other", now)
		step = s.step(d, drydock.VerbRewind, drydock.Begun, key.Name(), facts, now)
		if err := s.take(rec, d, step); err != nil {
			return err
		}
		return key.Record(rec, nil, now)
	})
	return d, step, err
}

// refusedRewind gives the Drydock back when nothing was changed: the files were
// not what was confirmed.
func (s *Service) refusedRewind(ctx context.Context, d drydock.Drydock, begun drydock.Step, cause error) error {
	if fault.CodeOf(cause) != fault.TrustMismatch {
		return cause
	}
	now := s.Clock.Now()
	err := s.Ledger.Write(ctx, func(rec ports.Records) error {
		back := d.Settle(drydock.Status(begun.Facts["status"]), "", now)
		if back.Status == drydock.RecoveryRequired {
			back.Reason = "a rewind was refused; look at the files, then take them with checkpoint --confirm"
		}
		return s.take(rec, back, s.step(back, drydock.VerbRewind, drydock.Kept, begun.Key, map[string]string{"code": string(fault.CodeOf(cause))}, now))
	})
	if err != nil {
		return err
	}
	return cause
}

func (s *Service) finishRewind(ctx context.Context, key operation.Key, d drydock.Drydock, begun drydock.Step, o drydock.RewindOrder, w drydock.Rewound) (RewindView, error) {
	now := s.Clock.Now()
	v := RewindView{Protocol: RewindProtocol, RunID: d.Run, DrydockID: d.ID, Target: o.Target}
	err := s.Ledger.Write(ctx, func(rec ports.Records) error {
		if answered, _, err := key.Recall(rec, &v); err != nil || answered {
			v.Replayed = answered
			return err // another process was faster
		}
		parent := d.Checkpoint
		if w.Saved != nil {
			v.Saved = o.Saved
		}
		d := d.Advance(o.Next, now)
		if err := s.append(rec, d, parent, drydock.OriginRewind, w.Result); err != nil {
			return err
		}
		c, err := rec.Checkpoint(o.Next)
		if err != nil {
			return err
		}
		v.Checkpoint = checkpointView(c)
		if err := s.note(rec, s.step(d, drydock.VerbRewind, drydock.Done, begun.Key, map[string]string{"target": string(o.Target)}, now)); err != nil {
			return err
		}
		return key.Answer(rec, v)
	})
	return v, err
}

// append records one Checkpoint with the Drydock's next state.
func (s *Service) append(rec ports.Records, d drydock.Drydock, parent id.Checkpoint, o drydock.Origin, capture drydock.Capture) error {
	if err := rec.UpdateDrydock(d); err != nil {
		return err
	}
	return rec.AddCheckpoint(drydock.Checkpoint{
		ID: d.Checkpoint, Drydock: d.ID, Run: d.Run, Parent: parent, Generation: d.Generation, Origin: o,
		Receipt: id.Receipt(s.IDs.New(id.KindReceipt)), Capture: capture, CreatedAt: d.UpdatedAt,
	})
}
