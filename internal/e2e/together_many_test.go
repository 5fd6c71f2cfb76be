package e2e

import (
	"fmt"
	"testing"
)

// Twelve processes at once on one ledger, twice: four execute, four prepare,
// four ask for the status. Each gets its answer; nobody hears that the ledger is
// busy. It takes every slot, and so it runs alone.
func TestTogether_TwelveProcessesSeeNoBusyLedger(t *testing.T) {
	h := MustHome(t)
	const each, rounds = 4, 2
	sources := []string{h.MustScripts(t, "abuse.py"), h.MustScripts(t, "abuse.py")}
	var working, preparing []*flow
	for range each {
		working = append(working, h.MustFlow(t, sources[0]))
		preparing = append(preparing, h.MustFlow(t, sources[1]))
	}
	for round := range rounds {
		var ready []approved
		for i, f := range working {
			ready = append(ready, f.MustApprove(t, python("-c", fmt.Sprintf("open('mine', 'w').write('%d %d')", round, i))))
		}
		var executes, prepares, statuses []*process
		for i := range each {
			executes = append(executes, working[i].start(t, working[i].execute(ready[i])...))
			f := preparing[i]
			args := append([]string{"--output", "json", "run", "standard-code", "prepare"}, f.at(python("-c", "pass"))...)
			prepares = append(prepares, f.start(t, append(args, "--operation-key", f.key("prepare"))...))
			statuses = append(statuses, h.start(t, "--output", "json", "run", "standard-code", "status", working[i].run))
		}
		for i := range each {
			MustAnswer[preparationView](t, prepares[i].Wait(t), 0)
			MustAnswer[statusView](t, statuses[i].Wait(t), 0)
			r := MustAnswer[resultView](t, executes[i].Wait(t), 0)
			if r.ended() != "succeeded/exited" || r.RunID != working[i].run {
				t.Errorf("round %d, run %d: %+v", round, i, r)
			}
			if d := working[i].MustStatus(t); d.Generation != int64(round)+2 || len(d.Drift) > 0 {
				t.Errorf("round %d, run %d: %+v", round, i, d)
			}
			working[i].take(working[i].MustStatus(t))
		}
	}
	for i, f := range working {
		x := f.MustExecutions(t)
		if len(x) != rounds {
			t.Errorf("run %d: %d executions", i, len(x))
		}
		for _, e := range x {
			if e.starts() != 1 || e.State != "finalized" {
				t.Errorf("run %d: %+v", i, e)
			}
		}
	}
}

// Recoveries at once, asked for in three ways: one of them finishes, the others
// find nothing to do or say that it is at work. There is one end.
func TestTogether_RecoveriesAtOnceConvergeToOneEnd(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "abuse.py"))
	o := f.MustCrash(t, f.MustApprove(t, python("abuse.py", "wait").within(600)))
	recover := []string{"--output", "json", "run", "standard-code", "recover"}
	var all []*process
	for _, which := range [][]string{{"--all"}, {f.run}, {"--admission", o.execution}, {"--all"}} {
		all = append(all, f.start(t, append(recover[:len(recover):len(recover)], which...)...))
	}
	finished := 0
	for _, p := range all {
		a := p.Wait(t)
		if a.code != 0 && a.code != 8 {
			t.Errorf("exit status %d: %s%s", a.code, a.stdout, a.stderr)
			continue
		}
		if len(a.stdout) == 0 {
			checkRefusal(t, a, refusal{"in_progress", 8, ""})
			continue
		}
		for _, i := range MustAnswer[recoveryView](t, a, a.code).Items {
			if i.ExecutionID != o.execution {
				t.Errorf("recovered %+v", i)
			}
			if i.Outcome == "finished" && i.Status != "" {
				finished++
			}
		}
	}
	if finished != 1 {
		t.Errorf("%d recoveries say that they finished it", finished)
	}
	x := f.MustExecutions(t)
	ends := 0
	for _, e := range x[0].Log {
		if e.Event == "finalize:done" {
			ends++
		}
	}
	if len(x) != 1 || ends != 1 || x[0].starts() != 1 || x[0].Result == nil || x[0].Result.ended() != "cancelled/owner_lost" {
		t.Fatalf("%+v", x)
	}
	f.MustFollow(t, *x[0].Result)
	f.MustRunOrdinarily(t)
}
