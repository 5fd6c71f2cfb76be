package e2e

import (
	"os/signal"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCancel_AnotherProcessEndsARunningCommand(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "abuse.py"))
	// Not even TERM reaches this one.
	o := f.MustStart(t, f.MustApprove(t, python("abuse.py", "stubborn").within(600)))
	f.MustLookAtContainer(t, o)
	checkBusy(t, f, o)

	cancel := []string{"run", "standard-code", "docker-cancel", f.run, "--admission", o.execution, "--reason", "changed my mind"}
	answered := MustAnswer[resultView](t, f.call(t, cancel...), 0)
	own := MustAnswer[resultView](t, o.Wait(t), 7)
	again := MustAnswer[resultView](t, f.call(t, cancel...), 0)
	for _, r := range []resultView{answered, own, again} {
		if r.ended() != "cancelled/cancelled" || r.ExecutionID != o.execution || r.ExitCode != nil || !reflect.DeepEqual(r.Checkpoint, own.Checkpoint) {
			t.Errorf("cancelled: %+v", r)
		}
	}
	if !again.Replayed || own.Replayed {
		t.Errorf("replayed: %t, %t", own.Replayed, again.Replayed)
	}
	if own.Resources.WallMillis == 0 || own.Resources.PeakMemory == 0 || own.Remedy == "" || len(own.Isolation.Facts) == 0 {
		t.Errorf("the runner was not heard: %+v", own.Details)
	}
	f.MustFollow(t, own)
	f.MustRunOrdinarily(t)
}

// checkBusy: while a container may exist, nothing else touches the Drydock.
func checkBusy(t *testing.T, f *flow, o ongoing) {
	t.Helper()
	refusedAsBusy := func(args ...string) {
		t.Helper()
		checkRefusal(t, f.call(t, args...), refusal{"in_progress", 8, "run"})
	}
	refusedAsBusy("drydock", "checkpoint", f.run)
	refusedAsBusy("drydock", "use", f.run)
	if d := f.MustStatus(t); d.Running != o.execution {
		t.Errorf("the Drydock does not say what runs: %+v", d)
	}
	v := MustAnswer[recoveryView](t, f.call(t, "run", "standard-code", "docker-recover", "--admission", o.execution), 8)
	if v.Open != 1 || len(v.Items) != 1 || v.Items[0].Outcome != "owned" || len(v.Items[0].Steps) != 0 {
		t.Errorf("recovery of a living owner's command: %+v", v)
	}
}

func TestCancel_ASignalToTheExecutingProcessIsACancellation(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := MustHome(t)
			f := h.MustFlow(t, h.MustScripts(t, "abuse.py"))
			o := f.MustStart(t, f.MustApprove(t, python("abuse.py", "wait").within(600)))
			o.Signal(t, sig)
			r := MustAnswer[resultView](t, o.Wait(t), 7)
			if r.ended() != "cancelled/cancelled" || r.Checkpoint.Changed.Added != 1 {
				t.Errorf("%s: %+v", name, r)
			}
			f.MustFollow(t, r)
			if x := f.MustExecutions(t); !x[0].Cancelled || x[0].State != "finalized" {
				t.Errorf("the cancellation is not on record: %+v", x[0])
			}
			f.MustRunOrdinarily(t)
		})
	}
}

// A signal may come at any moment of an execution: before the admission, while the
// container is made or started, or later. The process ends as cancelled, and with
// it everything that it made.
func TestCancel_ASignalAtAnyMomentLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "abuse.py"))
	before, after := 0, 0
	for i, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGINT, syscall.SIGTERM, syscall.SIGINT, syscall.SIGTERM, syscall.SIGINT} {
		if signal.Ignored(sig) { // by who runs the tests (nohup); the product leaves that so
			sig = syscall.SIGTERM
		}
		a := f.MustApprove(t, python("abuse.py", "wait").within(600))
		p := f.start(t, f.execute(a)...)
		time.Sleep(time.Duration(i*i) * 15 * time.Millisecond) // 0 to 1.2 s
		p.Signal(t, sig)
		x := p.Wait(t)
		h.MustHaveNoContainer(t)
		switch {
		case x.code == -1 && len(x.stdout)+len(x.stderr) == 0:
			before++ // it was too young to hear a signal
		case x.code == 7 && len(x.stdout) == 0:
			if e := MustDecode[errorView](t, x.stderr); e.Code != "cancelled" || e.Remediation == "" {
				t.Errorf("after %s: %+v", sig, e)
			}
			before++
		case x.code == 7:
			r := MustDecode[resultView](t, x.stdout)
			if r.Status != "cancelled" {
				t.Errorf("after %s: %s", sig, r.ended())
			}
			f.MustFollow(t, r)
			after++
		default:
			t.Errorf("after %s: exit status %d\n%s%s", sig, x.code, x.stdout, x.stderr)
		}
	}
	t.Logf("%d before the admission, %d after", before, after)
	f.MustRunOrdinarily(t)
}

func TestCancel_NamesOneExactCommand(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	source := h.MustScripts(t, "abuse.py")
	f, other := h.MustFlow(t, source), h.MustFlow(t, source)
	o := f.MustStart(t, f.MustApprove(t, python("abuse.py", "wait").within(600)))
	for name, c := range map[string]struct {
		args []string
		want refusal
	}{
		"another Run's":  {[]string{other.run, "--admission", o.execution}, refusal{"not_found", 2, "admission"}},
		"an unknown one": {[]string{"--admission", "adm" + unknownTail}, refusal{"not_found", 2, ""}},
		"not an id":      {[]string{"--admission", "all"}, refusal{"invalid_argument", 2, "admission"}},
		"none":           {[]string{f.run}, refusal{"invalid_argument", 2, "admission"}},
		"a bad reason":   {[]string{"--admission", o.execution, "--reason", "a\nb"}, refusal{"invalid_argument", 2, "reason"}},
		"a long reason":  {[]string{"--admission", o.execution, "--reason", strings.Repeat("r", 1201)}, refusal{"invalid_argument", 2, "reason"}},
	} {
		t.Run(name, func(t *testing.T) {
			checkRefusal(t, h.call(t, append([]string{"run", "standard-code", "cancel"}, c.args...)...), c.want)
		})
	}
	if x := f.MustExecutions(t); x[0].Cancelled || !x[0].OwnerLives {
		t.Errorf("a refused cancellation counts: %+v", x[0])
	}
	r := MustAnswer[resultView](t, h.call(t, "run", "standard-code", "cancel", "--admission", o.execution), 0)
	if r.ended() != "cancelled/cancelled" {
		t.Errorf("%+v", r)
	}
	f.MustFollow(t, MustAnswer[resultView](t, o.Wait(t), 7))
}
