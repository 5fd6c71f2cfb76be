package enginecheck

import (
	"context"
	"io"
	"time"

	"cyberagent/app/engines"
	"cyberagent/domain/admission"
	"cyberagent/domain/canon"
	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/domain/runnerproto"
)

// timeout is the trivial command's.
const timeout = 60 * time.Second

// Check does one check. A machine that is not as promised is an answer; an error
// is something that could not be found out, or a container that could not be
// removed (cleanup_pending). It first clears what a killed check left.
func (s *Service) Check(ctx context.Context) (Report, error) {
	r := Report{
		Protocol: Protocol, Engine: s.Engine.Engine(), Contract: isolation.Contract, ExpectedSHA256: isolation.FactsSHA256(isolation.Expected()),
		Blockers: []Blocker{}, Properties: []Property{}, CheckedAt: s.Clock.Now(),
	}
	engine, image, err := engines.Gather(ctx, s.Engine, s.ImageDigest(s.Engine.Engine()), s.ImageFrom, "")
	if err != nil {
		return r, err
	}
	e := admission.Evidence{
		Gates:  admission.AllGates(),
		Engine: &engine, Image: &image, AllowDesktop: s.AllowDesktop,
	}
	r.EngineVersion, r.ImageID = e.Engine.Version, e.Image.ID
	for _, v := range admission.Evaluate(e) {
		r.Blockers = append(r.Blockers, Blocker{v.Reason, v.Detail, v.Advice})
	}
	if len(r.Blockers) > 0 {
		return r, nil
	}
	if _, err := s.Sweep(ctx); err != nil {
		return r, err
	}
	err = s.try(ctx, e, &r)
	return r, err
}

// try makes the workspace, the container and the answer, and removes the first
// two.
func (s *Service) try(ctx context.Context, e admission.Evidence, r *Report) (err error) {
	a := id.Admission(s.IDs.New(id.KindAdmission))
	scratch, err := s.Scratches.Make(ctx, a)
	if err != nil {
		return err
	}
	defer func() {
		if clear := s.yard().Clear(ctx, a); err == nil {
			err = clear
		}
		scratch.Release()
	}()
	mask, err := s.Masks.Mask(ctx)
	if err != nil {
		return err
	}
	manifest := canon.Digest([]string{Protocol, string(a)})
	body, err := runnerproto.Binding{
		Protocol: runnerproto.Protocol, Mode: runnerproto.ModeRun, Admission: string(a), ManifestSHA256: manifest, CommandSHA256: manifest,
		Toolchain: string(command.Go), Arguments: []string{"version"}, Workdir: ".", Stdin: isolation.StdinClosed,
		TimeoutMillis: timeout.Milliseconds(), GraceMillis: limits.StopGrace.Milliseconds(),
		Quota: runnerproto.FixedQuota(),
		Host: isolation.Host{
			Workspace: scratch.ID, Mask: mask.ID, Namespaces: s.Meter.Namespaces(), PrivateCgroup: e.Engine.PrivateCgroup,
		},
	}.Encode()
	if err != nil {
		return fault.Wrap(fault.Internal, err, "unencodable binding")
	}
	spec, err := isolation.NewSpec(a, s.Installation, e.Image.ID, scratch.Root, mask, runnerproto.Protocol, body, isolation.StdinClosed)
	if err != nil {
		return err
	}
	return s.prove(ctx, spec, manifest, r)
}

// prove fills the table: first what is read back, and only if that is the
// contract's, what the runner measures.
func (s *Service) prove(ctx context.Context, spec isolation.Spec, manifest string, r *Report) error {
	call, cancel := context.WithTimeout(ctx, limits.EngineCall)
	defer cancel()
	c, observed, err := s.Engine.Create(call, spec)
	if err != nil {
		return err
	}
	diffs := isolation.Compare(spec, observed)
	r.add(ReadBack, isolation.Listed(spec.Properties()), isolation.Listed(observed), diffs)
	if len(diffs) > 0 {
		r.Detail = "the container was not started: it was not configured as asked for"
		return nil
	}
	line, err := s.yard().Run(ctx, c, timeout, io.Discard)
	if err != nil {
		return err
	}
	rep, err := runnerproto.DecodeReport(line, string(spec.Admission()), manifest)
	if err != nil {
		r.Detail = err.Error()
		return nil
	}
	measured := isolation.Mismatches(rep.Facts, isolation.Expected())
	r.add(Measurement, isolation.Expected(), rep.Facts, measured)
	r.MeasuredSHA256, r.Command, r.Detail = isolation.FactsSHA256(rep.Facts), string(rep.Outcome), rep.Detail
	r.OK = len(measured) == 0 && rep.Outcome == runnerproto.OutcomeExited && rep.ExitCode == 0 && rep.MaskIntact && rep.WorkspaceIntact
	return nil
}
