package e2e

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The engine hangs (SIGSTOP). The owner answers without its help: cleanup pending,
// while the engine still hangs. When it goes on, recovery finishes.
func TestEngineHung_TheAnswerComesWithoutItAndRecoveryFinishesLater(t *testing.T) {
	t.Parallel()
	const timeout = 10 * time.Second
	e := mustPrivate(t)
	h := mustHomeOn(t, e.socket, e.digest)
	f := h.MustFlow(t, h.MustSource(t, map[string]string{"file": "x\n"}))
	for _, c := range []struct {
		name   string
		upon   string
		pause  time.Duration
		starts []int
		ends   []string
	}{
		{"before the start", "create", 0, []int{0, 1}, []string{"failed/never_started", "cancelled/never_started", "failed/engine_lost"}},
		{"at the start", "attach", 20 * time.Millisecond, []int{0, 1}, []string{"failed/never_started", "cancelled/never_started", "failed/engine_lost", "timed_out/timeout"}},
		{"while the command runs", "start", 0, []int{1}, []string{"timed_out/timeout", "failed/engine_lost"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := f.starts(t)
			command := stay(time.Minute)
			command.timeout = int(timeout / time.Second)
			args := f.execute(f.MustApprove(t, command))
			var began time.Time
			pid, err := e.daemon()
			must(t, err)
			hangs := e.upon(t, c.upon, func() {
				time.Sleep(c.pause)
				for deadline := time.Now().Add(timeout); c.upon == "start" && f.starts(t) == before && time.Now().Before(deadline); {
					time.Sleep(time.Millisecond)
				}
				began = time.Now()
				_ = syscall.Kill(pid, syscall.SIGSTOP)
			})
			defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
			p := f.start(t, args...)
			<-hangs
			first := p.Wait(t)
			t.Logf("answered after %s", time.Since(began).Round(time.Millisecond))
			checkRefusal(t, first, refusal{"cleanup_pending", 8, ""})
			if c.upon == "start" {
				// Recovery says what it sees, in time as well, and touches nothing.
				v := MustAnswer[recoveryView](t, f.call(t, "run", "standard-code", "recover", f.run), 8)
				if len(v.Items) != 1 || v.Items[0].Outcome != "preserved" || v.Items[0].Seen != "unreachable" {
					t.Errorf("recovered beside a hung engine: %+v", v)
				}
			}
			must(t, syscall.Kill(pid, syscall.SIGCONT))
			eventually(t, "the engine answers", func() bool {
				var pong []container
				return ask(e.socket, "/containers/json", &pong) == nil
			})
			f.mustSettle(t, args, f.starts(t)-before, c.starts, c.ends)
		})
	}
}

// Without any engine the same holds: an owner whose engine is gone for good, and
// a recovery that is asked then.
func TestEngineGone_NothingIsTouchedUntilItIsBack(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "abuse.py"))
	o := f.MustCrash(t, f.MustApprove(t, python("abuse.py", "wait").within(600)))
	gone := h.with("CYBERAGENT_DOCKER_SOCKET=" + filepath.Join(h.dir, "nothing.sock"))
	v := MustAnswer[recoveryView](t, gone.call(t, "run", "standard-code", "recover", "--all"), 8)
	if len(v.Items) != 1 || v.Items[0].Outcome != "preserved" || v.Items[0].Seen != "unreachable" || v.Open != 1 {
		t.Errorf("recovered without an engine: %+v", v)
	}
	f.MustHaveOneContainer(t)
	v = MustAnswer[recoveryView](t, h.call(t, "run", "standard-code", "recover", "--admission", o.execution), 0)
	if len(v.Items) != 1 || v.Items[0].Outcome != "finished" || v.Items[0].Reason != "owner_lost" {
		t.Errorf("recovered: %+v", v)
	}
	f.take(f.MustStatus(t))
}
