package drydocks

import (
	"context"
	"errors"
	"slices"

	"cyberagent/app/operation"
	"cyberagent/domain/canon"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/limits"
	"cyberagent/domain/phrase"
	"cyberagent/ports"
)

// CleanupProtocol names the answer of cleanup, and each part of gc's.
const CleanupProtocol = "drydock-cleanup.v1"

// CleanupView says what is there (a preview), or what became of it.
type CleanupView struct {
	Protocol   string         `json:"protocol_version"`
	RunID      id.Run         `json:"run_id"`
	DrydockID  id.Drydock     `json:"drydock_id"`
	Status     drydock.Status `json:"status"`
	Generation int64          `json:"generation"`
	// Digest is what --confirm takes; empty when it was carried out.
	Digest       string `json:"digest"`
	DryRun       bool   `json:"dry_run"`
	Worktree     bool   `json:"worktree"`
	Registration bool   `json:"registration"`
	Branch       bool   `json:"branch"`
	Entries      int64  `json:"entries"`
	Bytes        int64  `json:"bytes"`
	ShadowBytes  int64  `json:"checkpoint_bytes"`
	// Unrecorded is the first path that differs from the current Checkpoint, of
	// UnrecordedTotal, empty when there is none; or why it cannot be said, of none.
	Unrecorded      string `json:"unrecorded"`
	UnrecordedTotal int    `json:"unrecorded_total"`
	// Excluded is what no Checkpoint can have, of a preview, as of the current one.
	Excluded []drydock.Excluded `json:"excluded"`
	// Undelivered is the newest Checkpoint, of a preview, that has what neither the base
	// has nor a patch that was handed out after it.
	Undelivered id.Checkpoint `json:"undelivered_checkpoint"`
	Pending     bool          `json:"cleanup_pending"`
	// Untouched says that a doubt forbids to remove anything.
	Untouched bool            `json:"untouched"`
	Kept      []drydock.Doubt `json:"kept"`
	Replayed  bool            `json:"replayed"`
}

func cleanupView(d drydock.Drydock, r drydock.Remains) CleanupView {
	v := CleanupView{
		Protocol: CleanupProtocol, RunID: d.Run, DrydockID: d.ID, Status: d.Status, Generation: d.Generation,
		Worktree: r.Worktree, Registration: r.Registration, Branch: r.Branch, Entries: r.Content.Entries, Bytes: r.Content.Bytes,
		ShadowBytes: r.Shadow.Bytes, Pending: r.Pending, Untouched: r.Untouched, Kept: r.Kept,
	}
	if v.Kept == nil {
		v.Kept = []drydock.Doubt{}
	}
	v.Excluded = []drydock.Excluded{}
	return v
}

// CleanupInput names the Run. Without Confirm nothing is changed.
type CleanupInput struct {
	Run          id.Run
	Confirm      string
	OperationKey string
}

// Survey is the preview of cleanup.
func (s *Service) Survey(ctx context.Context, rid id.Run) (CleanupView, error) {
	st, err := s.state(ctx, rid)
	if err == nil {
		err = st.removable()
	}
	if err != nil {
		return CleanupView{}, err
	}
	return s.survey(ctx, st)
}

// removable refuses what something else still works on.
func (st state) removable() error {
	if drydock.Cleaning(st.steps) && st.running == "" {
		if p := drydock.Pending(st.steps); p == nil || p.Verb != drydock.VerbRepair {
			return nil
		}
	}
	return st.idle()
}

