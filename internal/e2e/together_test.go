package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Two processes with the same wish: one starts the command, the other is told to
// wait or answers the recorded end.
func TestTogether_TheSameExecutionTwiceStartsOnce(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "abuse.py"))
	a := f.MustApprove(t, python("abuse.py", "append_and_wait"))
	args := f.execute(a)
	lab.slots <- struct{}{}
	both := []*process{f.start(t, args...), f.start(t, args...)}
	var done int
	for _, p := range both {
		switch x := p.Wait(t); x.code {
		case 0:
			done++
		default:
			checkRefusal(t, x, refusal{"in_progress", 8, "operation_key"})
		}
	}
	<-lab.slots
	if done == 0 {
		t.Fatal("neither ran it")
	}
	r := MustAnswer[resultView](t, f.start(t, args...).Wait(t), 0)
	if !r.Replayed || r.ended() != "succeeded/exited" {
		t.Errorf("afterwards: %+v", r)
	}
	f.MustFollow(t, r)
	checkOnce(t, f)
}

// Two processes want to use one approval for two effects: one of them gets it.
func TestTogether_OneApprovalIsUsedOnce(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "abuse.py"))
	a := f.MustApprove(t, python("abuse.py", "append_and_wait"))
	b := a
	b.key = f.key("execute")
	lab.slots <- struct{}{}
	var ran []resultView
	for _, p := range []*process{f.start(t, f.execute(a)...), f.start(t, f.execute(b)...)} {
		x := p.Wait(t)
		if x.code == 0 {
			ran = append(ran, MustAnswer[resultView](t, x, 0))
			continue
		}
		e := MustDecode[errorView](t, x.stderr)
		if (e.Code != "in_progress" || x.code != 8) && (e.Code != "approval_consumed" || x.code != 3) {
			t.Errorf("the other one: %d %+v", x.code, e)
		}
	}
	<-lab.slots
	if len(ran) != 1 {
		t.Fatalf("%d of the two ran", len(ran))
	}
	f.MustFollow(t, ran[0])
	checkOnce(t, f)
}

func checkOnce(t *testing.T, f *flow) {
	t.Helper()
	if lines, err := os.ReadFile(filepath.Join(f.path, "lines")); err != nil || string(lines) != "line\n" {
		t.Errorf("the command left %q, %v", lines, err)
	}
	if x := f.MustExecutions(t); len(x) != 1 || x[0].starts() != 1 {
		t.Errorf("%+v", x)
	}
}

// Four Runs of one installation, on one source, at once. It takes every slot, and
// so it runs alone.
func TestTogether_FourRunsAtOnce(t *testing.T) {
	h := MustHome(t)
	source := h.MustScripts(t, "abuse.py")
	const runs = 4
	var flows []*flow
	var ready []approved
	for i := range runs {
		f := h.MustFlow(t, source)
		flows = append(flows, f)
		ready = append(ready, f.MustApprove(t, python("-c", fmt.Sprintf("open('mine', 'w').write('%d'); import time; time.sleep(2)", i))))
	}
	var started []*process
	for i, f := range flows {
		started = append(started, f.start(t, f.execute(ready[i])...))
	}
	for i, p := range started {
		r := MustAnswer[resultView](t, p.Wait(t), 0)
		if want := (counts{Added: 1}); r.ended() != "succeeded/exited" || r.Checkpoint.Changed != want || r.RunID != flows[i].run {
			t.Errorf("run %d: %+v", i, r)
		}
		if b, err := os.ReadFile(filepath.Join(flows[i].path, "mine")); err != nil || string(b) != fmt.Sprint(i) {
			t.Errorf("run %d left %q, %v", i, b, err)
		}
	}
	for _, f := range flows {
		if x := f.MustExecutions(t); len(x) != 1 || x[0].starts() != 1 {
			t.Errorf("%+v", x)
		}
		if d := f.MustStatus(t); d.Generation != 2 || len(d.Drift) > 0 {
			t.Errorf("%+v", d)
		}
	}
}
