package drydocks

import (
	"context"
	"errors"
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

// Inspect is the first step of create: it reads the source and changes nothing. It
// refuses what Create would refuse.
func (s *Service) Inspect(ctx context.Context, rid id.Run) (SourceView, error) {
	var r run.Run
	err := s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
		r, err = rec.Run(rid)
		return err
	})
	if err == nil {
		err = r.Eligible()
	}
	if err != nil {
		return SourceView{}, err
	}
	src, err := s.Sources.Inspect(ctx, r.Workspace)
	if err != nil {
		return SourceView{}, err
	}
	err = s.Ledger.Read(ctx, func(rec ports.Records) error {
		_, err := creatable(rec, rid, src)
		return err
	})
	if err != nil {
		return SourceView{}, err
	}
	return SourceView{Protocol: SourceProtocol, RunID: rid, Source: src, TrustDigest: src.TrustDigest()}, nil
}

// CreateInput is the second step: TrustDigest is what the first step showed.
type CreateInput struct {
	Run          id.Run
	TrustDigest  string
	Life         time.Duration // 0 means the default
	OperationKey string
}

// Create makes the Drydock of a Run from the source's HEAD. The ledger knows of
// it before a file is written, and a call that was cut off is finished by
// repeating it. It returns trust_digest_mismatch when the source is no longer
// what was shown, limit_reached, operation_conflict when the Run has one.
func (s *Service) Create(ctx context.Context, in CreateInput) (View, error) {
	life := in.Life
	if life == 0 {
		life = limits.DrydockLife
	}
	if err := CheckLife(life); err != nil {
		return View{}, err
	}
	key, err := operation.NewKey(in.Run, "drydock.create", in.OperationKey, struct {
		TrustDigest string
		Life        int64
	}{in.TrustDigest, int64(life)})
	if err != nil {
		return View{}, err
	}
	var done View
	replayed := false
	if err := s.Ledger.Read(ctx, func(rec ports.Records) error {
		op, err := key.Find(rec)
		if err != nil || op == nil || op.Answer == nil {
			return err
		}
		replayed, err = key.Replay(rec, &done)
		return err
	}); err != nil || replayed {
		done.Replayed = replayed
		return done, err
	}
	if v, ok, err := s.reconciled(ctx, key, in.Run); err != nil || ok {
		return v, err
	}
	shown, err := s.Inspect(ctx, in.Run)
	if err != nil {
		return View{}, err
	}
	if shown.TrustDigest != in.TrustDigest {
		return View{}, fault.New(fault.TrustMismatch, "the source is not what was confirmed").At("trust").
			Hint("run `cyberagent drydock create %s` again, read what it shows, and confirm the new digest", in.Run).
			With("trust_digest", shown.TrustDigest)
	}
	d, err := s.begin(ctx, key, shown.Source, in.Run, life)
	if err != nil {
		return View{}, err
	}
	s.hit("create.begun")
	place, capture, err := s.Worktrees.Create(ctx, d.ID, id.FirstCheckpoint(d.ID), d.Source)
	if err != nil {
		return View{}, err
	}
	s.hit("create.created")
	return s.finish(ctx, key, d, place, capture)
}

// CheckLife refuses a life that Create would refuse (invalid_argument at life).
func CheckLife(life time.Duration) error {
	if life < time.Minute || life > limits.DrydockLifeMax {
		return fault.New(fault.InvalidArgument, "%s is outside 1m..%s", life, limits.DrydockLifeMax).At("life").
			Hint("give 1m to %s", limits.DrydockLifeMax)
	}
	return nil
}

// begin records the Drydock as preparing, or finds the one that an earlier call
// began on the same source.
func (s *Service) begin(ctx context.Context, key operation.Key, src drydock.Source, rid id.Run, life time.Duration) (drydock.Drydock, error) {
	now := s.Clock.Now()
	d := drydock.Drydock{
		ID: id.Drydock(s.IDs.New(id.KindDrydock)), Run: rid, Status: drydock.Preparing, Source: src,
		CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(life),
	}
	err := s.Ledger.Write(ctx, func(rec ports.Records) error {
		old, err := creatable(rec, rid, src)
		if err != nil {
			return err
		}
		if old != nil {
			d = *old
			op, err := key.Find(rec)
			if err != nil || op != nil {
				return err
			}
			return key.Record(rec, nil, now)
		}
		if err := rec.AddDrydock(d); err != nil {
			return err
		}
		if err := rec.AddEvent(ports.Event{Run: rid, Kind: "drydock.preparing", Subject: string(d.ID), At: now}); err != nil {
			return err
		}
		return key.Record(rec, nil, now)
	})
	return d, err
}

