package standardcode

import (
	"context"
	"errors"
	"strings"
	"time"

	"cyberagent/app/operation"
	"cyberagent/domain/approval"
	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
	"cyberagent/domain/manifest"
	"cyberagent/domain/run"
	"cyberagent/domain/runnerproto"
	"cyberagent/ports"
)

// ExecuteInput resupplies the Command with the exact approved identities.
type ExecuteInput struct {
	Request
	Preparation  id.Preparation
	Approval     id.Approval
	OperationKey string
	// Live sees the output as it comes; nil for nobody.
	Live Sink
	// Progress is told each step in a few words; nil for nobody.
	Progress func(step string)
	// Admitted is told the execution's id as soon as it is recorded; nil for nobody.
	// It must not block for long.
	Admitted func(id.Admission)
	// Feed gives the input of a command whose Stdin is a pipe.
	Feed Feed
	// Kill, once closed, ends the command without the grace of a TERM.
	Kill <-chan struct{}
}

// Output is what a finished command's streams left in this process's memory.
// It is never stored.
type Output struct{ Stdout, Stderr Kept }

// Execute runs an approved Command once. The same key with the same intent
// answers the recorded result. It returns the Command's end as a Result, also
// when it failed; an error means that it was refused before anything was touched,
// or that this process no longer owns what happens (lease_lost), or that the
// container could not be removed yet (cleanup_pending).
func (s *Service) Execute(ctx context.Context, in ExecuteInput) (Result, *Output, error) {
	c, err := in.check()
	if err != nil {
		return Result{}, nil, err
	}
	key, err := operation.NewKey(in.Run, "execute", in.OperationKey,
		[]any{c.Wire(), in.Generation, in.Checkpoint, in.Stdin, in.Preparation, in.Approval})
	if err != nil {
		return Result{}, nil, err
	}
	// An owner that was killed after its last word leaves a lock and nothing to
	// recover.
	_ = s.Locks.Sweep()
	if r, done, err := s.earlier(ctx, key, in); done || err != nil {
		return r, nil, err
	}
	a, err := s.admit(ctx, in, c, key)
	if err != nil {
		// Another process may have begun this very operation meanwhile, and so have
		// used the approval: then the answer is that operation's.
		if r, done, late := s.earlier(ctx, key, in); done || is(late, fault.InProgress) {
			return r, nil, late
		}
		return Result{}, nil, err
	}
	defer a.release()
	r, err := a.run(ctx)
	return r, &Output{Stdout: a.stdout.kept(), Stderr: a.stderr.kept()}, err
}

// earlier answers a repeated call. One that was cut off by the death of its
// process is recovered first, and its recovered end is the answer: nothing is
// started a second time.
func (s *Service) earlier(ctx context.Context, key operation.Key, in ExecuteInput) (Result, bool, error) {
	var r Result
	find := func() (done bool, err error) {
		err = s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
			done, err = key.Replay(rec, &r)
			return err
		})
		return done, err
	}
	done, err := find()
	r.Replayed = done
	if !is(err, fault.InProgress) {
		return r, done, err
	}
	if _, err := s.Recover(ctx, RecoverInput{Run: in.Run}); err != nil {
		return r, false, err
	}
	done, err = find()
	r.Replayed = done
	return r, done, err
}

// forApproved fits a remedy of readiness to a command that was approved already: with
// another state the approval ends.
func forApproved(err error) error {
	refused := fault.From(err)
	switch refused.Code {
	case fault.GenerationStale, fault.CheckpointStale:
		return refused.Hint("what was approved is over: prepare the command and have it approved for the state that is current; %s", refused.Remedy)
	case fault.DrydockDrifted:
		return refused.Hint("%s; the approval ends with that, so prepare the command again. To keep the approval, bring the files back as they were", refused.Remedy)
	default: // the others are the same for whoever asks
	}
	return err
}

// admit refuses everything that is not exactly what was approved, then writes
// the admission, its lease and the intent to create in one transaction.
func (s *Service) admit(ctx context.Context, in ExecuteInput, c command.Command, key operation.Key) (*attempt, error) {
	p, appr, err := s.approved(ctx, in, c)
	if err != nil {
		return nil, err
	}
	if err := s.idle(ctx, in.Run); err != nil {
		return nil, err
	}
	e, err := s.admitted(ctx, in.Request)
	if err != nil {
		return nil, forApproved(err)
	}
	if err := sameManifest(p, in, c, authority(e)); err != nil {
		return nil, err
	}
	d := e.Drydock.Drydock
	if err := s.Worktrees.CheckWorkdir(ctx, d.Place, c.Workdir()); err != nil {
		return nil, err
	}
	mask, err := s.Masks.Mask(ctx)
	if err != nil {
		return nil, err
	}
	now := s.Clock.Now()
	adm := lifecycle.Admission{
		ID: id.Admission(s.IDs.New(id.KindAdmission)), Run: in.Run, Preparation: p.ID, Approval: appr.ID,
		Permission: run.WorkspaceAccess, ManifestSHA256: p.ManifestSHA256, CommandSHA256: p.CommandSHA256,
		Authority: p.Authority, ImageID: e.Image.ID, Stdin: in.Stdin, OperationKey: key.Name(), CreatedAt: now,
	}
	host := isolation.Host{
		Workspace: d.Place.RootID, Mask: mask.ID, Namespaces: s.Meter.Namespaces(), PrivateCgroup: e.Engine.PrivateCgroup,
	}
	body, err := bind(adm, c, host).Encode()
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "unencodable binding")
	}
	spec, err := isolation.NewSpec(adm.ID, s.Ledger.Installation(), e.Image.ID, d.Place.Root, mask, runnerproto.Protocol, body, in.Stdin)
	if err != nil {
		return nil, err
	}
	a := newAttempt(s, s.Engine, adm, d, c, spec, key)
	a.live, a.progress, a.feed, a.kill = in.Live, in.Progress, in.Feed, in.Kill
	if err = a.begin(ctx); err == nil && in.Admitted != nil {
		in.Admitted(adm.ID)
	}
	return a, err
}

