//go:build linux

package standardcode_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"cyberagent/adapters/gitdrydock"
	"cyberagent/adapters/host"
	"cyberagent/adapters/ledger"
	"cyberagent/adapters/ledger/ledgertest"
	"cyberagent/adapters/memory"
	"cyberagent/app/approvals"
	"cyberagent/app/drydocks"
	"cyberagent/app/runs"
	"cyberagent/app/standardcode"
	"cyberagent/domain/admission"
	"cyberagent/domain/approval"
	"cyberagent/domain/command"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/run"
	"cyberagent/domain/runnerproto"
	"cyberagent/ports"
)

// lab is the use cases over a real ledger, a real worktree and an engine without
// processes, of which single calls can be made to fail.
type lab struct {
	t       *testing.T
	ledger  *ledger.Ledger
	engine  *memory.Engine
	runner  *memory.Runner
	service *standardcode.Service
	run     id.Run
	root    string
	// runs counts how often the command ran.
	runs int
	keys int
}

var imageID = "sha256:" + strings.Repeat("1", 64)

// mustLab makes a Run with a Drydock whose commands are admitted. The command
// leaves a file.
func mustLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, ledger: ledgertest.Open(t)}
	l.runner = &memory.Runner{Command: func(c *memory.Command) int {
		l.runs++
		_, _ = fmt.Fprintln(c.Stdout, "hello")
		if err := os.WriteFile(filepath.Join(c.Root, "made"), []byte("by the command\n"), 0o644); err != nil {
			return 1
		}
		return 0
	}}
	world := memory.NewHost(isolation.Docker, func(p *memory.Process) int { return l.runner.Run(p) })
	world.AddImage(admission.ImageFacts{
		ID: imageID, OS: "linux", Arch: runtime.GOARCH, Entrypoint: []string{isolation.RunnerPath},
		Labels: map[string]string{isolation.LabelProtocol: runnerproto.Protocol},
	})
	l.engine = world.Client()
	dir := t.TempDir()
	files := gitdrydock.New(gitdrydock.Config{Home: filepath.Join(dir, "home")})
	l.service = &standardcode.Service{
		Ledger: l.ledger, Engine: l.engine, Worktrees: files, Masks: files, Meter: files,
		EngineFor: func(isolation.Engine) (ports.Engine, error) { return l.engine, nil },
		Clock:     host.Clock{}, IDs: host.IDs{}, Locks: host.NewLocks(filepath.Join(dir, "owners")),
		Settings: standardcode.Settings{ImageDigest: func(isolation.Engine, string) string { return imageID }},
	}
	l.begin(files, mustSource(t, dir))
	return l
}

func mustSource(t *testing.T, dir string) string {
	t.Helper()
	source := filepath.Join(dir, "source")
	script := `git init -q -b main "$1" && cd "$1" && echo x > file && git add file && git commit -q -m first`
	c := exec.Command("sh", "-c", script, "sh", source)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return source
}

func (l *lab) key() string {
	l.keys++
	return fmt.Sprint("key:", l.keys)
}

func (l *lab) begin(files *gitdrydock.Drydocks, source string) {
	l.t.Helper()
	ctx := l.t.Context()
	rs := &runs.Service{Ledger: l.ledger, Sources: files, Clock: host.Clock{}, IDs: host.IDs{}}
	r, err := rs.Create(ctx, runs.CreateInput{Title: "test", Workspace: source, OperationKey: l.key()})
	l.must(err)
	l.run = r.RunID
	_, err = rs.SetProfile(ctx, l.run, run.ProfileDocker, l.key())
	l.must(err)
	_, err = rs.SetPermission(ctx, l.run, run.WorkspaceAccess, l.key())
	l.must(err)
	ds := &drydocks.Service{Ledger: l.ledger, Sources: files, Worktrees: files, Clock: host.Clock{}, IDs: host.IDs{}}
	seen, err := ds.Inspect(ctx, l.run)
	l.must(err)
	d, err := ds.Create(ctx, drydocks.CreateInput{Run: l.run, TrustDigest: seen.TrustDigest, OperationKey: l.key()})
	l.must(err)
	l.root = d.Path
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// request asks for a command on the Drydock as it is recorded.
func (l *lab) request() (r standardcode.Request) {
	l.t.Helper()
	l.must(l.ledger.Read(l.t.Context(), func(rec ports.Records) error {
		d, err := rec.DrydockOfRun(l.run)
		r = standardcode.Request{
			Run: l.run, Generation: d.Generation, Checkpoint: d.Checkpoint,
			Gates:   admission.AllGates(),
			Command: command.Input{Toolchain: "go", Args: []string{"version"}, Purpose: "test"},
		}
		return err
	}))
	return r
}

// approved prepares a command and has it approved.
func (l *lab) approved() standardcode.ExecuteInput {
	l.t.Helper()
	ctx := l.t.Context()
	in := standardcode.ExecuteInput{OperationKey: l.key(), Request: l.request()}
	p, err := l.service.Prepare(ctx, in.Request, l.key())
	l.must(err)
	as := &approvals.Service{Ledger: l.ledger, Clock: host.Clock{}}
	a, err := as.Review(ctx, approvals.ReviewInput{Preparation: p.PreparationID, Decision: approval.Approve, Reviewer: "r", OperationKey: l.key()})
	l.must(err)
	in.Preparation, in.Approval = p.PreparationID, a.ApprovalID
	return in
}

// execute runs one command from its preparation to its end.
func (l *lab) execute() (standardcode.Result, error) {
	l.t.Helper()
	r, _, err := l.service.Execute(l.t.Context(), l.approved())
	return r, err
}

// crash ends the goroutine that reaches a fail point, as its process would die:
// its locks are released, and nothing more is written.
type crash string

// Hit implements ports.FailPoints.
func (c crash) Hit(name string) {
	if name == string(c) {
		runtime.Goexit()
	}
}

// dies runs one command whose owner dies at a moment.
func (l *lab) dies(m standardcode.Moment) {
	l.t.Helper()
	in := l.approved()
	l.service.Fail = crash(standardcode.Executor.At(m))
	done := make(chan struct{})
	finished := false
	go func() {
		defer close(done)
		_, _, _ = l.service.Execute(l.t.Context(), in)
		finished = true
	}()
	<-done
	l.service.Fail = nil
	if finished {
		l.t.Fatalf("%s was not reached", m)
	}
}

// recovered brings everything to its end and returns the only command's result.
func (l *lab) recovered() standardcode.Result {
	l.t.Helper()
	rec, err := l.service.Recover(l.t.Context(), standardcode.RecoverInput{Run: l.run})
	l.must(err)
	if len(rec.Items) != 1 || rec.Items[0].Outcome != standardcode.OutcomeFinished {
		l.t.Fatalf("%+v", rec)
	}
	return l.end()
}

// end is the recorded end of the newest command.
func (l *lab) end() standardcode.Result {
	l.t.Helper()
	all, err := l.service.Status(l.t.Context(), l.run, "")
	l.must(err)
	if len(all) == 0 || all[0].Result == nil {
		l.t.Fatalf("no recorded end: %+v", all)
	}
	return *all[0].Result
}

// nothingLeft fails the test when the engine has a container of ours.
func (l *lab) nothingLeft() {
	l.t.Helper()
	found, err := l.engine.FindOwned(l.t.Context(), l.ledger.Installation())
	l.must(err)
	if len(found) > 0 {
		l.t.Errorf("left behind: %+v", found)
	}
}
