package e2e

import "testing"

// After its records are gone, nothing that a Run's approvals and keys ever allowed
// is done, or answered, again: neither the call that ran, nor what was approved and
// never used.
func TestPrune_NoOldApprovalOrKeyStartsAnything(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	ran := f.MustApprove(t, python("-c", "pass"))
	args := f.execute(ran)
	MustAnswer[resultView](t, f.start(t, args...).Wait(t), 0)
	f.take(f.MustStatus(t))
	unused := f.MustApprove(t, python("-c", "print(1)"))

	prune := []string{"ledger", "prune", "--older-than", "0s"}
	type view = map[string]any
	MustAnswer[runView](t, h.call(t, "run", "close", f.run), 0)
	s := MustAnswer[view](t, h.call(t, "drydock", "cleanup", f.run), 0)
	MustAnswer[view](t, h.call(t, "drydock", "cleanup", f.run, "--confirm", s["digest"].(string)), 0)
	p := MustAnswer[view](t, h.call(t, prune...), 0)
	if p["admissions"] != 1.0 || len(p["runs"].([]any)) != 1 {
		t.Fatalf("%v", p)
	}
	MustAnswer[view](t, h.call(t, append(prune, "--confirm", p["digest"].(string))...), 0)

	gone := refusal{"run_not_eligible", 3, "run"}
	for what, args := range map[string][]string{
		"the call that ran":                 args,
		"the same approval, a new key":      f.request("execute", ran).args(),
		"an approval that was never used":   f.execute(unused),
		"preparing again, with the old key": append(append([]string{"run", "standard-code", "prepare"}, f.at(ran.command)...), "--operation-key", "prepare-1"),
	} {
		t.Run(what, func(t *testing.T) { checkRefusal(t, h.call(t, args...), gone) })
	}
	checkRefusal(t, h.call(t, "run", "sandbox", "review", unused.prep.ID, "--decision", "approve", "--operation-key", "r"), refusal{"not_found", 2, ""})
	if x := f.MustExecutions(t); len(x) != 0 {
		t.Errorf("%+v", x)
	}
	f.MustHaveNoContainer(t)
	MustAnswer[recoveryView](t, h.call(t, "run", "standard-code", "recover", "--all"), 0)
}
