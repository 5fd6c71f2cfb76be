package drydocks

import (
	"context"
	"fmt"

	"cyberagent/app/operation"
	"cyberagent/domain/canon"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/run"
	"cyberagent/ports"
)

// GCProtocol names the answer of gc.
const GCProtocol = "drydock-gc.v1"

// GCInput asks for the removal of what nobody needs. Without Confirm nothing is
// changed.
type GCInput struct {
	Confirm      string
	OperationKey string
}

// GCView lists what is removed (or would be), what is kept, and what the
// Checkpoints that stay take on disk.
type GCView struct {
	Protocol string          `json:"protocol_version"`
	DryRun   bool            `json:"dry_run"`
	Digest   string          `json:"digest"`
	Remove   []CleanupView   `json:"remove"`
	Kept     []KeptView      `json:"kept"`
	Strays   []drydock.Doubt `json:"strays"`
	Compact  []CompactView   `json:"compacted"`
	Replayed bool            `json:"replayed"`
}

// KeptView is a Drydock whose time is over and that is kept, and why.
type KeptView struct {
	RunID     id.Run         `json:"run_id"`
	DrydockID id.Drydock     `json:"drydock_id"`
	Status    drydock.Status `json:"status"`
	Why       string         `json:"why"`
}

// CompactView is what compacting one Drydock's Checkpoints saved.
type CompactView struct {
	RunID       id.Run     `json:"run_id"`
	DrydockID   id.Drydock `json:"drydock_id"`
	BytesBefore int64      `json:"bytes_before"`
	BytesAfter  int64      `json:"bytes_after"`
	PacksBefore int64      `json:"packs_before"`
	PacksAfter  int64      `json:"packs_after"`
}

// GC removes Drydocks that are over: expired or of a closed Run, whole, intact,
// and with every file recorded; and goes on with clean-ups that are pending.
// Anything in doubt is kept and named. It joins the Checkpoints of those that
// stay. Without Confirm it only says so.
func (s *Service) GC(ctx context.Context, in GCInput) (GCView, error) {
	if in.Confirm == "" {
		v, _, err := s.surveyAll(ctx)
		return v, err
	}
	key, err := operation.NewKey("", "drydock.gc", in.OperationKey, in.Confirm)
	if err != nil {
		return GCView{}, err
	}
	var old GCView
	answered, begun, err := s.recall(ctx, key, &old)
	if err != nil || answered {
		old.Replayed = answered
		return old, err
	}
	v, states, err := s.surveyAll(ctx)
	if err != nil {
		return v, err
	}
	if !begun && v.Digest != in.Confirm {
		return v, fault.New(fault.TrustMismatch, "this is not what was confirmed").At("confirm").
			Hint("look at `cyberagent drydock gc` again and confirm its digest").With("digest", v.Digest)
	}
	if err := s.beginGC(ctx, key, begun, states); err != nil {
		return v, err
	}
	v.DryRun, v.Remove = false, []CleanupView{}
	for _, st := range states {
		done, err := s.clean(ctx, st.drydock, key.Name(), func(ports.Records, CleanupView) error { return nil })
		if err != nil {
			return v, err
		}
		v.Remove = append(v.Remove, done)
	}
	if v.Compact, err = s.compactAll(ctx); err != nil {
		return v, err
	}
	err = s.Ledger.Write(ctx, func(rec ports.Records) error {
		// Another process with the same key may have come to the end first.
		if answered, _, err := key.Recall(rec, &old); err != nil || answered {
			old.Replayed = answered
			return err
		}
		return key.Answer(rec, v)
	})
	if old.Replayed {
		v = old
	}
	return v, err
}

// beginGC marks everything that is to go in one transaction; a repeated call
// finds it marked.
func (s *Service) beginGC(ctx context.Context, key operation.Key, begun bool, states []state) error {
	return s.Ledger.Write(ctx, func(rec ports.Records) error {
		for i, was := range states {
			st, err := readState(rec, was.drydock.Run)
			if err != nil {
				return err
			}
			if drydock.Cleaning(st.steps) {
				states[i] = st
				continue
			}
			if st.drydock.ID != was.drydock.ID || st.drydock.Generation != was.drydock.Generation {
				return overtaken(st.drydock)
			}
			if err := st.idle(); err != nil {
				return err
			}
			if states[i].drydock, err = s.markCleaning(rec, st, key.Name(), ""); err != nil {
				return err
			}
		}
		if begun {
			return nil
		}
		return key.Record(rec, nil, s.Clock.Now())
	})
}

