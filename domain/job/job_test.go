package job_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/job"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
	"cyberagent/domain/result"
)

// matrix is written out by hand: which states follow which.
var matrix = map[job.State]string{
	"prepared":    "running stopping failed cancelled interrupted",
	"running":     "stopping succeeded failed cancelled timed_out interrupted",
	"stopping":    "succeeded failed cancelled timed_out interrupted",
	"succeeded":   "",
	"failed":      "",
	"cancelled":   "",
	"timed_out":   "",
	"interrupted": "",
}

func TestState_FollowsTheMatrix(t *testing.T) {
	t.Parallel()
	if len(job.States()) != len(matrix) {
		t.Errorf("%d states, want %d", len(job.States()), len(matrix))
	}
	for _, from := range job.States() {
		want, known := matrix[from]
		if !known || from.Terminal() != (want == "") {
			t.Errorf("%s: known %t, terminal %t", from, known, from.Terminal())
		}
		for _, to := range job.States() {
			allowed := strings.Contains(" "+want+" ", " "+string(to)+" ")
			j, err := job.Job{State: from, Version: 7}.To(to, "why", time.Unix(9, 0))
			if (err == nil) != allowed {
				t.Errorf("%s to %s: %v", from, to, err)
			}
			if allowed && (j.State != to || j.Version != 8 || j.Reason != "why" || !j.UpdatedAt.Equal(time.Unix(9, 0))) {
				t.Errorf("%s to %s made %+v", from, to, j)
			}
			if !allowed && (!errors.Is(err, fault.OperationConflict) || j.State != from || j.Version != 7) {
				t.Errorf("%s to %s: %v, %+v", from, to, err, j)
			}
		}
	}
	if job.State("paused").Known() || job.State("").Terminal() {
		t.Error("an unknown state is known")
	}
}

// Every constant of a vocabulary is in its list.
func TestStates_AreAllListed(t *testing.T) {
	t.Parallel()
	f, err := parser.ParseFile(token.NewFileSet(), "state.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(f, func(x ast.Node) bool {
		if v, ok := x.(*ast.ValueSpec); ok {
			if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == "State" {
				n++
			}
		}
		return true
	})
	if n != len(job.States()) {
		t.Errorf("%d constants, %d listed", n, len(job.States()))
	}
}

func TestEnded_IsTheCommandsEnd(t *testing.T) {
	t.Parallel()
	for s, want := range map[result.Status]job.State{
		result.Succeeded: "succeeded", result.Failed: "failed", result.Cancelled: "cancelled", result.TimedOut: "timed_out",
	} {
		if got := job.Ended(s); got != want {
			t.Errorf("%s ends as %s", s, got)
		}
	}
}

func TestRoom_IsFourOfARunAndSixteenInAll(t *testing.T) {
	t.Parallel()
	many := func(n int, run id.Run) (all []job.Job) {
		for range n {
			all = append(all, job.Job{Run: run})
		}
		return all
	}
	for _, c := range []struct {
		name string
		open []job.Job
		ok   bool
	}{
		{"none", nil, true},
		{"three of the Run", many(3, "a"), true},
		{"four of the Run", many(4, "a"), false},
		{"fifteen of others", many(15, "b"), true},
		{"sixteen of others", many(16, "b"), false},
	} {
		if err := job.Room(c.open, "a"); (err == nil) != c.ok || (err != nil && !errors.Is(err, fault.LimitReached)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestOwner_LivesUntilItsExpiryOfThisBoot(t *testing.T) {
	t.Parallel()
	o := job.Owner{BootID: "b", ExpiresAt: time.Minute}
	for _, c := range []struct {
		name string
		now  lifecycle.Boot
		gone bool
		want bool
	}{
		{"before", lifecycle.Boot{ID: "b", Since: time.Minute - 1}, false, true},
		{"at it", lifecycle.Boot{ID: "b", Since: time.Minute}, false, false},
		{"another boot", lifecycle.Boot{ID: "c"}, false, false},
		{"released", lifecycle.Boot{ID: "b"}, true, false},
	} {
		x := o
		x.Released = c.gone
		if x.Live(c.now) != c.want {
			t.Errorf("%s: live %t", c.name, !c.want)
		}
	}
}

func launch() job.Launch {
	return job.Launch{Command: command.Input{Toolchain: "python", Args: []string{"-c", "pass"}, Purpose: "a test"}}
}

func TestLaunch_FillsWhatWasLeftOut(t *testing.T) {
	t.Parallel()
	l := launch()
	if err := l.Check(); err != nil {
		t.Fatal(err)
	}
	if l.Stdin != isolation.StdinClosed || l.Inline != 65536 || l.Keep != 524288 || l.Approved() {
		t.Errorf("%+v", l)
	}
}

func TestLaunch_RefusesWhatNoJobMayHave(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field  string
		change func(*job.Launch)
	}{
		{"toolchain", func(l *job.Launch) { l.Command.Toolchain = "sh" }},
		{"purpose", func(l *job.Launch) { l.Command.Purpose = "" }},
		{"stdin_policy", func(l *job.Launch) { l.Stdin = "tty" }},
		{"stdin_policy", func(l *job.Launch) { l.Initial = []byte("x") }},
		{"stdin_policy", func(l *job.Launch) { l.Close = true }},
		{"data", func(l *job.Launch) { l.Stdin, l.Initial = "pipe", make([]byte, limits.StdinWriteBytes+1) }},
		{"approval_id", func(l *job.Launch) { l.Preparation = "prep_1" }},
		{"approval_id", func(l *job.Launch) { l.Approval = "appr_1" }},
		{"inline_bytes", func(l *job.Launch) { l.Inline = -1 }},
		{"inline_bytes", func(l *job.Launch) { l.Inline = limits.JobReadBytes + 1 }},
		{"artifact_bytes", func(l *job.Launch) { l.Keep = limits.JobOutputBytes + 1 }},
	} {
		l := launch()
		c.change(&l)
		err := l.Check()
		if !errors.Is(err, fault.InvalidArgument) || fault.From(err).Field != c.field || fault.From(err).Remedy == "" {
			t.Errorf("%s: %v", c.field, err)
		}
	}
}

func TestMode_HasTwoWords(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]job.Mode{"": "fail_fast", "fail_fast": "fail_fast", "continue": "continue"} {
		if m, err := job.ParseMode(word); err != nil || m != want {
			t.Errorf("%q: %s, %v", word, m, err)
		}
	}
	if _, err := job.ParseMode("parallel"); fault.From(err).Field != "mode" {
		t.Error(err)
	}
}
