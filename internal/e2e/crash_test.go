package e2e

import (
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
)

// MustCrash starts a command and kills the process that owns it; the container
// goes on.
func (f *flow) MustCrash(t *testing.T, a approved) ongoing {
	t.Helper()
	o := f.MustStart(t, a)
	o.Signal(t, syscall.SIGKILL)
	o.Wait(t)
	if c := f.MustHaveOneContainer(t); c.State != "running" {
		t.Fatalf("the container is %s", c.State)
	}
	if x := f.MustExecutions(t); x[0].OwnerLives {
		t.Error("the owner is dead and its execution says otherwise")
	}
	return o
}

func TestCrash_RecoveryEndsWhatItsOwnerLeft(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "abuse.py"))
	a := f.MustApprove(t, python("abuse.py", "wait").within(600))
	args := f.execute(a)
	o := f.MustCrash(t, a)

	recover := []string{"run", "standard-code", "docker-recover", f.run}
	plan := MustAnswer[recoveryView](t, f.call(t, append(recover, "--dry-run")...), 0)
	if len(plan.Items) != 1 || plan.Items[0].Outcome != "planned" || !plan.DryRun {
		t.Errorf("the plan: %+v", plan)
	}
	f.MustHaveOneContainer(t) // a plan touches nothing

	v := MustAnswer[recoveryView](t, f.call(t, recover...), 0)
	if len(v.Items) != 1 || v.Open != 0 {
		t.Fatalf("recovered: %+v", v)
	}
	i := v.Items[0]
	if i.ExecutionID != o.execution || i.Seen != "running" || i.Outcome != "finished" || i.Status != "cancelled" || i.Reason != "owner_lost" ||
		!reflect.DeepEqual(i.Steps, []string{"stop", "remove", "checkpoint", "finalize"}) {
		t.Errorf("recovered: %+v", i)
	}
	// The same call as before the crash answers that end, and starts nothing.
	r := MustAnswer[resultView](t, f.start(t, args...).Wait(t), 7)
	if r.ended() != "cancelled/owner_lost" || !r.Replayed || r.ExecutionID != o.execution || r.Checkpoint.Changed.Added != 1 {
		t.Errorf("repeated: %+v", r)
	}
	f.MustFollow(t, r)
	if again := MustAnswer[recoveryView](t, f.call(t, recover...), 0); len(again.Items) != 0 {
		t.Errorf("there is nothing more to recover: %+v", again)
	}
	if x := f.MustExecutions(t); len(x) != 1 || x[0].starts() != 1 {
		t.Errorf("%+v", x)
	}
	f.MustRunOrdinarily(t)
}

// Without recover: the next call that meets the orphan brings it to its end.
func TestCrash_TheRepeatedCallRecoversByItself(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "abuse.py"))
	a := f.MustApprove(t, python("abuse.py", "stubborn").within(600))
	args := f.execute(a)
	o := f.MustCrash(t, a)
	r := MustAnswer[resultView](t, f.start(t, args...).Wait(t), 7)
	if r.ended() != "cancelled/owner_lost" || r.ExecutionID != o.execution {
		t.Errorf("repeated: %+v", r)
	}
	f.MustFollow(t, r)
	f.MustRunOrdinarily(t)
}

func TestCrash_CancellingAnOrphanEndsIt(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "abuse.py"))
	o := f.MustCrash(t, f.MustApprove(t, python("abuse.py", "wait").within(600)))
	r := MustAnswer[resultView](t, f.call(t, "run", "standard-code", "cancel", "--admission", o.execution), 0)
	if r.ended() != "cancelled/cancelled" {
		t.Errorf("cancelled: %+v", r)
	}
	f.MustFollow(t, r)
}

// A command that ended while nobody watched is not a success, whatever it did.
func TestCrash_AnEndThatNobodySawIsNotASuccess(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "abuse.py"))
	o := f.MustStart(t, f.MustApprove(t, python("abuse.py", "append_until_go").within(600)))
	o.Signal(t, syscall.SIGKILL)
	o.Wait(t)
	must(t, os.WriteFile(filepath.Join(f.path, "go"), nil, 0o644))
	eventually(t, "the container ends by itself", func() bool { return f.MustHaveOneContainer(t).State == "exited" })
	v := MustAnswer[recoveryView](t, f.call(t, "run", "standard-code", "recover", "--all"), 0)
	if len(v.Items) != 1 || v.Items[0].Status != "failed" || v.Items[0].Reason != "owner_lost" || v.Items[0].Seen != "exited" {
		t.Errorf("recovered: %+v", v)
	}
	x := f.MustExecutions(t)[0]
	if x.Result == nil || x.Result.ExitCode != nil || x.Result.Details["engine_exit_code"] != "0" {
		t.Errorf("the result: %+v", x.Result)
	}
	f.MustFollow(t, *x.Result)
	if lines, err := os.ReadFile(filepath.Join(f.path, "lines")); err != nil || string(lines) != "line\n" {
		t.Errorf("it ran %q, %v", lines, err)
	}
}
