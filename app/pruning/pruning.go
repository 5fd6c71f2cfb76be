// Package pruning lets the records of closed Runs leave the ledger: it shows what
// would go, and with the digest of what was shown it goes, in one transaction.
package pruning

import (
	"context"
	"time"

	"cyberagent/app/operation"
	"cyberagent/domain/canon"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/limits"
	"cyberagent/domain/retention"
	"cyberagent/ports"
)

// Protocol names the answer.
const Protocol = "ledger-pruning.v1"

// Service is the use case over its ports.
type Service struct {
	Ledger    ports.Ledger
	Retention ports.Retention
	Locks     ports.OwnerLocks
	Clock     ports.Clock
}

// Input asks for what has not changed for OlderThan. Without Confirm nothing is
// changed.
type Input struct {
	OlderThan    time.Duration
	Confirm      string
	OperationKey string
}

// View is what goes, or went, and what is kept although it is old enough. Bytes are
// those of the records. The file's are told when it was done: a repeated call knows
// them no more.
type View struct {
	Protocol         string     `json:"protocol_version"`
	DryRun           bool       `json:"dry_run"`
	OlderThanSeconds int64      `json:"older_than_seconds"`
	Digest           string     `json:"digest"`
	Runs             []RunView  `json:"runs"`
	Kept             []KeptView `json:"kept"`
	Admissions       int64      `json:"admissions"`
	Records          int64      `json:"records"`
	Bytes            int64      `json:"bytes"`
	Oldest           *time.Time `json:"oldest"`
	Newest           *time.Time `json:"newest"`
	File             *FileView  `json:"file,omitempty"`
	Replayed         bool       `json:"replayed"`
}

// RunView is one Run whose records go. Newest is when anything of it changed last.
type RunView struct {
	RunID      id.Run    `json:"run_id"`
	Admissions int64     `json:"admissions"`
	Records    int64     `json:"records"`
	Bytes      int64     `json:"bytes"`
	Oldest     time.Time `json:"oldest"`
	Newest     time.Time `json:"newest"`
}

// KeptView is a Run whose records are old enough and stay, and why.
type KeptView struct {
	RunID id.Run `json:"run_id"`
	Why   string `json:"why"`
}

// FileView is what the ledger took on disk before and takes now, and how much of it
// is free for new records. Why says why its room was not given back, if it was not.
type FileView struct {
	BytesBefore   int64  `json:"bytes_before"`
	BytesAfter    int64  `json:"bytes_after"`
	ReusableBytes int64  `json:"reusable_bytes"`
	Why           string `json:"why"`
}

// Prune shows what would go or, confirmed, takes it out. It is
// trust_digest_mismatch when that is not what was confirmed, in_progress when many
// records would go beside a command at work, and disk_full; then nothing has changed.
func (s *Service) Prune(ctx context.Context, in Input) (View, error) {
	if in.OlderThan < 0 {
		return View{}, fault.New(fault.InvalidArgument, "%s is not an age", in.OlderThan).At("older_than").
			Hint("give a time such as 90d or 36h")
	}
	var v View
	owners := map[id.Owner]bool{}
	err := s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
		v, _, err = s.survey(rec, in, func(o id.Owner) bool {
			owners[o] = !s.Locks.Dead(o)
			return owners[o]
		})
		return err
	})
	if err != nil || in.Confirm == "" {
		return v, err
	}
	key, err := operation.NewKey("", "ledger.prune", in.OperationKey, []any{in.Confirm, int64(in.OlderThan)})
	if err != nil {
		return View{}, err
	}
	before, err := s.Retention.Space(ctx)
	if err != nil {
		return View{}, err
	}
	err = s.Retention.Prune(ctx, func(rec ports.Records) (err error) {
		// The dead stay dead. One that was not asked about is new, so it lives.
		v, err = s.prune(rec, in, key, func(o id.Owner) bool {
			lives, asked := owners[o]
			return lives || !asked
		})
		return err
	})
	if err != nil || v.Replayed {
		return v, err
	}
	v.File = s.compact(ctx, before)
	return v, nil
}

