package standardcode

import (
	"cmp"
	"context"
	"strings"
	"time"

	"cyberagent/domain/canon"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
	"cyberagent/domain/result"
	"cyberagent/domain/runnerproto"
	"cyberagent/ports"
)

// finish decides, removes the container, records the files and the end. It
// returns cleanup_pending when the container's absence cannot be proven now.
func (a *attempt) finish(ctx context.Context, e result.Evidence) (Result, error) {
	ctx = context.WithoutCancel(ctx)
	ran := mayHaveRun(a, e)
	if ran {
		if err := a.s.Worktrees.Verify(ctx, a.drydock.Place); err != nil {
			a.details["verify"] = err.Error()
			e.IntegrityLost = true
		}
	}
	v := result.Decide(e)
	r := a.result(v, e)
	if ran && !e.EngineLost {
		if err := a.append(ctx, lifecycle.ExitDone, verdictDetail(v)); err != nil {
			return Result{}, err
		}
	}
	if err := a.remove(ctx, v); err != nil {
		return Result{}, err
	}
	a.say("recording the files")
	end := a.record(ctx, e, ran, &r)
	return r, a.finalize(ctx, v, end, r)
}

// mayHaveRun says whether the command may have touched a file: a start was sent
// and nobody is sure that it did not happen.
func mayHaveRun(a *attempt, e result.Evidence) bool {
	return !a.started.IsZero() && e.NotStarted != result.StartFailed
}

// touched says whether files may differ: a runner that refused to start the
// command changed none.
func touched(e result.Evidence, ran bool) bool {
	if !ran {
		return false
	}
	if e.Report == nil {
		return true
	}
	switch e.Report.Outcome {
	case runnerproto.OutcomeRefused, runnerproto.OutcomeNotStarted, runnerproto.OutcomeStartFailed:
		return false
	default:
		return true
	}
}

// remove ends the container's existence and proves it.
func (a *attempt) remove(ctx context.Context, v result.Verdict) error {
	if err := a.append(ctx, lifecycle.RemoveIntent, verdictDetail(v)); err != nil {
		return err
	}
	patience := limits.EngineCall
	if a.hung {
		patience = limits.StopGrace
	}
	call, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a.s.hit(Executor, MomentRemoving)
	err := removeOwned(call, a.engine, a.owner(), a.container)
	a.s.hit(Executor, MomentAbsent)
	if err != nil {
		return fault.Wrap(fault.CleanupPending, err, "the container of %s could not be removed yet", a.adm.ID).
			Hint("when the engine answers again, run `cyberagent run standard-code recover --admission %s`", a.adm.ID)
	}
	return a.append(ctx, lifecycle.RemoveDone, nil)
}

func (a *attempt) owner() ports.Ownership {
	return ports.Ownership{Admission: a.adm.ID, Installation: a.s.Ledger.Installation()}
}

// removeOwned removes every exactly owned container of the admission; there is
// at most one. Others of its name are not touched and are an error. known is the
// container that was created, when that is on record: an engine that died may have
// forgotten it and not ended it.
func removeOwned(ctx context.Context, e ports.Engine, o ports.Ownership, known ports.ContainerID) error {
	found, err := e.Find(ctx, o.Admission)
	if err != nil {
		return err
	}
	for _, c := range found {
		if !exact(c, o) {
			return fault.New(fault.RecoveryRequired, "container %s has the name or label of %s but is not ours", c.ID, o.Admission).
				Hint("look at it and remove it by hand if it is yours")
		}
	}
	for _, c := range found {
		if err := e.Remove(ctx, c.ID, o); err != nil {
			return err
		}
		if c.ID == known {
			known = ""
		}
	}
	if known == "" {
		return nil
	}
	return e.Remove(ctx, known, o)
}

// exact says that name and every label are the admission's.
func exact(c ports.Container, o ports.Ownership) bool {
	if c.Name != isolation.ContainerName(o.Admission) {
		return false
	}
	want := isolation.Labels(o.Admission, o.Installation)
	for k, v := range want {
		if c.Labels[k] != v {
			return false
		}
	}
	return true
}

