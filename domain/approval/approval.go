// Package approval holds an operator's decision on one preparation: usable
// once, expiring, bound to everything the preparation is bound to.
package approval

import (
	"fmt"
	"time"

	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/domain/manifest"
	"cyberagent/domain/run"
)

// Status is what an approval is worth now.
type Status string

// The statuses. Expired is computed from the clock and never stored.
const (
	Pending  Status = "pending"
	Approved Status = "approved"
	Denied   Status = "denied"
	Expired  Status = "expired"
	Consumed Status = "consumed"
	Revoked  Status = "revoked"
)

// Decision is what a reviewer may say.
type Decision string

// The decisions.
const (
	Approve Decision = "approve"
	Deny    Decision = "deny"
)

// ParseDecision accepts a decision's word.
func ParseDecision(s string) (Decision, error) {
	switch Decision(s) {
	case Approve, Deny:
		return Decision(s), nil
	}
	return "", fault.New(fault.InvalidArgument, "%q is not approve or deny", s).At("decision").Hint("use approve or deny")
}

// Preparation is the immutable record that one Command was compiled to one
// manifest for one exact authority state.
type Preparation struct {
	ID             id.Preparation
	Run            id.Run
	ManifestSHA256 string
	Manifest       []byte // canonical JSON, version 1 or 2
	CommandSHA256  string
	Authority      manifest.Authority
	CreatedAt      time.Time
}

// Approval is the proposal with the decision on it. The Command is stored here
// and nowhere else, for the reviewer must see it.
type Approval struct {
	ID          id.Approval
	Preparation id.Preparation
	Run         id.Run
	Command     command.Command
	Stdin       isolation.Stdin
	CreatedAt   time.Time
	// ExpiresAt ends a proposal that nobody decided, and then the decision.
	ExpiresAt   time.Time
	RequestedBy string
	RequestedAt time.Time

	Decision  Decision // empty while undecided
	Reviewer  string   // self-declared
	Reason    string
	DecidedAt time.Time
	RevokedAt time.Time
	// ConsumedBy is the one admission that used it.
	ConsumedBy id.Admission
	ConsumedAt time.Time
}

// Propose makes the pending approval of a preparation; it stays decidable for
// ApprovalLifeMax.
func Propose(aid id.Approval, p Preparation, c command.Command, stdin isolation.Stdin, now time.Time) Approval {
	return Approval{
		ID: aid, Preparation: p.ID, Run: p.Run, Command: c, Stdin: stdin,
		CreatedAt: now, ExpiresAt: now.Add(limits.ApprovalLifeMax),
	}
}

// Status says what the approval is worth at a time. What happened first wins
// over the clock: a consumed approval never expires.
func (a Approval) Status(now time.Time) Status {
	switch {
	case a.ConsumedBy != "":
		return Consumed
	case !a.RevokedAt.IsZero():
		return Revoked
	case a.Decision == Deny:
		return Denied
	case !now.Before(a.ExpiresAt):
		return Expired
	case a.Decision == Approve:
		return Approved
	}
	return Pending
}

// Request notes who asks for the review. It changes nothing once noted.
func (a Approval) Request(by string, now time.Time) (Approval, error) {
	if by != "" {
		if err := run.CheckText("requested_by", by, limits.NameRunes); err != nil {
			return a, err
		}
	}
	if a.RequestedAt.IsZero() {
		a.RequestedBy, a.RequestedAt = by, now
	}
	return a, nil
}

// Review records the decision of a pending approval. life is how long an
// approval may be used, 0 for the default. It returns invalid_argument for bad
// words and the approval's own code when it is no longer pending.
func (a Approval) Review(d Decision, reviewer, reason string, life time.Duration, now time.Time) (Approval, error) {
	if _, err := ParseDecision(string(d)); err != nil {
		return a, err
	}
	if life == 0 {
		life = limits.ApprovalLife
	}
	if life < time.Second || life > limits.ApprovalLifeMax {
		return a, fault.New(fault.InvalidArgument, "%s is outside 1s..%s", life, limits.ApprovalLifeMax).At("expires_in").
			Hint("give at most %s", limits.ApprovalLifeMax)
	}
	for _, t := range []struct {
		field, text string
		most        int
	}{{"reviewer", reviewer, limits.NameRunes}, {"reason", reason, limits.ReasonRunes}} {
		if t.text != "" {
			if err := run.CheckText(t.field, t.text, t.most); err != nil {
				return a, err
			}
		}
	}
	if s := a.Status(now); s != Pending {
		return a, notUsable(a, s)
	}
	a.Decision, a.Reviewer, a.Reason, a.DecidedAt = d, reviewer, reason, now
	if d == Approve {
		a.ExpiresAt = now.Add(life)
	}
	return a, nil
}

// Revoke takes back what was not used yet.
func (a Approval) Revoke(now time.Time) (Approval, error) {
	switch s := a.Status(now); s {
	case Revoked:
		return a, nil
	case Pending, Approved, Expired:
		a.RevokedAt = now
		return a, nil
	default:
		return a, notUsable(a, s)
	}
}

// Consume ties the approval to the one admission that uses it. It refuses
// another preparation (approval_foreign) and anything but approved.
func (a Approval) Consume(p id.Preparation, by id.Admission, now time.Time) (Approval, error) {
	if a.Preparation != p {
		return a, fault.New(fault.ApprovalForeign, "approval %s belongs to another preparation", a.ID).At("approval").
			Hint("pass the approval that prepare answered for %s", p)
	}
	if by == "" {
		return a, fault.New(fault.Internal, "approval %s cannot be used by no admission", a.ID)
	}
	if s := a.Status(now); s != Approved {
		return a, notUsable(a, s)
	}
	a.ConsumedBy, a.ConsumedAt = by, now
	return a, nil
}

// TypeToApprove is what a reviewer types to approve a preparation. One decision has
// one key.
func TypeToApprove(p id.Preparation) string {
	return fmt.Sprintf("cyberagent run sandbox review %s --decision approve --operation-key review-%s", p, p)
}

func notUsable(a Approval, s Status) error {
	code := map[Status]fault.Code{
		Pending: fault.ApprovalRequired, Approved: fault.OperationConflict, Denied: fault.ApprovalDenied,
		Expired: fault.ApprovalExpired, Consumed: fault.ApprovalConsumed, Revoked: fault.ApprovalRevoked,
	}[s]
	e := fault.New(code, "approval %s is %s", a.ID, s).At("approval")
	switch s {
	case Pending:
		return e.Hint("review it: %s", TypeToApprove(a.Preparation))
	case Approved:
		return e.Hint("it is decided already; revoke it to take the decision back")
	default:
		return e.Hint("prepare the command again and have the new preparation reviewed")
	}
}
