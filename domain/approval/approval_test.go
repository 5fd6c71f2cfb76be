package approval_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/approval"
	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func pending(t *testing.T) approval.Approval {
	t.Helper()
	c, err := command.New(command.Input{Toolchain: "go", Args: []string{"test"}, Purpose: "p"})
	if err != nil {
		t.Fatal(err)
	}
	return approval.Propose("appr_1", approval.Preparation{ID: "prep_1", Run: "run_1"}, c, isolation.StdinPipe, noon)
}

func reviewed(t *testing.T, d approval.Decision, life time.Duration) approval.Approval {
	t.Helper()
	a, err := pending(t).Review(d, "ann", "fine", life, noon)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func consumed(t *testing.T) approval.Approval {
	t.Helper()
	a, err := reviewed(t, approval.Approve, 0).Consume("prep_1", "adm_1", noon)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func revoked(t *testing.T) approval.Approval {
	t.Helper()
	a, err := reviewed(t, approval.Approve, 0).Revoke(noon)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestProposeIsPendingForADay(t *testing.T) {
	t.Parallel()
	a := pending(t)
	if a.ID != "appr_1" || a.Preparation != "prep_1" || a.Run != "run_1" || a.Stdin != "pipe" || !a.CreatedAt.Equal(noon) ||
		a.Command.Purpose() != "p" || a.Decision != "" || a.ConsumedBy != "" {
		t.Errorf("got %+v", a)
	}
	if want := noon.Add(24 * time.Hour); !a.ExpiresAt.Equal(want) {
		t.Errorf("expires at %s, want %s", a.ExpiresAt, want)
	}
}

func TestStatusByTheClock(t *testing.T) {
	t.Parallel()
	const ns = time.Nanosecond
	for _, c := range []struct {
		name  string
		a     approval.Approval
		after time.Duration
		want  approval.Status
	}{
		{"proposed", pending(t), 0, "pending"},
		{"proposed, the last moment", pending(t), 24*time.Hour - ns, "pending"},
		{"proposed, a day later", pending(t), 24 * time.Hour, "expired"},
		{"approved", reviewed(t, "approve", 0), 0, "approved"},
		{"approved, the last moment of its hour", reviewed(t, "approve", 0), time.Hour - ns, "approved"},
		{"approved, an hour later", reviewed(t, "approve", 0), time.Hour, "expired"},
		{"approved for a second, the last moment", reviewed(t, "approve", time.Second), time.Second - ns, "approved"},
		{"approved for a second, a second later", reviewed(t, "approve", time.Second), time.Second, "expired"},
		{"approved for a day, the last moment", reviewed(t, "approve", 24*time.Hour), 24*time.Hour - ns, "approved"},
		{"approved for a day, a day later", reviewed(t, "approve", 24*time.Hour), 24 * time.Hour, "expired"},
		{"denied", reviewed(t, "deny", 0), 0, "denied"},
		{"denied, a year later", reviewed(t, "deny", 0), 8760 * time.Hour, "denied"},
		{"consumed", consumed(t), 0, "consumed"},
		{"consumed, a year later", consumed(t), 8760 * time.Hour, "consumed"},
		{"revoked", revoked(t), 0, "revoked"},
		{"revoked, a year later", revoked(t), 8760 * time.Hour, "revoked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.a.Status(noon.Add(c.after)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestAnUndecidedApprovalIsNeverApproved(t *testing.T) {
	t.Parallel()
	a := pending(t)
	a.Decision = "granted" // a word that no reviewer can say
	if got := a.Status(noon); got == approval.Approved {
		t.Error("approved by an unknown word")
	}
	if got := (approval.Approval{}).Status(noon); got != approval.Expired {
		t.Errorf("the zero approval is %s", got)
	}
}

func TestReviewRefusesBadInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		decision         approval.Decision
		reviewer, reason string
		life             time.Duration
		field            string
	}{
		{"no decision", "", "ann", "fine", 0, "decision"},
		{"unknown decision", "Approve", "ann", "fine", 0, "decision"},
		{"a status as decision", "approved", "ann", "fine", 0, "decision"},
		{"life over a day", "approve", "ann", "fine", 24*time.Hour + 1, "expires_in"},
		{"life under a second", "approve", "ann", "fine", time.Second - 1, "expires_in"},
		{"life below zero", "approve", "ann", "fine", -time.Hour, "expires_in"},
		{"reviewer with newline", "approve", "ann\nbob", "fine", 0, "reviewer"},
		{"reviewer with U+202E", "approve", "ann\u202e", "fine", 0, "reviewer"},
		{"reviewer of 129 characters", "approve", strings.Repeat("x", 129), "fine", 0, "reviewer"},
		{"reason with escape", "deny", "ann", "\x1b[2J", 0, "reason"},
		{"reason of 1,201 characters", "deny", "ann", strings.Repeat("x", 1201), 0, "reason"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before := pending(t)
			after, err := before.Review(c.decision, c.reviewer, c.reason, c.life, noon)
			var e *fault.Error
			if !errors.As(err, &e) || e.Code != "invalid_argument" || e.Field != c.field || e.Remedy == "" {
				t.Errorf("got %+v", err)
			}
			if !reflect.DeepEqual(after, before) {
				t.Errorf("a refused review changed the approval: %+v", after)
			}
		})
	}
}

func TestReviewAcceptsSilence(t *testing.T) {
	t.Parallel()
	a, err := pending(t).Review(approval.Deny, "", "", 0, noon)
	if err != nil || a.Status(noon) != approval.Denied {
		t.Errorf("got %s, %v", a.Status(noon), err)
	}
	if want := noon.Add(24 * time.Hour); !a.ExpiresAt.Equal(want) {
		t.Errorf("denying moved the end to %s", a.ExpiresAt)
	}
}

// TestEveryActInEveryStatus is the matrix of acts, written out by hand: the code
// of the refusal, or empty for allowed, and the status after it.
func TestEveryActInEveryStatus(t *testing.T) {
	t.Parallel()
	day := noon.Add(25 * time.Hour)
	subjects := map[approval.Status]struct {
		a   approval.Approval
		now time.Time
	}{
		"pending":  {pending(t), noon},
		"approved": {reviewed(t, "approve", 0), noon},
		"denied":   {reviewed(t, "deny", 0), noon},
		"expired":  {pending(t), day},
		"consumed": {consumed(t), noon},
		"revoked":  {revoked(t), noon},
	}
	review := func(d approval.Decision) func(approval.Approval, time.Time) (approval.Approval, error) {
		return func(a approval.Approval, now time.Time) (approval.Approval, error) {
			return a.Review(d, "r", "", 0, now)
		}
	}
	acts := map[string]func(approval.Approval, time.Time) (approval.Approval, error){
		"approve": review("approve"),
		"deny":    review("deny"),
		"revoke":  approval.Approval.Revoke,
		"consume": func(a approval.Approval, now time.Time) (approval.Approval, error) {
			return a.Consume("prep_1", "adm_9", now)
		},
	}
	for _, c := range []struct {
		status approval.Status
		act    string
		code   fault.Code
		after  approval.Status
	}{
		{"pending", "approve", "", "approved"},
		{"pending", "deny", "", "denied"},
		{"pending", "revoke", "", "revoked"},
		{"pending", "consume", "approval_required", "pending"},
		{"approved", "approve", "operation_conflict", "approved"},
		{"approved", "deny", "operation_conflict", "approved"},
		{"approved", "revoke", "", "revoked"},
		{"approved", "consume", "", "consumed"},
		{"denied", "approve", "approval_denied", "denied"},
		{"denied", "deny", "approval_denied", "denied"},
		{"denied", "revoke", "approval_denied", "denied"},
		{"denied", "consume", "approval_denied", "denied"},
		{"expired", "approve", "approval_expired", "expired"},
		{"expired", "deny", "approval_expired", "expired"},
		{"expired", "revoke", "", "revoked"},
		{"expired", "consume", "approval_expired", "expired"},
		{"consumed", "approve", "approval_consumed", "consumed"},
		{"consumed", "deny", "approval_consumed", "consumed"},
		{"consumed", "revoke", "approval_consumed", "consumed"},
		{"consumed", "consume", "approval_consumed", "consumed"},
		{"revoked", "approve", "approval_revoked", "revoked"},
		{"revoked", "deny", "approval_revoked", "revoked"},
		{"revoked", "revoke", "", "revoked"},
		{"revoked", "consume", "approval_revoked", "revoked"},
	} {
		t.Run(c.act+" "+string(c.status), func(t *testing.T) {
			t.Parallel()
			s := subjects[c.status]
			after, err := acts[c.act](s.a, s.now)
			if got := fault.CodeOf(err); got != c.code {
				t.Errorf("code %q, want %q", got, c.code)
			}
			if got := after.Status(s.now); got != c.after {
				t.Errorf("status %s, want %s", got, c.after)
			}
			if err != nil {
				if fault.From(err).Remedy == "" || fault.From(err).Field != "approval" {
					t.Errorf("no remedy or field: %+v", err)
				}
				if !reflect.DeepEqual(after, s.a) {
					t.Error("a refusal changed the approval")
				}
			}
		})
	}
}

func TestAnApprovalIsUsedOnce(t *testing.T) {
	t.Parallel()
	a := consumed(t)
	if a.ConsumedBy != "adm_1" || !a.ConsumedAt.Equal(noon) {
		t.Errorf("got %+v", a)
	}
	for _, by := range []id.Admission{"adm_1", "adm_2"} {
		if _, err := a.Consume("prep_1", by, noon); fault.CodeOf(err) != "approval_consumed" {
			t.Errorf("a second use by %s: %v", by, err)
		}
	}
}

func TestConsumeNeedsAnAdmission(t *testing.T) {
	t.Parallel()
	if a, err := reviewed(t, approval.Approve, 0).Consume("prep_1", "", noon); err == nil {
		t.Errorf("used by nobody, and still %s", a.Status(noon))
	}
}

func TestAForeignApprovalIsRefusedWhateverItsStatus(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]approval.Approval{
		"pending": pending(t), "approved": reviewed(t, "approve", 0), "denied": reviewed(t, "deny", 0), "consumed": consumed(t), "revoked": revoked(t),
	} {
		after, err := a.Consume("prep_2", "adm_1", noon)
		if got := fault.CodeOf(err); got != "approval_foreign" {
			t.Errorf("%s: %q", name, got)
		}
		if !reflect.DeepEqual(after, a) {
			t.Errorf("%s: the refusal changed the approval", name)
		}
	}
}

func TestRequestIsNotedOnce(t *testing.T) {
	t.Parallel()
	a, err := pending(t).Request("ann", noon)
	if err != nil || a.RequestedBy != "ann" || !a.RequestedAt.Equal(noon) {
		t.Fatalf("got %+v, %v", a, err)
	}
	b, err := a.Request("bob", noon.Add(time.Hour))
	if err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("a second request changed the first: %+v, %v", b, err)
	}
	if _, err := pending(t).Request("a\u202eb", noon); fault.CodeOf(err) != "invalid_argument" {
		t.Errorf("got %v", err)
	}
	if _, err := pending(t).Request("", noon); err != nil {
		t.Errorf("a request without a name: %v", err)
	}
}

func TestParseDecision(t *testing.T) {
	t.Parallel()
	for _, w := range []string{"approve", "deny"} {
		if d, err := approval.ParseDecision(w); err != nil || string(d) != w {
			t.Errorf("%q: %q, %v", w, d, err)
		}
	}
	for _, w := range []string{"", "Approve", "approved", "yes", "approve "} {
		if _, err := approval.ParseDecision(w); fault.CodeOf(err) != "invalid_argument" {
			t.Errorf("%q: %v", w, err)
		}
	}
}
