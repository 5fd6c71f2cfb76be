package drydocks

import (
	"context"
	"time"

	"cyberagent/app/operation"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/limits"
	"cyberagent/domain/phrase"
	"cyberagent/domain/run"
	"cyberagent/ports"
)

// ForkProtocol names the answer of fork.
const ForkProtocol = "drydock-fork.v1"

// ForkInput asks for a new Run whose Drydock begins with the files of a
// Checkpoint; the current one when none is named.
type ForkInput struct {
	Run          id.Run
	Checkpoint   id.Checkpoint
	Title        string
	Life         time.Duration // 0 means the default
	OperationKey string
}

// ForkView is the new Run and its Drydock. It has the profile and permission of
// any new Run: nothing was inherited.
type ForkView struct {
	Protocol   string         `json:"protocol_version"`
	FromRun    id.Run         `json:"from_run_id"`
	From       id.Checkpoint  `json:"from_checkpoint_id"`
	RunID      id.Run         `json:"run_id"`
	Title      string         `json:"title"`
	Profile    run.Profile    `json:"profile"`
	Permission run.Permission `json:"permission"`
	Drydock    View           `json:"drydock"`
	Checkpoint CheckpointView `json:"checkpoint"`
	Replayed   bool           `json:"replayed"`
}

// Fork makes it from the same base commit of the same source. The files of the
// first Drydock are not read: only what its Checkpoint recorded.
func (s *Service) Fork(ctx context.Context, in ForkInput) (ForkView, error) {
	if in.Life == 0 {
		in.Life = limits.DrydockLife
	}
	if err := CheckLife(in.Life); err != nil {
		return ForkView{}, err
	}
	key, err := operation.NewKey(in.Run, "drydock.fork", in.OperationKey, struct {
		Checkpoint id.Checkpoint
		Title      string
		Life       int64
	}{in.Checkpoint, in.Title, int64(in.Life)})
	if err != nil {
		return ForkView{}, err
	}
	var v ForkView
	answered, begun, err := s.recall(ctx, key, &v)
	if err != nil || answered {
		v.Replayed = answered
		return v, err
	}
	var f forking
	if begun {
		f, err = s.findFork(ctx, in.Run, key.Name())
	} else {
		f, err = s.beginFork(ctx, key, in)
	}
	if err != nil {
		return v, err
	}
	s.hit("fork.begun")
	return s.finishFork(ctx, f, &key)
}

// forking is one fork on its way.
type forking struct {
	from   drydock.Drydock
	target id.Checkpoint
	run    run.Run
	child  drydock.Drydock
	next   id.Checkpoint
	key    string
}

func (s *Service) beginFork(ctx context.Context, key operation.Key, in ForkInput) (f forking, err error) {
	now := s.Clock.Now()
	st, err := s.state(ctx, in.Run)
	if err != nil {
		return f, err
	}
	// The repository may have become one that cannot be used.
	src, err := s.Sources.Inspect(ctx, st.drydock.Source.TopLevel)
	if err == nil && (src.CommonDir != st.drydock.Source.CommonDir || src.ObjectFormat != st.drydock.Source.ObjectFormat) {
		err = fault.New(fault.SourceUnsupported, "the repository at %s is another than the Drydock's", st.drydock.Source.TopLevel).At("run").
			Hint("create a Run on the repository that is there now")
	}
	if err != nil {
		return f, err
	}
	f = forking{key: key.Name(), next: id.Checkpoint(s.IDs.New(id.KindCheckpoint))}
	child := drydock.Drydock{ID: id.Drydock(s.IDs.New(id.KindDrydock)), Status: drydock.Preparing, CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(in.Life)}
	rid := id.Run(s.IDs.New(id.KindRun))
	err = s.Ledger.Write(ctx, func(rec ports.Records) error {
		st, err := readState(rec, in.Run)
		if err != nil {
			return err
		}
		f.from, f.target = st.drydock, in.Checkpoint
		if f.target == "" {
			f.target = f.from.Checkpoint
		}
		switch {
		case drydock.Cleaning(st.steps):
			return cleaning(f.from)
		case f.from.Status == drydock.Preparing:
			return notReady(f.from)
		}
		if _, err := own(rec, f.from, f.target, "checkpoint"); err != nil {
			return err
		}
		parent, err := rec.Run(in.Run)
		if err != nil {
			return err
		}
		title := in.Title
		if title == "" {
			title = phrase.Head("fork of "+parent.Title, limits.TitleRunes)
		}
		if f.run, err = run.New(rid, title, parent.Workspace, now); err != nil {
			return err
		}
		if err := bounds(rec, f.from.Source); err != nil {
			return err
		}
		f.child = child
		f.child.Run, f.child.Source = rid, f.from.Source
		return s.recordFork(rec, key, f, now)
	})
	return f, err
}

