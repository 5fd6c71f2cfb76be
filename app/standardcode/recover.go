package standardcode

import (
	"context"
	"errors"
	"slices"
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
	"cyberagent/domain/result"
	"cyberagent/ports"
)

// RecoverProtocol names recover's answer.
const RecoverProtocol = "standard-code-recovery.v1"

// RecoverInput chooses what to recover: one admission, one Run's, or everything
// when both are empty. DryRun decides and changes nothing.
type RecoverInput struct {
	Run       id.Run
	Admission id.Admission
	DryRun    bool
}

// Recovery is recover's answer. Open counts what still needs somebody.
type Recovery struct {
	Protocol string          `json:"protocol_version"`
	DryRun   bool            `json:"dry_run"`
	Items    []RecoveredItem `json:"items"`
	Open     int             `json:"open"`
}

// RecoveredItem is what was decided about one admission, and done unless it was
// a dry run. Outcome is finished, owned (its owner lives), preserved, or planned.
type RecoveredItem struct {
	ExecutionID id.Admission     `json:"execution_id"`
	RunID       id.Run           `json:"run_id"`
	State       lifecycle.State  `json:"state"`
	Seen        lifecycle.Seen   `json:"seen"`
	Outcome     string           `json:"outcome"`
	Why         string           `json:"why"`
	Steps       []lifecycle.Step `json:"steps"`
	Status      result.Status    `json:"status"`
	ReasonCode  result.Reason    `json:"reason_code"`
}

// The outcomes.
const (
	OutcomeFinished  = "finished"
	OutcomeOwned     = "owned"
	OutcomePreserved = "preserved"
	OutcomePlanned   = "planned"
	// OutcomeUnfinished: a step failed; what was done is recorded, recover again.
	OutcomeUnfinished = "unfinished"
)

// Recover brings admissions whose owner is dead to their one end. It never
// starts anything and adopts nothing; what is foreign or ambiguous is preserved
// and named. Running it twice, or from two processes, ends in the same state.
func (s *Service) Recover(ctx context.Context, in RecoverInput) (Recovery, error) {
	out := Recovery{Protocol: RecoverProtocol, DryRun: in.DryRun, Items: []RecoveredItem{}}
	todo, err := s.candidates(ctx, in)
	if err != nil {
		return out, err
	}
	for _, adm := range todo {
		item, err := s.recoverOne(ctx, adm, in.DryRun)
		if err != nil {
			if in.Admission != "" || ctx.Err() != nil {
				return out, err
			}
			// One that cannot be finished now must not keep the others waiting.
			item.Outcome, item.Why = OutcomeUnfinished, err.Error()
		}
		switch item.Outcome {
		case OutcomeOwned, OutcomePreserved, OutcomeUnfinished:
			out.Open++
		}
		out.Items = append(out.Items, item)
	}
	if !in.DryRun {
		// What killed owners left; the answer is about admissions, not about this.
		_ = s.Locks.Sweep()
	}
	return out, nil
}

// candidates are the open admissions, and finished ones of which a container
// appeared late.
func (s *Service) candidates(ctx context.Context, in RecoverInput) ([]lifecycle.Admission, error) {
	var todo []lifecycle.Admission
	err := s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
		if in.Admission != "" {
			a, err := rec.Admission(in.Admission)
			if err == nil && in.Run != "" && a.Run != in.Run {
				err = fault.New(fault.NotFound, "%s is not a command of this Run", in.Admission).At("admission").
					Hint("list them with `cyberagent run standard-code status %s`", in.Run)
			}
			todo = []lifecycle.Admission{a}
			return err
		}
		if in.Run != "" {
			if _, err := rec.Run(in.Run); err != nil {
				return err
			}
		}
		todo, err = rec.OpenAdmissions(in.Run)
		return err
	})
	if err != nil || in.Admission != "" {
		return todo, err
	}
	late, err := s.late(ctx, in.Run, todo)
	return append(todo, late...), err
}

