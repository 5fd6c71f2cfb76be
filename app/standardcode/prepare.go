package standardcode

import (
	"cmp"
	"context"
	"time"

	"cyberagent/app/operation"
	"cyberagent/domain/admission"
	"cyberagent/domain/approval"
	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/manifest"
	"cyberagent/ports"
)

// PreparationProtocol names prepare's answer.
const PreparationProtocol = "standard-code-preparation.v1"

// Preparation is prepare's answer.
type Preparation struct {
	Protocol       string             `json:"protocol_version"`
	PreparationID  id.Preparation     `json:"preparation_id"`
	RunID          id.Run             `json:"run_id"`
	ManifestSHA256 string             `json:"manifest_sha256"`
	CommandSHA256  string             `json:"command_sha256"`
	Authority      manifest.Authority `json:"authority"`
	Approval       ApprovalRef        `json:"approval"`
	CreatedAt      time.Time          `json:"created_at"`
	Replayed       bool               `json:"replayed"`
}

// ApprovalRef names the proposal that prepare made.
type ApprovalRef struct {
	ID     id.Approval     `json:"id"`
	Status approval.Status `json:"status"`
}

// Readiness answers whether the Command could be prepared now. A blocked answer
// is an answer; an error is a bad Command, an unknown Run, or something that
// could not be found out.
func (s *Service) Readiness(ctx context.Context, r Request) (admission.Readiness, error) {
	if _, err := command.New(r.Command); err != nil {
		return admission.Readiness{}, err
	}
	e, err := s.gather(ctx, r)
	if err != nil {
		return admission.Readiness{}, err
	}
	return admission.Answer(e, admission.Evaluate(e), evidenceDigest(e), s.Clock.Now()), nil
}

// Prepare compiles the Command for the present authority state and makes the
// approval proposal. It refuses what readiness would block, with that code, and
// changes nothing then.
func (s *Service) Prepare(ctx context.Context, r Request, opKey string) (Preparation, error) {
	c, err := r.check()
	if err != nil {
		return Preparation{}, err
	}
	key, err := operation.NewKey(r.Run, "prepare", opKey, []any{c.Wire(), r.Generation, r.Checkpoint, r.Stdin})
	if err != nil {
		return Preparation{}, err
	}
	var v Preparation
	replayed := false
	if err := s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
		replayed, err = key.Replay(rec, &v)
		return err
	}); err != nil || replayed {
		v.Replayed = replayed
		return v, err
	}
	e, err := s.admitted(ctx, r)
	if is(err, fault.DrydockDrifted) {
		// What a command that is not finished left is not the reader's to record.
		err = cmp.Or(s.unfinished(ctx, r.Run), err)
	}
	if err != nil {
		return v, err
	}
	if err := s.Worktrees.CheckWorkdir(ctx, e.Drydock.Drydock.Place, c.Workdir()); err != nil {
		return v, err
	}
	auth := authority(e)
	m := manifest.Compile(r.Run, c, r.Stdin, auth)
	body, err := m.Encode()
	if err != nil {
		return v, fault.Wrap(fault.Internal, err, "unencodable manifest")
	}
	now := s.Clock.Now()
	p := approval.Preparation{
		ID: id.Preparation(s.IDs.New(id.KindPreparation)), Run: r.Run, ManifestSHA256: m.SHA256(), Manifest: body,
		CommandSHA256: c.Fingerprint(), Authority: auth, CreatedAt: now,
	}
	a := approval.Propose(id.Approval(s.IDs.New(id.KindApproval)), p, c, r.Stdin, now)
	v = Preparation{
		Protocol: PreparationProtocol, PreparationID: p.ID, RunID: r.Run, ManifestSHA256: p.ManifestSHA256,
		CommandSHA256: p.CommandSHA256, Authority: auth, Approval: ApprovalRef{a.ID, a.Status(now)}, CreatedAt: now,
	}
	write := func(fn func(ports.Records) error) error { return s.Ledger.Write(ctx, fn) }
	replayed, err = operation.Once(write, key, now, &v, func(rec ports.Records) error {
		if err := unchanged(rec, r.Run, auth); err != nil {
			return err
		}
		if err := rec.AddPreparation(p); err != nil {
			return err
		}
		if err := rec.AddApproval(a); err != nil {
			return err
		}
		return rec.AddEvent(event(r.Run, "command.prepared", string(p.ID), now, "command_sha256", p.CommandSHA256))
	})
	v.Replayed = replayed
	return v, err
}

// unfinished is in_progress where a command of the Run is open, or its owner died.
func (s *Service) unfinished(ctx context.Context, rid id.Run) error {
	open, err := s.open(ctx, rid)
	if err != nil || len(open) == 0 {
		return err
	}
	return notFinished(open[0].ID, ", and may have changed the files").
		Hint("wait for it; if its process is gone: `cyberagent run standard-code recover %s`", rid)
}

// unchanged proves inside a transaction that the ledger still has the authority
// state that was gathered before it.
func unchanged(rec ports.Records, rid id.Run, auth manifest.Authority) error {
	r, err := rec.Run(rid)
	if err != nil {
		return err
	}
	d, err := rec.DrydockOfRun(rid)
	if err != nil {
		return err
	}
	now := auth
	now.Drydock, now.Generation, now.Checkpoint, now.BindingSHA256 = d.ID, d.Generation, d.Checkpoint, d.BindingDigest()
	now.ProfileRevision, now.PermissionRevision = r.Profile.Revision, r.Permission.Revision
	if diff := auth.Differences(now); len(diff) > 0 {
		return drifted(diff)
	}
	if refused := admission.Evaluate(admission.Evidence{
		Gates: admission.AllGates(), Run: &r,
		Drydock:   &admission.DrydockFacts{Drydock: d, Present: true},
		Requested: &admission.Requested{Generation: auth.Generation, Checkpoint: auth.Checkpoint},
	}); len(refused) > 0 {
		return admission.Error(refused)
	}
	return nil
}

func drifted(fields []string) error {
	e := fault.New(fault.AuthorityDrift, "changed since the command was prepared: %v", fields).
		Hint("prepare the command again and have it reviewed")
	for _, f := range fields {
		e = e.With(f, "changed")
	}
	return e
}