// ending is what finalize writes beside the receipts.
type ending struct {
	checkpoint *drydock.Checkpoint
	drydock    *drydock.Drydock // the next generation, nil when nothing changed
}

// record makes the Checkpoint of what the command left, or quarantines the
// Drydock: then nothing is recorded until an operator confirms.
func (a *attempt) record(ctx context.Context, e result.Evidence, ran bool, r *Result) ending {
	integrity := e.IntegrityLost || r.ReasonCode == result.IntegrityLost
	if !integrity && !touched(e, ran) {
		return ending{}
	}
	a.s.hit(Executor, MomentCapturing)
	defer a.s.hit(Executor, MomentCaptured)
	return recordFiles(ctx, a.s, a.adm, a.drydock, drydock.OriginCommand, integrity, r)
}

// checkpointOf is the Checkpoint of an admission. It has the admission's own
// characters, so that whoever finishes what a dead process had captured finds
// that Capture and makes no second one.
func checkpointOf(a id.Admission) id.Checkpoint {
	_, rest, _ := strings.Cut(string(a), "_")
	return id.Checkpoint(id.Format(id.KindCheckpoint, rest))
}

// recordFiles is shared with recovery. It fills the result's Checkpoint.
func recordFiles(ctx context.Context, s *Service, adm lifecycle.Admission, d drydock.Drydock, origin drydock.Origin, integrity bool, r *Result) ending {
	now := s.Clock.Now()
	quarantine := func(why string) ending {
		// The ledger takes no longer one, and a path is as long as the command likes.
		why = clip(why, limits.ReasonRunes)
		q := d.Quarantine(why, now)
		r.Recovery = true
		r.Details["recovery"] = why
		r.Checkpoint.AfterID, r.Checkpoint.GenerationAfter = "", q.Generation
		return ending{drydock: &q}
	}
	if integrity {
		return quarantine("the worktree's control file or the mask was not what it must be")
	}
	next := checkpointOf(adm.ID)
	capture, err := s.Worktrees.Capture(ctx, d.Place, d.Checkpoint, next)
	if is(err, fault.OperationConflict) {
		// Who captured before and died saw other files than there are now.
		next = id.Checkpoint(s.IDs.New(id.KindCheckpoint))
		capture, err = s.Worktrees.Capture(ctx, d.Place, d.Checkpoint, next)
	}
	if err != nil {
		return quarantine("the files could not be recorded: " + err.Error())
	}
	advanced := d.Advance(next, now)
	c := drydock.Checkpoint{
		ID: next, Drydock: d.ID, Run: d.Run, Parent: d.Checkpoint, Generation: advanced.Generation, Origin: origin,
		Admission: adm.ID, Receipt: id.Receipt(s.IDs.New(id.KindReceipt)), Capture: capture, CreatedAt: now,
	}
	r.Checkpoint.AfterID, r.Checkpoint.GenerationAfter = next, advanced.Generation
	r.Checkpoint.ReceiptID, r.Checkpoint.Changed = c.Receipt, capture.Changed
	r.Checkpoint.Excluded = append(r.Checkpoint.Excluded, capture.Excluded...)
	return ending{checkpoint: &c, drydock: &advanced}
}

// finalize writes the one end of the admission in one transaction.
func (a *attempt) finalize(ctx context.Context, v result.Verdict, end ending, r Result) error {
	if err := a.own(); err != nil {
		return err
	}
	boot := a.s.Clock.Boot()
	a.s.hit(Executor, Before(lifecycle.FinalizeDone))
	defer a.s.hit(Executor, After(lifecycle.FinalizeDone))
	return a.s.Ledger.Write(ctx, func(rec ports.Records) error {
		defer a.s.hit(Executor, Within(lifecycle.FinalizeDone))
		a.renewing.Lock()
		entry, lease := a.entry(lifecycle.FinalizeDone, verdictDetail(v)), a.lease
		a.renewing.Unlock()
		if err := rec.Append(entry, boot); err != nil {
			return err
		}
		if err := writeEnd(rec, a.adm, v, end, r, a.started); err != nil {
			return err
		}
		return rec.ReleaseLease(lease)
	})
}

