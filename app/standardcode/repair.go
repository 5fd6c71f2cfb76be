package standardcode

import (
	"context"
	"io"
	"strconv"
	"time"

	"cyberagent/app/aside"
	"cyberagent/domain/admission"
	"cyberagent/domain/canon"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/domain/runnerproto"
	"cyberagent/ports"
)

// repairTime bounds one repair: it is one walk of the tree.
const repairTime = 5 * time.Minute

// Repairs runs the fixed container in its repair mode.
type Repairs struct{ Service *Service }

// Ready refuses what would block a command too, but for the state of the
// Drydock.
func (r Repairs) Ready(ctx context.Context, rid id.Run, gates admission.Gates) error {
	e, err := r.evidence(ctx, rid, gates)
	if err != nil {
		return err
	}
	return admission.Error(admission.Evaluate(e))
}

// evidence is what a repair is judged by. With a gate shut no engine is asked.
func (r Repairs) evidence(ctx context.Context, rid id.Run, gates admission.Gates) (admission.Evidence, error) {
	s := r.Service
	e := admission.Evidence{Gates: gates, AllowDesktop: s.Settings.AllowDesktop}
	err := s.Ledger.Read(ctx, func(rec ports.Records) error {
		run, err := rec.Run(rid)
		e.Run = &run
		return err
	})
	if err == nil && len(gates.Missing()) == 0 {
		err = s.gatherEngine(ctx, &e)
	}
	return e, err
}

// Clear removes what a repair that was cut off left.
func (r Repairs) Clear(ctx context.Context, d drydock.Drydock, execution id.Admission) error {
	call, cancel := detached(ctx, limits.EngineCall)
	defer cancel()
	owner := ports.Ownership{Admission: execution, Installation: r.Service.Ledger.Installation()}
	if err := removeOwned(call, r.Service.Engine, owner, ""); err != nil {
		return fault.Wrap(fault.CleanupPending, err, "the container of a repair could not be removed yet").
			Hint("when the engine answers again, repeat `cyberagent drydock repair %s`", d.Run)
	}
	return nil
}

// Repair creates the container of the contract around no command, proves its
// isolation as for any other, and removes it. The Drydock is out of use while it
// lives: the caller recorded that with the execution's id.
func (r Repairs) Repair(ctx context.Context, d drydock.Drydock, execution id.Admission) (out drydock.Repaired, err error) {
	spec, manifest, err := r.spec(ctx, d, execution)
	if err != nil {
		return out, err
	}
	report, err := r.contain(ctx, spec, manifest)
	if gone := r.Clear(ctx, d, execution); gone != nil {
		return out, gone
	}
	if err != nil {
		return out, err
	}
	out.Intact, out.Detail = report.WorkspaceIntact && report.MaskIntact, clip(report.Detail, limits.ReasonRunes)
	for _, u := range report.Unreadable {
		out.Unreadable = append(out.Unreadable, strconv.Quote(u))
	}
	return out, nil
}

// spec compiles the repair for the present image, mask and root.
func (r Repairs) spec(ctx context.Context, d drydock.Drydock, execution id.Admission) (isolation.Spec, string, error) {
	s := r.Service
	// The gates were judged by Ready; the image may have gone since.
	e, err := r.evidence(ctx, d.Run, admission.AllGates())
	if err != nil {
		return isolation.Spec{}, "", err
	}
	if !e.Image.Present {
		return isolation.Spec{}, "", admission.Error(admission.Evaluate(e))
	}
	mask, err := s.Masks.Mask(ctx)
	if err == nil {
		err = s.Worktrees.Verify(ctx, d.Place)
	}
	if err != nil {
		return isolation.Spec{}, "", err
	}
	manifest := canon.Digest([]string{"repair", d.BindingDigest(), string(execution), e.Image.ID})
	body, err := runnerproto.Binding{
		Protocol: runnerproto.Protocol, Mode: runnerproto.ModeRepair, Admission: string(execution),
		ManifestSHA256: manifest, Arguments: []string{}, Workdir: ".", Stdin: isolation.StdinClosed,
		TimeoutMillis: repairTime.Milliseconds(), GraceMillis: limits.StopGrace.Milliseconds(),
		Quota: runnerproto.FixedQuota(),
		Host: isolation.Host{
			Workspace: d.Place.RootID, Mask: mask.ID, Namespaces: s.Meter.Namespaces(), PrivateCgroup: e.Engine.PrivateCgroup,
		},
	}.Encode()
	if err != nil {
		return isolation.Spec{}, "", fault.Wrap(fault.Internal, err, "unencodable binding")
	}
	spec, err := isolation.NewSpec(execution, s.Ledger.Installation(), e.Image.ID, d.Place.Root, mask, runnerproto.Protocol, body, isolation.StdinClosed)
	return spec, manifest, err
}

// contain creates, compares, starts once, and reads the runner's report.
func (r Repairs) contain(ctx context.Context, spec isolation.Spec, manifest string) (runnerproto.Report, error) {
	s := r.Service
	none := func(err error) (runnerproto.Report, error) { return runnerproto.Report{}, err }
	call, cancel := detached(ctx, limits.EngineCall)
	defer cancel()
	cid, observed, err := s.Engine.Create(call, spec)
	if err != nil {
		return none(err)
	}
	if diffs := isolation.Compare(spec, observed); len(diffs) > 0 {
		return none(mismatch(diffs))
	}
	line, err := aside.Yard{Engine: s.Engine}.Run(ctx, cid, repairTime, io.Discard)
	if err != nil {
		return none(err)
	}
	rep, err := runnerproto.DecodeReport(line, string(spec.Admission()), manifest)
	switch {
	case err != nil:
		return none(err)
	case len(rep.Mismatches) > 0:
		return none(mismatch(rep.Mismatches))
	case rep.Outcome != runnerproto.OutcomeRepaired:
		return none(fault.New(fault.RunnerFailure, "the runner did not repair: %s", clip(rep.Detail, 160)).Hint("repeat the repair"))
	}
	return rep, nil
}

func mismatch(diffs []isolation.Difference) error {
	e := fault.New(fault.IsolationMismatch, "the container is not the contract's: %s", diffs[0].Property).
		Hint("run `cyberagent engine check`; nothing was started")
	for _, d := range diffs {
		e = e.With(d.Property, "want "+brief(d.Want)+", got "+brief(d.Got))
	}
	return e
}
