// Package approvals holds the reviewer's use cases: see a proposal, decide it,
// take the decision back.
package approvals

import (
	"context"
	"strconv"
	"time"

	"cyberagent/app/operation"
	"cyberagent/domain/approval"
	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/manifest"
	"cyberagent/ports"
)

// Service is the use cases over their ports.
type Service struct {
	Ledger    ports.Ledger
	Worktrees ports.Worktrees
	Clock     ports.Clock
}

// Protocol names the answer.
const Protocol = "standard-code-approval.v1"

// View is an approval as the reviewer must see it: the Command with one quoted
// argument a line, and everything that the decision is bound to.
type View struct {
	Protocol       string             `json:"protocol_version"`
	ApprovalID     id.Approval        `json:"approval_id"`
	PreparationID  id.Preparation     `json:"preparation_id"`
	RunID          id.Run             `json:"run_id"`
	Status         approval.Status    `json:"status"`
	Command        Command            `json:"command"`
	CommandSHA256  string             `json:"command_sha256"`
	ManifestSHA256 string             `json:"manifest_sha256"`
	Authority      manifest.Authority `json:"authority"`
	RequestedBy    string             `json:"requested_by"`
	RequestedAt    *time.Time         `json:"requested_at"`
	Reviewer       string             `json:"reviewer"` // self-declared
	Reason         string             `json:"reason"`
	CreatedAt      time.Time          `json:"created_at"`
	DecidedAt      *time.Time         `json:"decided_at"`
	ExpiresAt      time.Time          `json:"expires_at"`
	ConsumedBy     id.Admission       `json:"consumed_by"`
	// Since is nil in lists, in the answers to decisions, and when nothing was
	// approved before.
	Since    *Since `json:"since_last_approved"`
	Replayed bool   `json:"replayed"`
}

// Command is what would run. Quoted holds each argument as a Go string literal
// in ASCII, so that no character can hide.
type Command struct {
	Toolchain      command.Toolchain `json:"toolchain"`
	Arguments      []string          `json:"arguments"`
	Quoted         []string          `json:"quoted"`
	Workdir        string            `json:"working_directory"`
	TimeoutSeconds int64             `json:"timeout_seconds"`
	Purpose        string            `json:"purpose"`
	Stdin          isolation.Stdin   `json:"stdin_policy"`
}

func view(a approval.Approval, p approval.Preparation, now time.Time) View {
	c := a.Command
	v := View{
		Protocol: Protocol, ApprovalID: a.ID, PreparationID: a.Preparation, RunID: a.Run, Status: a.Status(now),
		Command: Command{
			Toolchain: c.Toolchain(), Arguments: c.Args(), Workdir: c.Workdir(),
			TimeoutSeconds: int64(c.Timeout() / time.Second), Purpose: c.Purpose(), Stdin: a.Stdin,
		},
		CommandSHA256: p.CommandSHA256, ManifestSHA256: p.ManifestSHA256, Authority: p.Authority,
		RequestedBy: a.RequestedBy, RequestedAt: when(a.RequestedAt), Reviewer: a.Reviewer, Reason: a.Reason,
		CreatedAt: a.CreatedAt, DecidedAt: when(a.DecidedAt), ExpiresAt: a.ExpiresAt, ConsumedBy: a.ConsumedBy,
	}
	for _, arg := range c.Args() {
		v.Command.Quoted = append(v.Command.Quoted, strconv.QuoteToASCII(arg))
	}
	return v
}

func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// load reads an approval with its preparation.
func load(rec ports.Records, pid id.Preparation) (approval.Approval, approval.Preparation, error) {
	p, err := rec.Preparation(pid)
	if err != nil {
		return approval.Approval{}, p, err
	}
	a, err := rec.ApprovalOfPreparation(pid)
	return a, p, err
}

// Show returns the approval of a preparation, with what changed since the last
// one.
func (s *Service) Show(ctx context.Context, pid id.Preparation) (View, error) {
	var a approval.Approval
	var p approval.Preparation
	err := s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
		a, p, err = load(rec, pid)
		return err
	})
	if err != nil {
		return View{}, err
	}
	v := view(a, p, s.Clock.Now())
	v.Since, err = s.since(ctx, a, p)
	return v, err
}

// ShowApproval returns an approval by its own id.
func (s *Service) ShowApproval(ctx context.Context, aid id.Approval) (View, error) {
	var pid id.Preparation
	if err := s.Ledger.Read(ctx, func(rec ports.Records) error {
		a, err := rec.Approval(aid)
		pid = a.Preparation
		return err
	}); err != nil {
		return View{}, err
	}
	return s.Show(ctx, pid)
}

// List returns a Run's approvals, the newest first; an empty Run means all.
func (s *Service) List(ctx context.Context, rid id.Run, pendingOnly bool) ([]View, error) {
	views := []View{}
	now := s.Clock.Now()
	err := s.Ledger.Read(ctx, func(rec ports.Records) error {
		if rid != "" {
			if _, err := rec.Run(rid); err != nil {
				return err
			}
		}
		all, err := rec.ListApprovals(rid)
		if err != nil {
			return err
		}
		for _, a := range all {
			if pendingOnly && a.Status(now) != approval.Pending {
				continue
			}
			p, err := rec.Preparation(a.Preparation)
			if err != nil {
				return err
			}
			views = append(views, view(a, p, now))
		}
		return nil
	})
	return views, err
}

