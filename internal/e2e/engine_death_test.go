package e2e

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The engine's parts die by KILL at each stage of a container's life. Whatever
// the owner answers, the command started once at the most, recovery brings it to
// one true end when the engine is there again, and nothing is left.
func TestEngineDeath_LeavesOneTrueEndAndNothingElse(t *testing.T) {
	t.Parallel()
	const never, cancelled, lost, failed, succeeded = "failed/never_started", "cancelled/never_started", "failed/engine_lost", "failed/start_failed", "succeeded/exited"
	e := mustPrivate(t)
	h := mustHomeOn(t, e.socket, e.digest)
	f := h.MustFlow(t, h.MustSource(t, map[string]string{"file": "x\n"}))
	killShims := func() {
		// A second look finds the shim that the first one saw being launched.
		for range 2 {
			for _, pid := range e.shims(e.made) {
				if !hasArgument(pid, "delete") { // it takes down what is killed here
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	killDaemon := func() {
		if pid, err := e.daemon(); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	at := func(pause time.Duration) func(func() bool) { return func(func() bool) { time.Sleep(pause) } }
	until := func(so func() bool) {
		for deadline := time.Now().Add(patience); !so() && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
	}
	runs := func(started func() bool) { until(started) }
	shim := func(pause time.Duration) func(func() bool) {
		return func(func() bool) {
			until(func() bool { return len(e.shims(e.made)) > 0 })
			time.Sleep(pause)
		}
	}
	begins := func(func() bool) {
		until(func() bool {
			for _, runs := range e.living(e.made) {
				if strings.HasPrefix(runs, "/standard-code/runner") {
					return true
				}
			}
			return false
		})
	}
	var made []string
	for _, c := range []struct {
		name string
		// upon is what the engine did with the container just before.
		upon string
		// wait is for the moment; it is told how to see that the command started.
		wait   func(started func() bool)
		kill   func()
		stay   time.Duration
		starts []int
		ends   []string
	}{
		{"dockerd before the start arrives", "create", at(0), killDaemon, 0, []int{0, 1}, []string{never, cancelled, failed, lost}},
		{"dockerd at the start", "attach", at(20 * time.Millisecond), killDaemon, time.Minute, []int{0, 1}, []string{never, cancelled, failed, lost}},
		{"dockerd in the middle of the start", "attach", at(120 * time.Millisecond), killDaemon, time.Minute, []int{0, 1}, []string{never, cancelled, failed, lost}},
		{"dockerd as the runner begins", "attach", begins, killDaemon, time.Minute, []int{0, 1}, []string{lost}},
		{"dockerd while the command runs", "start", runs, killDaemon, time.Minute, []int{1}, []string{lost}},
		{"dockerd when the command has ended", "die", at(0), killDaemon, 0, []int{1}, []string{succeeded, lost}},
		{"dockerd at the removal", "die", at(30 * time.Millisecond), killDaemon, 0, []int{1}, []string{succeeded, lost}},
		{"the shim at the start", "attach", shim(0), killShims, time.Minute, []int{0, 1}, []string{never, cancelled, failed, lost}},
		{"the shim in the middle of the start", "attach", shim(60 * time.Millisecond), killShims, time.Minute, []int{0, 1}, []string{never, cancelled, failed, lost}},
		{"the shim while the command runs", "start", runs, killShims, time.Minute, []int{1}, []string{lost}},
		{"the shim at the removal", "die", at(0), killShims, 0, []int{1}, []string{succeeded, lost}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := f.starts(t)
			a := f.MustApprove(t, stay(c.stay))
			args := f.execute(a)
			dead := e.upon(t, c.upon, func() {
				c.wait(func() bool { return f.starts(t) > before })
				c.kill()
			})
			p := f.start(t, args...)
			<-dead
			must(t, e.up())
			first := p.Wait(t)
			t.Logf("the owner ended with %d: %s", first.code, first.stderr)
			f.mustSettle(t, args, f.starts(t)-before, c.starts, c.ends)
			if len(first.stderr) > 0 {
				// Either it saw the end itself, or it says what is left to do.
				checkRefusal(t, first, refusal{"cleanup_pending", 8, ""})
			}
			e.mustKeepNothingOf(t, e.made)
			made = append(made, e.made)
		})
	}
	// A containerd that was still making a container when dockerd died takes it down
	// by itself.
	eventually(t, "no process of any container is left", func() bool {
		return !slices.ContainsFunc(made, func(id string) bool { return len(e.living(id)) > 0 })
	})
}

// mustKeepNothingOf holds what recovery left of a container against all that may
// be: no process of it but a runc that waits for the order to start the runner,
// which nobody can give any more. Shims without a container are the engine's own.
func (e *privateEngine) mustKeepNothingOf(t *testing.T, id string) {
	t.Helper()
	for pid, runs := range e.living(id) {
		if runs != "runc init" {
			t.Errorf("process %d of container %s lives: %s", pid, id, runs)
		}
	}
	if left := e.shims(id); len(left) > 0 {
		t.Logf("the engine keeps the empty shim %v", left)
	}
}

// mustSettle recovers everything and holds the newest execution against what may
// be; its call is repeated, which starts nothing.
func (f *flow) mustSettle(t *testing.T, args []string, starts int, allowed []int, ends []string) {
	t.Helper()
	v := MustAnswer[recoveryView](t, f.call(t, "run", "standard-code", "recover", "--all"), 0)
	if v.Open != 0 {
		t.Errorf("recovered: %+v", v)
	}
	f.MustHaveNoContainer(t)
	x := f.MustExecutions(t)[0]
	if x.State != "finalized" || x.Result == nil || x.starts() > 1 {
		t.Fatalf("not ended: %+v", x)
	}
	t.Logf("%s, %d starts, %v", x.Result.ended(), starts, x.Result.Details)
	if !slices.Contains(ends, x.Result.ended()) {
		t.Errorf("it ended %s, right is %v", x.Result.ended(), ends)
	}
	if !slices.Contains(allowed, starts) {
		t.Errorf("the command started %d times, right is %v", starts, allowed)
	}
	// Where nobody can tell whether it ran, there is a Checkpoint as well.
	if x.Result.Checkpoint.AfterID == x.Result.Checkpoint.BeforeID && starts > 0 {
		t.Errorf("what %d starts changed is in no Checkpoint", starts)
	}
	f.MustFollow(t, *x.Result)
	before := f.starts(t)
	again := MustDecode[resultView](t, f.start(t, args...).Wait(t).stdout)
	if !again.Replayed || again.ended() != x.Result.ended() || again.ExecutionID != x.ID || f.starts(t) != before {
		t.Errorf("repeated: %+v", again)
	}
}