// prune is the one transaction.
func (s *Service) prune(rec ports.Records, in Input, key operation.Key, lives func(id.Owner) bool) (View, error) {
	var old View
	if replayed, err := key.Replay(rec, &old); err != nil || replayed {
		old.Replayed = replayed
		return old, err
	}
	v, all, err := s.survey(rec, in, lives)
	if err != nil {
		return v, err
	}
	if v.Digest != in.Confirm {
		return v, fault.New(fault.TrustMismatch, "this is not what was confirmed").At("confirm").
			Hint("look at `cyberagent ledger prune` again and confirm its digest").With("digest", v.Digest)
	}
	if err := idle(rec, v.Admissions); err != nil {
		return v, err
	}
	now := s.Clock.Now()
	receipts := make([]retention.Receipt, len(all))
	for i, h := range all {
		receipts[i] = h.Receipt(key.Name(), now)
	}
	if err := rec.Prune(receipts); err != nil {
		return v, err
	}
	for _, h := range all {
		if err := rec.AddEvent(ports.Event{Run: h.Run, Kind: "run.pruned", Subject: string(h.Run), At: now}); err != nil {
			return v, err
		}
	}
	v.DryRun = false
	return v, key.Record(rec, v, now)
}

// idle refuses a long transaction while a command is at work: its lease could not
// be renewed meanwhile. One that begins later waits for its admission.
func idle(rec ports.Records, admissions int64) error {
	if admissions <= limits.PruneBeside {
		return nil
	}
	open, err := rec.OpenAdmissions("")
	if err != nil || len(open) == 0 {
		return err
	}
	return fault.New(fault.InProgress, "%d commands are not ended, and pruning %d would keep them waiting", len(open), admissions).
		Hint("repeat it when they have ended, or prune less at a time with a longer --older-than")
}

// survey decides about every closed Run that is old enough.
func (s *Service) survey(rec ports.Records, in Input, lives func(id.Owner) bool) (View, []retention.History, error) {
	v := View{Protocol: Protocol, DryRun: true, OlderThanSeconds: int64(in.OlderThan / time.Second), Runs: []RunView{}, Kept: []KeptView{}}
	before := s.Clock.Now().Add(-in.OlderThan)
	found, err := rec.Histories(before)
	if err != nil {
		return v, nil, err
	}
	var over []retention.History
	for _, h := range found {
		if !h.Over(before) {
			continue
		}
		if why := h.Hold(lives); why != "" {
			v.Kept = append(v.Kept, KeptView{RunID: h.Run, Why: why})
			continue
		}
		over = append(over, h)
		v.Runs = append(v.Runs, RunView{
			RunID: h.Run, Admissions: h.Admissions, Records: h.Records, Bytes: h.Bytes, Oldest: h.Oldest, Newest: h.Newest,
		})
	}
	t := retention.Total(over)
	v.Admissions, v.Records, v.Bytes = t.Admissions, t.Records, t.Bytes
	if len(over) > 0 {
		v.Oldest, v.Newest = &t.Oldest, &t.Newest
	}
	v.Digest = canon.Digest(struct {
		OlderThanSeconds int64     `json:"older_than_seconds"`
		Runs             []RunView `json:"runs"`
	}{v.OlderThanSeconds, v.Runs})
	return v, over, nil
}

// compact gives the room back. That it cannot is no error: the records are gone,
// and new ones take their room.
func (s *Service) compact(ctx context.Context, before ports.Space) *FileView {
	f := &FileView{BytesBefore: before.Bytes, BytesAfter: before.Bytes}
	now, err := s.Retention.Space(ctx)
	switch {
	case err != nil:
	case now.Bytes-now.Reusable > limits.CompactBytes:
		f.Why = "what stays is so large that others would wait too long while it is written anew"
	case s.atWork(ctx):
		f.Why = "a command is at work, which would have to wait"
	default:
		if err = s.Retention.Compact(ctx); err == nil {
			now, err = s.Retention.Space(ctx)
		}
	}
	if err != nil {
		f.Why = err.Error()
		return f
	}
	f.BytesAfter, f.ReusableBytes = now.Bytes, now.Reusable
	return f
}

// atWork says whether a command is not ended, as far as anybody can tell.
func (s *Service) atWork(ctx context.Context) bool {
	open := true
	_ = s.Ledger.Read(ctx, func(rec ports.Records) error {
		all, err := rec.OpenAdmissions("")
		open = err != nil || len(all) > 0
		return err
	})
	return open
}