func (s *Service) recordFork(rec ports.Records, key operation.Key, f forking, now time.Time) error {
	facts := map[string]string{
		"from_run": string(f.from.Run), "from_drydock": string(f.from.ID), "from_checkpoint": string(f.target), "next": string(f.next),
	}
	if err := rec.AddRun(f.run); err != nil {
		return err
	}
	if err := rec.AddEvent(ports.Event{Run: f.run.ID, Kind: "run.created", Subject: string(f.run.ID), Detail: map[string]string{"forked_from": string(f.from.Run)}, At: now}); err != nil {
		return err
	}
	if err := rec.AddDrydock(f.child); err != nil {
		return err
	}
	if err := s.note(rec, s.step(f.child, drydock.VerbFork, drydock.Begun, f.key, facts, now)); err != nil {
		return err
	}
	if err := rec.AddEvent(ports.Event{Run: f.from.Run, Kind: "drydock.forked", Subject: string(f.child.ID), Detail: map[string]string{"run": string(f.run.ID), "checkpoint": string(f.target)}, At: now}); err != nil {
		return err
	}
	return key.Record(rec, nil, now)
}

// findFork finds the fork that an operation key of a Run began.
func (s *Service) findFork(ctx context.Context, from id.Run, key string) (f forking, err error) {
	err = s.Ledger.Read(ctx, func(rec ports.Records) error {
		all, err := rec.ListDrydocks()
		if err != nil {
			return err
		}
		for _, d := range all {
			steps, err := rec.ListSteps(d.ID)
			if err != nil {
				return err
			}
			if len(steps) > 0 && steps[0].Verb == drydock.VerbFork && steps[0].Key == key && steps[0].Facts["from_run"] == string(from) {
				f, err = forkOf(rec, d, steps[0])
				return err
			}
		}
		return fault.New(fault.NotFound, "the fork that this operation began is gone").At("operation_key").Hint("fork again with a new key")
	})
	return f, err
}

// forkOf reads a fork back from its first receipt.
func forkOf(rec ports.Records, child drydock.Drydock, begun drydock.Step) (f forking, err error) {
	f = forking{child: child, target: id.Checkpoint(begun.Facts["from_checkpoint"]), next: id.Checkpoint(begun.Facts["next"]), key: begun.Key}
	if f.from, err = rec.Drydock(id.Drydock(begun.Facts["from_drydock"])); err == nil {
		f.run, err = rec.Run(child.Run)
	}
	return f, err
}

// finishFork makes the files and records both Checkpoints: the base commit's,
// and the one that was forked. key is nil when reconcile finishes it.
func (s *Service) finishFork(ctx context.Context, f forking, key *operation.Key) (ForkView, error) {
	v := ForkView{
		Protocol: ForkProtocol, FromRun: f.from.Run, From: f.target, RunID: f.run.ID, Title: f.run.Title,
		Profile: f.run.Profile.Profile, Permission: f.run.Permission.Permission,
	}
	if f.from.Status == drydock.Cleaned && f.child.Status == drydock.Preparing {
		return v, fault.New(fault.RecoveryRequired, "the Drydock that was forked is gone").At("run").
			Hint("clean up this one: `cyberagent drydock cleanup %s`", f.run.ID)
	}
	first := id.FirstCheckpoint(f.child.ID)
	place, base, err := s.Worktrees.Create(ctx, f.child.ID, first, f.child.Source)
	if err != nil {
		return v, err
	}
	s.hit("fork.created")
	capture, err := s.Rewinds.Adopt(ctx, place, first, f.next, f.from.Place, f.target)
	if err != nil {
		return v, err
	}
	s.hit("fork.adopted")
	now := s.Clock.Now()
	err = s.Ledger.Write(ctx, func(rec ports.Records) error {
		if key != nil {
			if answered, _, err := key.Recall(rec, &v); err != nil || answered {
				v.Replayed = answered
				return err
			}
		}
		d, err := rec.Drydock(f.child.ID)
		if err != nil {
			return err
		}
		if d.Status == drydock.Preparing {
			d.Place = place
			d = d.Advance(first, now)
			if err := s.append(rec, d, "", drydock.OriginCreate, base); err != nil {
				return err
			}
			d = d.Advance(f.next, now)
			if err := s.append(rec, d, first, drydock.OriginCreate, capture); err != nil {
				return err
			}
			if err := s.note(rec, s.step(d, drydock.VerbFork, drydock.Done, f.key, nil, now)); err != nil {
				return err
			}
		}
		c, err := rec.Checkpoint(f.next)
		if err != nil {
			return err
		}
		v.Drydock, v.Checkpoint = view(d), checkpointView(c)
		if key == nil {
			return nil
		}
		return key.Answer(rec, v)
	})
	return v, err
}

// pendingFork returns the receipt of a fork that was begun and not finished.
func pendingFork(rec ports.Records, d drydock.Drydock) (*drydock.Step, error) {
	steps, err := rec.ListSteps(d.ID)
	if err != nil || d.Status != drydock.Preparing {
		return nil, err
	}
	if p := drydock.Pending(steps); p != nil && p.Verb == drydock.VerbFork {
		return p, nil
	}
	return nil, nil
}