func (s *Service) survey(ctx context.Context, st state) (CleanupView, error) {
	d := st.drydock
	r, err := s.Remnants.Survey(ctx, d)
	if err != nil {
		return CleanupView{}, err
	}
	v := cleanupView(d, r)
	v.DryRun = true
	all, err := s.history(ctx, st)
	if err != nil {
		return v, err
	}
	v.Undelivered = undelivered(st, all)
	lost := []any{}
	if r.Worktree && d.Checkpoint != "" && !drydock.Cleaning(st.steps) {
		changes, n, err := s.Worktrees.Drift(ctx, d.Place, d.Checkpoint, int(limits.TreeEntries))
		switch {
		case err != nil:
			v.Unrecorded = err.Error()
		case len(changes) > 0:
			v.Unrecorded, v.UnrecordedTotal = changes[0].Path, n
		}
		if i := slices.IndexFunc(all.checkpoints, func(c drydock.Checkpoint) bool { return c.ID == d.Checkpoint }); i >= 0 {
			v.Excluded = append(v.Excluded, all.checkpoints[i].Capture.Excluded...)
		}
		// Every path that would be lost is part of what is confirmed; what one holds that
		// was lost already may change.
		lost = append(lost, v.Unrecorded, changes, v.Excluded)
	}
	v.Digest = canon.Digest([]any{r.Digest, lost})
	return v, nil
}

// history is what a Drydock recorded. base is the tree of its base commit, empty where
// nobody knows it: a fork begins with what its origin had.
type history struct {
	checkpoints []drydock.Checkpoint // the oldest first
	base        string
}

func (s *Service) history(ctx context.Context, st state) (h history, err error) {
	err = s.Ledger.Read(ctx, func(rec ports.Records) error {
		if h.checkpoints, err = rec.ListCheckpoints(st.drydock.ID); err != nil {
			return err
		}
		first, steps := h.checkpoints, st.steps
		for len(steps) > 0 && steps[0].Verb == drydock.VerbFork {
			from := id.Drydock(steps[0].Facts["from_drydock"])
			origin, err := rec.Drydock(from)
			if errors.Is(err, fault.NotFound) || err == nil && origin.Source.HeadCommit != st.drydock.Source.HeadCommit {
				return nil
			}
			if err == nil {
				steps, err = rec.ListSteps(from)
			}
			if err == nil {
				first, err = rec.ListCheckpoints(from)
			}
			if err != nil {
				return err
			}
		}
		if len(first) > 0 {
			h.base = first[0].Capture.Tree
		}
		return nil
	})
	return h, err
}

// undelivered is the newest Checkpoint, current or left by a rewind, whose tree is not the
// base's and was not handed out, if none that came later was.
func undelivered(st state, all history) id.Checkpoint {
	trees := map[id.Checkpoint]string{}
	for _, c := range all.checkpoints {
		trees[c.ID] = c.Capture.Tree
	}
	known := map[string]bool{all.base: true}
	var delivered id.Checkpoint
	for _, step := range st.steps {
		if step.Verb == drydock.VerbDeliver && step.Phase == drydock.Done {
			delivered = step.Checkpoint
			known[trees[delivered]] = true
		}
	}
	for _, c := range slices.Backward(all.checkpoints) {
		if c.ID == delivered {
			break
		}
		if !known[c.Capture.Tree] {
			return c.ID
		}
	}
	return ""
}

// Cleanup removes a Drydock from this host: its content, then its registration
// in the source, then its records; the ledger keeps its history. Whatever cannot
// be proven to be its own is kept and named. What cannot be removed leaves it
// cleanup_pending, and the same call goes on, with its operation key or without:
// what is left has another digest, but was confirmed with the whole.
func (s *Service) Cleanup(ctx context.Context, in CleanupInput) (CleanupView, error) {
	key, err := operation.NewKey(in.Run, "drydock.cleanup", in.OperationKey, in.Confirm)
	if err != nil {
		return CleanupView{}, err
	}
	var v CleanupView
	answered, begun, err := s.recall(ctx, key, &v)
	if err != nil || answered {
		v.Replayed = answered
		return v, err
	}
	st, err := s.state(ctx, in.Run)
	if err == nil {
		err = st.removable()
	}
	if err != nil {
		return v, err
	}
	if !begun || !drydock.Cleaning(st.steps) {
		shown, err := s.survey(ctx, st)
		if err != nil {
			return v, err
		}
		if shown.Digest != in.Confirm && !drydock.Confirmed(st.steps, in.Confirm) {
			return v, fault.New(fault.TrustMismatch, "this is not what was confirmed").At("confirm").
				Hint("look at `cyberagent drydock cleanup %s` again and confirm its digest", in.Run).With("digest", shown.Digest)
		}
		if shown.Untouched {
			return v, doubtful(shown)
		}
		if st.drydock, err = s.beginCleanup(ctx, st, key.Name(), in.Confirm, &key); err != nil {
			return v, err
		}
	}
	s.hit("cleanup.begun")
	v, err = s.clean(ctx, st.drydock, key.Name(), func(rec ports.Records, v CleanupView) error {
		if answered, _, err := key.Recall(rec, new(CleanupView)); err != nil || answered {
			return err
		}
		return key.Answer(rec, v)
	})
	if err == nil && v.Pending {
		err = pendingCleanup(v)
	}
	return v, err
}