// Request notes who asks for a review and returns what the reviewer must see.
// Asking again changes nothing.
func (s *Service) Request(ctx context.Context, pid id.Preparation, by string) (View, error) {
	now := s.Clock.Now()
	var v View
	var next approval.Approval
	var p approval.Preparation
	err := s.Ledger.Write(ctx, func(rec ports.Records) (err error) {
		var a approval.Approval
		if a, p, err = load(rec, pid); err != nil {
			return err
		}
		if next, err = a.Request(by, now); err != nil {
			return err
		}
		v = view(next, p, now)
		if !a.RequestedAt.IsZero() {
			v.Replayed = true
			return nil
		}
		if err := rec.AddRequest(next); err != nil {
			return err
		}
		return rec.AddEvent(ports.Event{Run: a.Run, Kind: "approval.requested", Subject: string(a.ID), At: now})
	})
	if err != nil {
		return View{}, err
	}
	v.Since, err = s.since(ctx, next, p)
	return v, err
}

// watchEvery is how often Watch looks: a reviewer does not notice it, and the
// ledger does not either.
const watchEvery = 500 * time.Millisecond

// Watch waits until something of the Run, or of any, waits for a decision, and
// returns it. It returns nothing when ctx ends first.
func (s *Service) Watch(ctx context.Context, rid id.Run) ([]View, error) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		all, err := s.List(ctx, rid, true)
		if ctx.Err() != nil {
			return []View{}, nil
		}
		if err != nil || len(all) > 0 {
			return all, err
		}
		select {
		case <-ctx.Done():
			return []View{}, nil
		case <-tick.C:
		}
	}
}

// ReviewInput is one decision.
type ReviewInput struct {
	Preparation      id.Preparation
	Decision         approval.Decision
	Reviewer, Reason string
	Life             time.Duration // 0 means the default
	// Manifest is the digest that the reviewer saw; empty means not confirmed.
	Manifest     string
	OperationKey string
}

// Review records a decision. It returns the approval's own code when it can no
// longer be decided, command_mismatch when another digest was confirmed, and
// refuses to approve what no execution could use (Preparation.Usable); that can
// still be denied.
func (s *Service) Review(ctx context.Context, in ReviewInput) (View, error) {
	if in.Manifest != "" {
		if err := s.confirm(ctx, in.Preparation, in.Manifest); err != nil {
			return View{}, err
		}
	}
	decide := func(a approval.Approval, now time.Time) (approval.Approval, error) {
		return a.Review(in.Decision, in.Reviewer, in.Reason, in.Life, now)
	}
	intent := struct {
		Preparation                id.Preparation
		Decision, Reviewer, Reason string
		Life                       int64
	}{in.Preparation, string(in.Decision), in.Reviewer, in.Reason, int64(in.Life)}
	return s.decide(ctx, in.Preparation, "approval.review", in.OperationKey, intent, decide, func(rec ports.Records, a approval.Approval) error {
		if in.Decision == approval.Approve {
			p, err := rec.Preparation(a.Preparation)
			if err == nil {
				err = usable(rec, p)
			}
			if err != nil {
				return err
			}
		}
		return rec.AddDecision(a)
	})
}

// usable refuses what could be approved and never executed.
func usable(rec ports.Records, p approval.Preparation) error {
	r, err := rec.Run(p.Run)
	if err != nil {
		return err
	}
	d, err := rec.Drydock(p.Authority.Drydock)
	if err != nil {
		return err
	}
	return p.Usable(r, d)
}

// confirm refuses another digest than a preparation's, which never changes.
func (s *Service) confirm(ctx context.Context, pid id.Preparation, digest string) error {
	return s.Ledger.Read(ctx, func(rec ports.Records) error {
		p, err := rec.Preparation(pid)
		if err != nil || p.ManifestSHA256 == digest {
			return err
		}
		return fault.New(fault.CommandMismatch, "%s is not what %s would run", digest, pid).At("confirm").
			With("manifest_sha256", p.ManifestSHA256).Hint("look again: cyberagent run sandbox show %s", pid)
	})
}

// Revoke takes back an approval that was not used.
func (s *Service) Revoke(ctx context.Context, pid id.Preparation, opKey string) (View, error) {
	return s.decide(ctx, pid, "approval.revoke", opKey, pid, approval.Approval.Revoke,
		func(rec ports.Records, a approval.Approval) error { return rec.AddRevocation(a) })
}

func (s *Service) decide(ctx context.Context, pid id.Preparation, verb, opKey string, intent any,
	change func(approval.Approval, time.Time) (approval.Approval, error),
	keep func(ports.Records, approval.Approval) error,
) (View, error) {
	now := s.Clock.Now()
	var rid id.Run
	if err := s.Ledger.Read(ctx, func(rec ports.Records) error {
		p, err := rec.Preparation(pid)
		rid = p.Run
		return err
	}); err != nil {
		return View{}, err
	}
	key, err := operation.NewKey(rid, verb, opKey, intent)
	if err != nil {
		return View{}, err
	}
	var v View
	write := func(fn func(ports.Records) error) error { return s.Ledger.Write(ctx, fn) }
	replayed, err := operation.Once(write, key, now, &v, func(rec ports.Records) error {
		a, p, err := load(rec, pid)
		if err != nil {
			return err
		}
		next, err := change(a, now)
		if err != nil {
			return err
		}
		v = view(next, p, now)
		if a.RevokedAt.IsZero() || verb != "approval.revoke" {
			if err := keep(rec, next); err != nil {
				return err
			}
		}
		return rec.AddEvent(ports.Event{
			Run: rid, Kind: verb, Subject: string(a.ID),
			Detail: map[string]string{"status": string(next.Status(now))}, At: now,
		})
	})
	v.Replayed = replayed
	return v, err
}