// writeEnd keeps the Checkpoint, the receipts, the operation's answer and the
// event. It is shared with recovery.
func writeEnd(rec ports.Records, adm lifecycle.Admission, v result.Verdict, end ending, r Result, started time.Time) error {
	if end.drydock != nil {
		if err := rec.UpdateDrydock(*end.drydock); err != nil {
			return err
		}
	}
	if end.checkpoint != nil {
		if err := rec.AddCheckpoint(*end.checkpoint); err != nil {
			return err
		}
	}
	body, err := canon.JSON(r)
	if err != nil {
		return fault.Wrap(fault.Internal, err, "unencodable result")
	}
	if err := rec.AddReceipts(adm.ID, ports.Receipts{
		Terminal: lifecycle.Finalized, Result: body, Verdict: v, Logs: r.Artifacts, StartedAt: started, EndedAt: r.CompletedAt,
	}); err != nil {
		return err
	}
	if err := rec.AnswerOperation(adm.Run, "execute", adm.OperationKey, body); err != nil {
		return err
	}
	return rec.AddEvent(event(adm.Run, "command.finished", string(adm.ID), r.CompletedAt,
		"status", string(r.Status), "reason_code", string(r.ReasonCode)))
}

// result renders the evidence. The Checkpoint is filled later.
func (a *attempt) result(v result.Verdict, e result.Evidence) Result {
	r := blank(refOf(a.adm), v, a.s.Clock.Now())
	if mayHaveRun(a, e) {
		started := a.started
		r.StartedAt = &started
		r.Artifacts = []result.LogReceipt{
			a.stdout.receipt(runnerproto.Stdout, e.Report), a.stderr.receipt(runnerproto.Stderr, e.Report),
		}
	}
	if rep := e.Report; rep != nil {
		r.Resources = result.Resources{
			WallMillis: rep.Usage.WallMillis, CPUMillis: rep.Usage.CPUMillis, MaxRSSBytes: rep.Usage.MaxRSSBytes,
			PeakMemoryBytes: rep.Usage.PeakMemoryBytes, PeakPids: rep.Usage.PeakPids, PeakCacheBytes: rep.Usage.CachePeakBytes,
			GrowthBytes: rep.Growth.Bytes, GrowthEntries: rep.Growth.Entries,
			PeakGrowthBytes: rep.Growth.PeakBytes, PeakGrowthEntries: rep.Growth.PeakEntries,
		}
		r.Isolation.Facts = isolation.SortFacts(append([]isolation.Fact{}, rep.Facts...))
		r.Isolation.MeasuredSHA256 = isolation.FactsSHA256(rep.Facts)
		if rep.Events.FileSizePath != "" {
			a.details["file_size_path"] = rep.Events.FileSizePath
		}
	}
	if v.Status == result.Failed && v.Reason == result.Exited {
		a.explainExit(&r)
	}
	r.Details = a.details
	return r
}

// explainExit looks for a fixed ceiling in what the command says of its failure.
func (a *attempt) explainExit(r *Result) {
	for _, c := range []*collector{a.stderr, a.stdout} {
		k := c.kept()
		name, said := result.TooLarge(k.Tail)
		if name == "" {
			if first, saidFirst := result.TooLarge(k.Head); saidFirst {
				name, said = first, true
			}
		}
		if said {
			r.Remediation = result.RemedyTooLarge()
			a.details["file_size_said"] = cmp.Or(name, "(without a name)")
			return
		}
	}
}

func refOf(adm lifecycle.Admission) admissionRef {
	return admissionRef{
		id: adm.ID, run: adm.Run, drydock: adm.Authority.Drydock, generation: adm.Authority.Generation,
		checkpoint: adm.Authority.Checkpoint, engine: adm.Authority.Engine,
	}
}
