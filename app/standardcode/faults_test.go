//go:build linux

package standardcode_test

import (
	"errors"
	"strings"
	"testing"

	"cyberagent/adapters/memory"
	"cyberagent/app/standardcode"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/result"
	"cyberagent/domain/runnerproto"
	"cyberagent/ports"
)

// once returns an error for the first call of that name.
func once(name string, err error) func(string) error {
	done := false
	return func(call string) error {
		if call != name || done {
			return nil
		}
		done = true
		return err
	}
}

func TestExecute_EngineFaults(t *testing.T) {
	t.Parallel()
	lost := fault.New(fault.DaemonUnreachable, "the connection ended")
	for _, c := range []struct {
		name   string
		damage func(*lab)
		status result.Status
		reason result.Reason
		runs   int
	}{
		{"a rewritten configuration starts nothing", func(l *lab) {
			l.engine.Observed = func(p *isolation.Properties) { p.NetworkMode = "host" }
		}, result.Failed, result.IsolationMismatch, 0},
		{"create fails", func(l *lab) { l.engine.Before = once("Create", lost) }, result.Failed, result.NeverStarted, 0},
		{"create's answer is lost", func(l *lab) { l.engine.After = once("Create", lost) }, result.Failed, result.NeverStarted, 0},
		{"attaching fails", func(l *lab) { l.engine.Before = once("Attach", lost) }, result.Failed, result.NeverStarted, 0},
		{"the start is refused", func(l *lab) {
			l.engine.Before = once("Start", fault.New(fault.StartFailed, "no"))
		}, result.Failed, result.StartFailed, 0},
		{"a start's answer is lost: it is not sent again", func(l *lab) { l.engine.After = once("Start", lost) }, result.Failed, result.EngineLost, 1},
		{"waiting fails, but the report arrived", func(l *lab) { l.engine.Before = once("Wait", lost) }, result.Succeeded, result.Exited, 1},
		{"a measurement that differs", func(l *lab) {
			l.runner.Report = func(r *runnerproto.Report) {
				r.Outcome, r.Mismatches = runnerproto.OutcomeRefused, []isolation.Difference{{Property: "root", Want: "ro", Got: "rw"}}
			}
		}, result.Failed, result.IsolationMismatch, 1},
		{"a report about another admission", func(l *lab) {
			l.runner.Report = func(r *runnerproto.Report) { r.Admission = "adm_OTHER" }
		}, result.Failed, result.RunnerFailure, 1},
		{"the mask vanished meanwhile", func(l *lab) {
			l.runner.Report = func(r *runnerproto.Report) { r.MaskIntact = false }
		}, result.Failed, result.IntegrityLost, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := mustLab(t)
			in := l.approved()
			c.damage(l)
			r, _, err := l.service.Execute(t.Context(), in)
			l.must(err)
			if r.Status != c.status || r.ReasonCode != c.reason || (r.ExitCode != nil) != (c.reason == result.Exited) {
				t.Errorf("%s %s %v, want %s %s; %v", r.Status, r.ReasonCode, r.ExitCode, c.status, c.reason, r.Details)
			}
			if l.runs != c.runs {
				t.Errorf("the command ran %d times, want %d", l.runs, c.runs)
			}
			if c.runs == 0 && r.Checkpoint.AfterID != r.Checkpoint.BeforeID {
				t.Errorf("nothing ran, but there is a Checkpoint: %+v", r.Checkpoint)
			}
			l.nothingLeft()
		})
	}
}

func TestExecute_AContainerThatCannotBeRemovedIsRecoveredLater(t *testing.T) {
	t.Parallel()
	l := mustLab(t)
	in := l.approved()
	l.engine.Before = once("Remove", fault.New(fault.EngineFailure, "device or resource busy"))
	if _, _, err := l.service.Execute(t.Context(), in); !errors.Is(err, fault.CleanupPending) {
		t.Fatalf("%v, want %s", err, fault.CleanupPending)
	}
	r := l.recovered()
	if r.Status != result.Succeeded || r.Checkpoint.AfterID != ofAdmission(r.ExecutionID) || l.runs != 1 {
		t.Errorf("%s %s %+v", r.Status, r.ReasonCode, r.Checkpoint)
	}
	l.nothingLeft()
}

// An engine that died forgot the container; what still lives of it has to go
// before anything is called over.
func TestRecover_AsksForTheContainerThatTheEngineForgot(t *testing.T) {
	t.Parallel()
	l := mustLab(t)
	l.dies(standardcode.MomentStarted)
	found, err := l.engine.FindOwned(t.Context(), l.ledger.Installation())
	l.must(err)
	if len(found) != 1 {
		t.Fatalf("%+v", found)
	}
	owner := ports.Ownership{Admission: id.Admission(found[0].Labels[isolation.LabelAdmission]), Installation: l.ledger.Installation()}
	l.must(l.engine.Remove(t.Context(), found[0].ID, owner))
	l.engine.Before = once("Remove", fault.New(fault.CleanupPending, "its process lives"))
	rec, err := l.service.Recover(t.Context(), standardcode.RecoverInput{Run: l.run})
	l.must(err)
	if rec.Open != 1 || rec.Items[0].Outcome != standardcode.OutcomeUnfinished || !strings.Contains(rec.Items[0].Why, "its process lives") {
		t.Errorf("%+v", rec)
	}
	if r := l.recovered(); r.ReasonCode != result.EngineLost && r.ReasonCode != result.OwnerLost {
		t.Errorf("%s %s", r.Status, r.ReasonCode)
	}
}

// Two may take the same container away. Removal has the last word on it.
func TestRecover_GoesOnWhenTheContainerIsGoneBeforeItIsStopped(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"Stop", "Wait"} {
		l := mustLab(t)
		l.runner.Command = func(c *memory.Command) int {
			select {
			case <-c.Term:
			case <-c.Killed:
			}
			return 15
		}
		l.dies(standardcode.MomentStarted)
		asked := false
		l.engine.Before = func(c string) error {
			if c != call || asked {
				return nil
			}
			asked = true
			return fault.New(fault.NotFound, "no such container")
		}
		if r := l.recovered(); r.ReasonCode != result.OwnerLost || !asked {
			t.Errorf("%s: %s %s, asked %t", call, r.Status, r.ReasonCode, asked)
		}
		l.nothingLeft()
	}
}

func TestRecover_NothingIsEverStarted(t *testing.T) {
	t.Parallel()
	for m, runs := range map[standardcode.Moment]int{
		standardcode.MomentCreating: 0, standardcode.MomentCreated: 0, standardcode.MomentStarting: 0, standardcode.MomentExited: 1,
	} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			l := mustLab(t)
			l.dies(m)
			l.engine.Before = func(call string) error {
				if call == "Start" || call == "Create" {
					t.Errorf("recovery calls %s", call)
				}
				return nil
			}
			r := l.recovered()
			if r.Status == result.Succeeded || l.runs != runs {
				t.Errorf("%s %s, ran %d times, want %d", r.Status, r.ReasonCode, l.runs, runs)
			}
			l.nothingLeft()
		})
	}
}