// approved loads the preparation and its approval and refuses foreign ones and
// another Command.
func (s *Service) approved(ctx context.Context, in ExecuteInput, c command.Command) (p approval.Preparation, a approval.Approval, err error) {
	err = s.Ledger.Read(ctx, func(rec ports.Records) error {
		if p, err = rec.Preparation(in.Preparation); err != nil {
			return err
		}
		a, err = rec.Approval(in.Approval)
		return err
	})
	switch {
	case err != nil:
		return p, a, err
	case p.Run != in.Run:
		return p, a, fault.New(fault.ApprovalForeign, "preparation %s belongs to another Run", p.ID).At("preparation").
			Hint("prepare the command for this Run")
	case p.CommandSHA256 != c.Fingerprint():
		return p, a, otherCommand(p, a, c)
	}
	// A first look; the one that counts is in the admission's transaction.
	_, err = a.Consume(p.ID, "adm_", s.Clock.Now())
	return p, a, err
}

// otherCommand says in what the command is not the approved one. Only the
// preparation's own approval has the command that was prepared.
func otherCommand(p approval.Preparation, a approval.Approval, c command.Command) error {
	e := fault.New(fault.CommandMismatch, "the command is not the approved one").At("arg")
	if fields := a.Command.Differences(c); a.Preparation == p.ID && len(fields) > 0 {
		e = fault.New(fault.CommandMismatch, "the command is not the approved one: it differs in %s", strings.Join(fields, ", ")).At(fields[0])
	}
	return e.Hint("resupply exactly the command that was prepared (cyberagent run sandbox show %s), or prepare the new one", p.ID).
		With("approved_sha256", p.CommandSHA256).With("command_sha256", c.Fingerprint())
}

// sameManifest recompiles and compares with what was approved.
func sameManifest(p approval.Preparation, in ExecuteInput, c command.Command, now manifest.Authority) error {
	dec, err := manifest.Decode(p.Manifest)
	if err != nil {
		return err
	}
	if err := dec.Executable(); err != nil {
		return err
	}
	if p.Authority.Engine != now.Engine {
		return fault.New(fault.EngineMismatch, "prepared for %s, this process uses %s", p.Authority.Engine, now.Engine).
			At("engine").Hint("use the engine that was approved, or prepare again")
	}
	if p.Authority.Generation != now.Generation {
		return fault.New(fault.GenerationStale, "prepared at generation %d, the Drydock is at %d", p.Authority.Generation, now.Generation).
			At("generation").Hint("what was approved is over: prepare the command again for the present generation, and have that approved")
	}
	if diff := p.Authority.Differences(now); len(diff) > 0 {
		return drifted(diff)
	}
	if m := manifest.Compile(in.Run, c, in.Stdin, now); m.SHA256() != p.ManifestSHA256 {
		return drifted([]string{"manifest"})
	}
	return nil
}

func bind(adm lifecycle.Admission, c command.Command, host isolation.Host) runnerproto.Binding {
	return runnerproto.Binding{
		Protocol: runnerproto.Protocol, Mode: runnerproto.ModeRun, Admission: string(adm.ID),
		ManifestSHA256: adm.ManifestSHA256, CommandSHA256: adm.CommandSHA256,
		Toolchain: string(c.Toolchain()), Arguments: c.Args(), Workdir: c.Workdir(), Stdin: adm.Stdin,
		TimeoutMillis: c.Timeout().Milliseconds(), GraceMillis: limits.StopGrace.Milliseconds(),
		Quota: runnerproto.FixedQuota(),
		Host:  host,
	}
}

// idle refuses while another admission of the Run may have a container, after
// recovering those whose owner is dead.
func (s *Service) idle(ctx context.Context, rid id.Run) error {
	if open, err := s.open(ctx, rid); err != nil || len(open) == 0 {
		return err
	}
	if _, err := s.Recover(ctx, RecoverInput{Run: rid}); err != nil && !errors.Is(err, fault.RecoveryRequired) {
		return err
	}
	open, err := s.open(ctx, rid)
	if err != nil || len(open) == 0 {
		return err
	}
	return notFinished(open[0].ID, "").
		Hint("wait for it, cancel it with `cyberagent run standard-code cancel --admission %s`, or see why with recover --dry-run", open[0].ID)
}

// outerDeadline is when the host ends what the runner's own clock did not: the
// Command's time, the runner's grace, and what a start and a last scan may take.
func outerDeadline(c command.Command) time.Duration {
	return c.Timeout() + limits.StopGrace + limits.LeaseMargin
}

// open are the Run's admissions that are not final.
func (s *Service) open(ctx context.Context, rid id.Run) (open []lifecycle.Admission, err error) {
	err = s.Ledger.Read(ctx, func(rec ports.Records) error {
		open, err = rec.OpenAdmissions(rid)
		return err
	})
	return open, err
}

// notFinished is in_progress for a command that stands in the way; more ends the sentence.
func notFinished(a id.Admission, more string) *fault.Error {
	return fault.New(fault.InProgress, "command %s of this Run is not finished%s", a, more).At("run")
}
