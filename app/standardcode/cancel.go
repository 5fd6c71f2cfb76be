package standardcode

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
	"cyberagent/domain/run"
	"cyberagent/ports"
)

// CancelInput names one exact admission. Run may be empty; when it is given it
// must be the admission's.
type CancelInput struct {
	Run       id.Run
	Admission id.Admission
	Reason    string
}

// cancelPatience is how long cancel waits for a live owner to end: it notices
// within the authority's watch, then stops, removes and records.
const cancelPatience = limits.EngineCall + limits.EngineCall

// Cancel records the wish first; it is sticky. A live owner ends the command; if
// there is none, this process takes the lease and brings the admission to its
// end. It answers the recorded end and may be repeated.
func (s *Service) Cancel(ctx context.Context, in CancelInput) (Result, error) {
	if in.Reason == "" {
		in.Reason = "cancelled by the operator"
	}
	if err := run.CheckText("reason", in.Reason, limits.ReasonRunes); err != nil {
		return Result{}, err
	}
	now := s.Clock.Now()
	err := s.Ledger.Write(ctx, func(rec ports.Records) error {
		a, err := rec.Admission(in.Admission)
		if err != nil {
			return err
		}
		if in.Run != "" && a.Run != in.Run {
			return fault.New(fault.NotFound, "%s is not a command of this Run", in.Admission).At("admission").
				Hint("list them with `cyberagent run standard-code status %s`", in.Run)
		}
		if _, err := rec.Receipts(a.ID); err == nil {
			return nil // ended already; nothing to record
		}
		c, err := rec.Cancellation(a.ID)
		if err != nil || c != nil {
			return err
		}
		if err := rec.AddCancellation(lifecycle.Cancellation{Admission: a.ID, Reason: in.Reason, By: "operator", At: now}); err != nil {
			return err
		}
		return rec.AddEvent(event(a.Run, "command.cancel_requested", string(a.ID), now))
	})
	if err != nil {
		return Result{}, err
	}
	return s.converge(ctx, in.Admission)
}

// converge waits for the live owner, or recovers in its place.
func (s *Service) converge(ctx context.Context, aid id.Admission) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, cancelPatience)
	defer cancel()
	for {
		r, err := s.ended(ctx, aid)
		if err == nil || !errors.Is(err, fault.NotFound) {
			return r, err
		}
		rec, err := s.Recover(ctx, RecoverInput{Admission: aid})
		if err != nil {
			return Result{}, err
		}
		if len(rec.Items) == 1 && rec.Items[0].Outcome == OutcomePreserved {
			return Result{}, fault.New(fault.RecoveryRequired, "%s", rec.Items[0].Why).At("admission").
				Hint("see `cyberagent run standard-code recover --admission %s --dry-run`", aid)
		}
		select {
		case <-ctx.Done():
			return Result{}, fault.New(fault.InProgress, "the cancellation is recorded; the owner has not ended yet").At("admission").
				Hint("ask again with `cyberagent run standard-code status`")
		case <-time.After(limits.AuthorityWatch / 2):
		}
	}
}

// ended reads the recorded end; not_found before it.
func (s *Service) ended(ctx context.Context, aid id.Admission) (Result, error) {
	var r Result
	err := s.Ledger.Read(ctx, func(rec ports.Records) error {
		receipts, err := rec.Receipts(aid)
		if err != nil {
			return err
		}
		return json.Unmarshal(receipts.Result, &r)
	})
	r.Replayed = err == nil
	return r, err
}