// beginCleanup takes the Drydock out of use for good.
func (s *Service) beginCleanup(ctx context.Context, was state, name, confirmed string, key *operation.Key) (d drydock.Drydock, err error) {
	now := s.Clock.Now()
	err = s.Ledger.Write(ctx, func(rec ports.Records) error {
		st, err := readState(rec, was.drydock.Run)
		if err == nil {
			err = st.removable()
		}
		if err == nil && (st.drydock.ID != was.drydock.ID || st.drydock.Generation != was.drydock.Generation) {
			err = overtaken(st.drydock)
		}
		if err != nil {
			return err
		}
		if d, err = s.markCleaning(rec, st, name, confirmed); err != nil || key == nil {
			return err
		}
		return key.Record(rec, nil, now)
	})
	return d, err
}

func (s *Service) markCleaning(rec ports.Records, st state, name, confirmed string) (drydock.Drydock, error) {
	now := s.Clock.Now()
	d := st.drydock.Quarantine("cleanup pending", now)
	facts := map[string]string{"status": string(st.drydock.Status), drydock.FactConfirmed: confirmed}
	return d, s.take(rec, d, s.step(d, drydock.VerbCleanup, drydock.Begun, name, facts, now))
}

// clean removes and records what came of it. answer keeps it with the operation
// when everything is gone.
func (s *Service) clean(ctx context.Context, d drydock.Drydock, name string, answer func(ports.Records, CleanupView) error) (CleanupView, error) {
	r, err := s.Remnants.Clean(ctx, d)
	if err != nil {
		return CleanupView{}, err
	}
	s.hit("cleanup.cleaned")
	v := cleanupView(d, r)
	if v.Pending || v.Untouched {
		v.Pending = true
		return v, nil
	}
	now := s.Clock.Now()
	err = s.Ledger.Write(ctx, func(rec ports.Records) error {
		present, err := rec.Drydock(d.ID)
		if err != nil {
			return err
		}
		if present.Status == drydock.Cleaned {
			v.Status, v.Generation = present.Status, present.Generation
			return answer(rec, v) // another process was faster
		}
		done := present.Clean(now)
		v.Status, v.Generation = done.Status, done.Generation
		if err := s.take(rec, done, s.step(done, drydock.VerbCleanup, drydock.Done, name, nil, now)); err != nil {
			return err
		}
		return answer(rec, v)
	})
	return v, err
}

func pendingCleanup(v CleanupView) error {
	e := fault.New(fault.CleanupPending, "left of the Drydock: %s, first %s: %s", phrase.Count(len(v.Kept), "thing"), v.Kept[0].What, v.Kept[0].Why).At("run").
		Hint("see to what is named, then repeat the same call")
	for _, k := range v.Kept {
		e = e.With(k.What, k.Why)
	}
	return e
}

func doubtful(v CleanupView) error {
	return fault.New(fault.RecoveryRequired, "nothing is removed: %s: %s", v.Kept[0].What, v.Kept[0].Why).At("run").
		Hint("see to what is named; it is not what was recorded, and is never touched")
}
