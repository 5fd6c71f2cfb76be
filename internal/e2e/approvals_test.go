package e2e

import (
	"strings"
	"testing"
	"time"
)

func TestApproval_OnlyAnUnusedApprovedOneOfThisVeryCommandCounts(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	source := h.MustScripts(t)
	f, other := h.MustFlow(t, source), h.MustFlow(t, source)
	c := python("-c", "pass")
	good, foreign := f.MustApprove(t, c), other.MustApprove(t, c)
	twin := f.MustApprove(t, python("-c", "print()")) // another approved command of the same Run

	pending := approved{c, f.MustPrepare(t, c), ""}
	denied := approved{c, f.MustPrepare(t, c), ""}
	if v := f.MustReview(t, denied.prep, "deny", "--reason", "not now"); v.Status != "denied" || v.Reason != "not now" {
		t.Errorf("denied: %+v", v)
	}
	revoked := f.MustApprove(t, c)
	MustAnswer[approvalView](t, f.call(t, "run", "sandbox", "revoke", revoked.prep.ID, "--operation-key", "revoke-1"), 0)
	expired := approved{c, f.MustPrepare(t, c), ""}
	f.MustReview(t, expired.prep, "approve", "--expires-in", "1s")
	time.Sleep(1100 * time.Millisecond)

	foreignPreparation := f.request("execute", good)
	foreignPreparation.preparation, foreignPreparation.approval = foreign.prep.ID, foreign.prep.Approval.ID
	foreignApproval := f.request("execute", good)
	foreignApproval.approval = foreign.prep.Approval.ID
	siblingApproval := f.request("execute", good)
	siblingApproval.approval = twin.prep.Approval.ID
	unknown := f.request("execute", good)
	unknown.approval = "appr" + unknownTail

	for _, row := range []struct {
		name string
		q    request
		want refusal
	}{
		{"pending", f.request("execute", pending), refusal{"approval_required", 3, "approval"}},
		{"denied", f.request("execute", denied), refusal{"approval_denied", 3, "approval"}},
		{"revoked", f.request("execute", revoked), refusal{"approval_revoked", 3, "approval"}},
		{"expired", f.request("execute", expired), refusal{"approval_expired", 3, "approval"}},
		{"preparation of another Run", foreignPreparation, refusal{"approval_foreign", 3, "preparation"}},
		{"approval of another Run", foreignApproval, refusal{"approval_foreign", 3, "approval"}},
		{"approval of another command", siblingApproval, refusal{"approval_foreign", 3, "approval"}},
		{"approval that is unknown", unknown, refusal{"not_found", 2, ""}},
	} {
		t.Run(row.name, func(t *testing.T) { f.MustRefuse(t, row.q, row.want) })
	}
	t.Run("a decision that cannot be taken any more", func(t *testing.T) {
		for _, d := range []struct {
			prep preparationView
			code string
		}{{denied.prep, "approval_denied"}, {expired.prep, "approval_expired"}, {revoked.prep, "approval_revoked"}} {
			f.MustRefuseCall(t, h, []string{"run", "sandbox", "review", d.prep.ID, "--decision", "approve", "--operation-key", f.key("late")},
				refusal{d.code, 3, "approval"})
		}
	})
	f.MustFollow(t, MustAnswer[resultView](t, f.Execute(t, good), 0))
	t.Run("consumed", func(t *testing.T) {
		q := f.request("execute", good)
		q.generation, q.checkpoint = "1", good.prep.Authority.Checkpoint
		f.MustRefuse(t, q, refusal{"approval_consumed", 3, "approval"})
	})
	t.Run("approved at an earlier generation", func(t *testing.T) {
		q := f.request("execute", twin)
		f.MustRefuse(t, q, refusal{"generation_stale", 4, "generation"})
		if e := MustDecode[errorView](t, f.call(t, q.args()...).stderr); !strings.Contains(e.Remediation, "what was approved is over") {
			t.Errorf("the remedy cannot help, for the approval is over: %s", e.Remediation)
		}
	})
	t.Run("sees what the reviewer saw", func(t *testing.T) {
		v := MustAnswer[approvalView](t, f.call(t, "run", "sandbox", "show", good.prep.Approval.ID), 0)
		if x := f.MustExecutions(t); v.Status != "consumed" || len(x) != 1 || v.ConsumedBy != x[0].ID || v.Reviewer != "somebody" {
			t.Errorf("the used approval: %+v", v)
		}
	})
}

// What is executed must be what was approved, to the byte.
func TestApproval_AnotherCommandIsRefused(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustSource(t, map[string]string{"sub/file": "x\n"}))
	a := f.MustApprove(t, python("-c", "print(1)").within(20))
	for name, row := range map[string]struct {
		field string
		spoil func(c *command)
	}{
		"one byte of an argument": {"arg", func(c *command) { c.args = []string{"-c", "print(2)"} }},
		"one argument more":       {"arg", func(c *command) { c.args = []string{"-c", "print(1)", ""} }},
		"an argument in two":      {"arg", func(c *command) { c.args = []string{"-c", "print", "(1)"} }},
		"one byte of the purpose": {"purpose", func(c *command) { c.purpose = "offline Tests" }},
		"the directory":           {"workdir", func(c *command) { c.workdir = "sub" }},
		"a second of the timeout": {"timeout", func(c *command) { c.timeout = 21 }},
		"the toolchain":           {"toolchain", func(c *command) { c.toolchain = "node" }},
	} {
		t.Run(name, func(t *testing.T) {
			q := f.request("execute", a)
			q.command.args = append([]string{}, q.command.args...)
			row.spoil(&q.command)
			f.MustRefuse(t, q, refusal{"command_mismatch", 3, row.field})
		})
	}
	// The directory itself has two spellings, which are one command.
	a.command.workdir = "."
	f.MustFollow(t, MustAnswer[resultView](t, f.Execute(t, a), 0))
}