// surveyAll decides about every Drydock.
func (s *Service) surveyAll(ctx context.Context) (GCView, []state, error) {
	v := GCView{Protocol: GCProtocol, DryRun: true, Remove: []CleanupView{}, Kept: []KeptView{}, Compact: []CompactView{}}
	var all []state
	closed := map[id.Run]bool{}
	err := s.Ledger.Read(ctx, func(rec ports.Records) error {
		every, err := states(rec, func(drydock.Drydock) bool { return true })
		if err != nil {
			return err
		}
		all = every
		for _, st := range all {
			r, err := rec.Run(st.drydock.Run)
			if err != nil {
				return err
			}
			closed[st.drydock.Run] = r.Status == run.Closed
		}
		return nil
	})
	if err != nil {
		return v, nil, err
	}
	var known []id.Drydock
	var remove []state
	now := s.Clock.Now()
	for _, st := range all {
		known = append(known, st.drydock.ID)
		if !drydock.Cleaning(st.steps) && !closed[st.drydock.Run] && !st.drydock.Expired(now) {
			continue
		}
		shown, why, err := s.over(ctx, st)
		if err != nil {
			return v, nil, err
		}
		if why != "" {
			v.Kept = append(v.Kept, KeptView{st.drydock.Run, st.drydock.ID, st.drydock.Status, why})
			continue
		}
		v.Remove, remove = append(v.Remove, shown), append(remove, st)
	}
	if v.Strays, err = s.Remnants.Strays(ctx, known); err != nil {
		return v, nil, err
	}
	digests := []string{}
	for _, r := range v.Remove {
		digests = append(digests, r.Digest)
	}
	v.Digest = canon.Digest(digests)
	return v, remove, nil
}

// over says why a Drydock whose time is over is kept, or nothing.
func (s *Service) over(ctx context.Context, st state) (CleanupView, string, error) {
	if err := st.removable(); err != nil {
		return CleanupView{}, withRemedy(err), nil
	}
	if !drydock.Cleaning(st.steps) {
		if !st.drydock.Whole() {
			return CleanupView{}, "it is " + string(st.drydock.Status) + ": " + st.drydock.Reason + "; " + st.advice(), nil
		}
		if err := s.Worktrees.Verify(ctx, st.drydock.Place); err != nil {
			return CleanupView{}, withRemedy(err), nil
		}
	}
	v, err := s.survey(ctx, st)
	switch {
	case err != nil:
		return v, "", err
	case v.Untouched:
		return v, v.Kept[0].What + ": " + v.Kept[0].Why, nil
	case v.Unrecorded != "":
		return v, fmt.Sprintf("it has unrecorded changes, first at %s: record them with `cyberagent drydock checkpoint %s`, or remove it with them by `cyberagent drydock cleanup %[2]s`",
			v.Unrecorded, st.drydock.Run), nil
	case len(v.Excluded) > 0:
		return v, fmt.Sprintf("it has what no Checkpoint can have, first %s (%s): move it away, record that with `cyberagent drydock checkpoint %s`, or remove it with it by `cyberagent drydock cleanup %[3]s`",
			v.Excluded[0].Path, v.Excluded[0].Reason, st.drydock.Run), nil
	}
	return v, "", nil
}

// withRemedy is an error as one sentence for a list.
func withRemedy(err error) string {
	if e := fault.From(err); e.Remedy != "" {
		return e.Error() + ": " + e.Remedy
	}
	return err.Error()
}

// compactAll joins the Checkpoints of every Drydock that stays.
func (s *Service) compactAll(ctx context.Context) ([]CompactView, error) {
	out := []CompactView{}
	var all []drydock.Drydock
	err := s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
		all, err = rec.ListDrydocks()
		return err
	})
	for _, d := range all {
		if d.Status == drydock.Preparing {
			continue
		}
		before, after, err := s.Remnants.Compact(ctx, d.Place)
		if err != nil {
			continue // a Drydock in doubt: reconcile names it
		}
		if before.Packs != after.Packs {
			out = append(out, CompactView{d.Run, d.ID, before.Bytes, after.Bytes, before.Packs, after.Packs})
		}
	}
	return out, err
}