// creatable refuses a Run that may not get a Drydock from src, and returns the one
// that an earlier call began on the same source, if there is one.
func creatable(rec ports.Records, rid id.Run, src drydock.Source) (*drydock.Drydock, error) {
	r, err := rec.Run(rid)
	if err == nil {
		err = r.Eligible()
	}
	if err != nil {
		return nil, err
	}
	old, err := rec.DrydockOfRun(rid)
	switch {
	case errors.Is(err, fault.NotFound):
		return nil, bounds(rec, src)
	case err != nil:
		return nil, err
	case old.Status != drydock.Preparing || old.Source.TrustDigest() != src.TrustDigest():
		return nil, fault.New(fault.OperationConflict, "the Run has the Drydock %s (%s)", old.ID, old.Status).At("run").
			Hint("use it: `cyberagent drydock status %s`; or remove it first: `cyberagent drydock cleanup %s`", rid, rid)
	}
	fork, err := pendingFork(rec, old)
	if err == nil && fork != nil {
		err = fault.New(fault.InProgress, "the Run's Drydock is being forked from another").At("run").
			Hint("repeat the fork, or run `cyberagent drydock reconcile`")
	}
	return &old, err
}

// reconciled answers a creation that was cut off and that a reconcile finished.
func (s *Service) reconciled(ctx context.Context, key operation.Key, rid id.Run) (v View, done bool, err error) {
	err = s.Ledger.Write(ctx, func(rec ports.Records) error {
		_, begun, err := key.Recall(rec, &v)
		if err != nil || !begun {
			return err
		}
		d, err := rec.DrydockOfRun(rid)
		if err != nil || d.Status == drydock.Preparing {
			return err
		}
		v, done = view(d), true
		return key.Answer(rec, v)
	})
	return v, done, err
}

// bounds keeps the number of Drydocks (contract section 3).
func bounds(rec ports.Records, src drydock.Source) error {
	all, err := rec.ListDrydocks()
	if err != nil {
		return err
	}
	same := 0
	for _, d := range all {
		if d.Source.CommonDir == src.CommonDir {
			same++
		}
	}
	if len(all) >= limits.DrydocksTotal || same >= limits.DrydocksPerRepo {
		return fault.New(fault.LimitReached, "there are %s, %d of this repository; at most %d and %d are allowed",
			phrase.Count(len(all), "Drydock"), same, limits.DrydocksTotal, limits.DrydocksPerRepo).At("run").
			Hint("see which are over with `cyberagent drydock gc`, or remove one with `cyberagent drydock cleanup RUN`; `cyberagent run list` shows the Runs")
	}
	return nil
}

func (s *Service) finish(ctx context.Context, key operation.Key, d drydock.Drydock, place drydock.Place, capture drydock.Capture) (View, error) {
	now := s.Clock.Now()
	first := id.FirstCheckpoint(d.ID)
	d.Place = place
	d = d.Advance(first, now)
	v := view(d)
	c := drydock.Checkpoint{
		ID: first, Drydock: d.ID, Run: d.Run, Generation: d.Generation, Origin: drydock.OriginCreate,
		Receipt: id.Receipt(s.IDs.New(id.KindReceipt)), Capture: capture, CreatedAt: now,
	}
	err := s.Ledger.Write(ctx, func(rec ports.Records) error {
		// Calls with other keys may have made the same one meanwhile: it is their
		// Drydock, too.
		made, err := rec.Drydock(d.ID)
		if err != nil {
			return err
		}
		if made.Status != drydock.Preparing {
			v = view(made)
			if op, err := key.Find(rec); err != nil || op == nil || op.Answer != nil {
				return err
			}
			return key.Answer(rec, v)
		}
		if err := rec.UpdateDrydock(d); err != nil {
			return err
		}
		if err := rec.AddCheckpoint(c); err != nil {
			return err
		}
		if err := rec.AddEvent(ports.Event{Run: d.Run, Kind: "drydock.ready", Subject: string(d.ID), At: now}); err != nil {
			return err
		}
		return key.Answer(rec, v)
	})
	if fault.CodeOf(err) == fault.GenerationStale {
		// A reconcile was faster; what it recorded is this creation.
		if v, done, err := s.reconciled(ctx, key, d.Run); err != nil || done {
			return v, err
		}
	}
	return v, err
}
