package drydocks

import (
	"context"
	"io"

	"cyberagent/app/operation"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/ports"
)

// CheckpointInput asks for a Checkpoint of a Run's Drydock. Confirm says that
// the operator looked at a Drydock that is recovery_required and takes its files
// as they are.
type CheckpointInput struct {
	Run          id.Run
	Confirm      bool
	OperationKey string
}

// Checkpoint records the files exactly. It refuses while a command may have a
// container on the Drydock (in_progress), and a Drydock in doubt without
// Confirm (recovery_required).
func (s *Service) Checkpoint(ctx context.Context, in CheckpointInput) (CheckpointView, error) {
	key, err := operation.NewKey(in.Run, "drydock.checkpoint", in.OperationKey, in.Confirm)
	if err != nil {
		return CheckpointView{}, err
	}
	var v CheckpointView
	replayed := false
	if err := s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
		replayed, err = key.Replay(rec, &v)
		return err
	}); err != nil || replayed {
		v.Replayed = replayed
		return v, err
	}
	st, err := s.state(ctx, in.Run)
	if err == nil {
		err = st.idle()
	}
	d := st.drydock
	switch {
	case err != nil:
		return v, err
	case d.Status == drydock.RecoveryRequired && !in.Confirm:
		return v, fault.New(fault.RecoveryRequired, "the Drydock is in doubt: %s", d.Reason).At("run").
			Hint("look at its files, then repeat with --confirm to take them as they are")
	case !d.Whole() && d.Status != drydock.RecoveryRequired:
		return v, notReady(d)
	}
	if err := s.Worktrees.Verify(ctx, d.Place); err != nil {
		return v, err
	}
	next := id.Checkpoint(s.IDs.New(id.KindCheckpoint))
	capture, err := s.Worktrees.Capture(ctx, d.Place, d.Checkpoint, next)
	if err != nil {
		return v, err
	}
	s.hit("checkpoint.captured")
	now := s.Clock.Now()
	parent := d.Checkpoint
	d = d.Advance(next, now)
	c := drydock.Checkpoint{
		ID: next, Drydock: d.ID, Run: d.Run, Parent: parent, Generation: d.Generation, Origin: drydock.OriginOperator,
		Receipt: id.Receipt(s.IDs.New(id.KindReceipt)), Capture: capture, CreatedAt: now,
	}
	v = checkpointView(c)
	write := func(fn func(ports.Records) error) error { return s.Ledger.Write(ctx, fn) }
	replayed, err = operation.Once(write, key, now, &v, func(rec ports.Records) error {
		// A command that was admitted meanwhile owns the files now.
		present, err := readState(rec, in.Run)
		if err == nil {
			err = present.idle()
		}
		if err != nil {
			return err
		}
		if p := drydock.Pending(st.steps); p != nil {
			// The operator takes the files of a verb that was cut off as they are.
			if err := s.note(rec, s.step(d, p.Verb, drydock.Kept, p.Key, map[string]string{"checkpoint": string(next)}, d.UpdatedAt)); err != nil {
				return err
			}
		}
		if err := rec.UpdateDrydock(d); err != nil {
			return err
		}
		if err := rec.AddCheckpoint(c); err != nil {
			return err
		}
		return rec.AddEvent(ports.Event{Run: d.Run, Kind: "drydock.checkpoint", Subject: string(c.ID), At: now})
	})
	v.Replayed = replayed
	return v, err
}

// Log returns the Drydock's Checkpoints, the oldest first; those of a cleaned one,
// too, for the ledger keeps its history.
func (s *Service) Log(ctx context.Context, rid id.Run) ([]CheckpointView, error) {
	st, err := s.last(ctx, rid)
	if err != nil {
		return nil, err
	}
	views := []CheckpointView{}
	err = s.Ledger.Read(ctx, func(rec ports.Records) error {
		all, err := rec.ListCheckpoints(st.drydock.ID)
		for _, c := range all {
			views = append(views, checkpointView(c))
		}
		return err
	})
	return views, err
}

// DiffInput names two Checkpoints of the Run's Drydock. An empty To means the
// current one, an empty From means To's parent; Base means the source's commit.
type DiffInput struct {
	Run      id.Run
	From, To id.Checkpoint
	Base     bool
}

// DiffView is what a diff is between.
type DiffView struct {
	Protocol string        `json:"protocol_version"`
	RunID    id.Run        `json:"run_id"`
	From     id.Checkpoint `json:"from_id"` // empty for the base commit
	To       id.Checkpoint `json:"to_id"`
	// Patch and its encoding are filled by the command line for JSON: a patch is
	// bytes, and what is not UTF-8 is base64 there.
	Patch    string `json:"patch"`
	Encoding string `json:"patch_encoding"`
}

// Diff writes the patch between two Checkpoints of the Run's own Drydock.
func (s *Service) Diff(ctx context.Context, in DiffInput, w io.Writer) (DiffView, error) {
	d, _, err := s.current(ctx, in.Run)
	if err != nil {
		return DiffView{}, err
	}
	if in.To == "" {
		in.To = d.Checkpoint
	}
	err = s.Ledger.Read(ctx, func(rec ports.Records) error {
		to, err := own(rec, d, in.To, "to")
		if err != nil || in.Base {
			return err
		}
		if in.From == "" {
			in.From = to.Parent
		}
		if in.From == "" {
			return nil
		}
		_, err = own(rec, d, in.From, "from")
		return err
	})
	if err != nil {
		return DiffView{}, err
	}
	if in.Base {
		in.From = ""
	}
	v := DiffView{Protocol: DiffProtocol, RunID: in.Run, From: in.From, To: in.To}
	return v, s.Worktrees.Diff(ctx, d.Place, in.From, in.To, w)
}

// own reads a Checkpoint and refuses one of another Drydock.
func own(rec ports.Records, d drydock.Drydock, cid id.Checkpoint, field string) (drydock.Checkpoint, error) {
	c, err := rec.Checkpoint(cid)
	if err == nil && c.Drydock != d.ID {
		err = fault.New(fault.NotFound, "%s is not a Checkpoint of this Run", cid).At(field).
			Hint("list them with `cyberagent drydock log %s`", d.Run)
	}
	return c, err
}