// late finds finished admissions that still have an owned container on the
// configured engine. An engine that does not answer hides none: the open
// admissions say so.
func (s *Service) late(ctx context.Context, rid id.Run, open []lifecycle.Admission) ([]lifecycle.Admission, error) {
	call, cancel := context.WithTimeout(ctx, limits.EngineProbeCall)
	defer cancel()
	found, err := s.Engine.FindOwned(call, s.Ledger.Installation())
	if err != nil {
		return nil, nil //nolint:nilerr // recorded admissions carry the engine's state
	}
	known := map[id.Admission]bool{}
	for _, a := range open {
		known[a.ID] = true
	}
	var late []lifecycle.Admission
	err = s.Ledger.Read(ctx, func(rec ports.Records) error {
		for _, c := range found {
			aid := id.Admission(c.Labels[isolation.LabelAdmission])
			if known[aid] {
				continue
			}
			a, err := rec.Admission(aid)
			switch {
			case errors.Is(err, fault.NotFound):
				continue // not provably ours
			case err != nil:
				return err
			case rid == "" || a.Run == rid:
				known[aid] = true
				late = append(late, a)
			}
		}
		return nil
	})
	return late, err
}

// recoverOne decides about one admission and does it.
func (s *Service) recoverOne(ctx context.Context, adm lifecycle.Admission, dry bool) (RecoveredItem, error) {
	item := RecoveredItem{ExecutionID: adm.ID, RunID: adm.Run, Steps: []lifecycle.Step{}}
	engine, err := s.EngineFor(adm.Authority.Engine)
	if err != nil {
		return item, err
	}
	v := &salvage{s: s, engine: engine, adm: adm}
	// The lease decides who may act: this only refuses what it would refuse.
	ownerLives, err := v.glance(ctx)
	if err != nil {
		return item, err
	}
	s.hit(Recoverer, MomentLooked)
	if ownerLives && v.situation.State != lifecycle.Finalized {
		item.State, item.Outcome, item.Why = v.situation.State, OutcomeOwned, "its owner is alive"
		return item, nil
	}
	if dry {
		err = v.look(ctx)
	} else {
		var release func()
		release, err = v.take(ctx)
		if is(err, fault.InProgress) {
			item.State, item.Outcome, item.Why = v.situation.State, OutcomeOwned, "another process took it"
			return item, nil
		}
		if err != nil {
			return item, err
		}
		defer release()
		s.hit(Recoverer, MomentTaken)
		// What the ledger says was read with the lease; the engine is asked after it.
		err = v.observe(ctx)
	}
	if err != nil {
		return item, err
	}
	plan := lifecycle.Decide(v.situation)
	item.State, item.Seen, item.Why = v.situation.State, v.situation.Seen, plan.Why
	item.Status, item.ReasonCode = plan.Status, plan.Reason
	item.Steps = append(item.Steps, plan.Steps...)
	switch {
	case plan.Preserve:
		item.Outcome = OutcomePreserved
		return item, nil
	case dry:
		item.Outcome = OutcomePlanned
		return item, nil
	}
	if err := v.apply(ctx, plan); err != nil {
		return item, err
	}
	if v.situation.State != lifecycle.Finalized && !slices.Contains(plan.Steps, lifecycle.StepFinalize) {
		// Now that the container is gone, the files tell whether the command ran.
		if err := v.look(ctx); err != nil {
			return item, err
		}
		plan = lifecycle.Decide(v.situation)
		item.Steps = append(item.Steps, plan.Steps...)
		item.Why, item.Status, item.ReasonCode = plan.Why, plan.Status, plan.Reason
		if plan.Preserve {
			item.Outcome = OutcomePreserved
			return item, nil
		}
		if err := v.apply(ctx, plan); err != nil {
			return item, err
		}
	}
	item.Outcome = OutcomeFinished
	return item, nil
}

// stopPatience is how long recovery waits for a container that it stops.
const stopPatience = limits.StopGrace + 3*time.Second
