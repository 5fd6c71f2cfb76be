package e2e

import (
	"fmt"
	"strconv"
	"testing"
)

// command is what an agent asks for.
type command struct {
	toolchain string
	args      []string
	workdir   string
	timeout   int
	purpose   string
}

// python is the quickest toolchain; its arguments say what happens.
func python(args ...string) command { return command{toolchain: "python", args: args} }

// within bounds a command by its own timeout.
func (c command) within(seconds int) command {
	c.timeout = seconds
	return c
}

func (c command) flags() []string {
	if c.purpose == "" {
		c.purpose = "offline tests"
	}
	f := []string{"--toolchain", c.toolchain, "--purpose", c.purpose}
	for _, a := range c.args {
		f = append(f, "--arg", a)
	}
	if c.workdir != "" {
		f = append(f, "--workdir", c.workdir)
	}
	if c.timeout != 0 {
		f = append(f, "--timeout", strconv.Itoa(c.timeout))
	}
	return f
}

// The process gates.
var gates = []string{"--enable-permission-control", "--enable-workspace-sandbox", "--enable-docker-execution"}

// flow is one Run on its way: with its Drydock at the generation and Checkpoint
// that the last answer named.
type flow struct {
	*home
	run        string
	path       string // the Drydock's files on this host
	generation int64
	checkpoint string
	keys       int
}

// MustFlow makes a Run on a source, with all the authority that it needs, and its
// Drydock.
func (h *home) MustFlow(t testing.TB, source string) *flow {
	t.Helper()
	r := MustAnswer[runView](t, h.call(t, "run", "create", "a test", "--workspace", source), 0)
	if r.Status != "active" || r.Profile != "none" || r.Permission != "read_only" {
		t.Errorf("a new Run has more than it may: %+v", r)
	}
	f := &flow{home: h, run: r.ID}
	MustAnswer[runView](t, h.call(t, "run", "profile", f.run, "docker"), 0)
	MustAnswer[runView](t, h.call(t, "run", "permission", f.run, "workspace_access"), 0)
	src := MustAnswer[sourceView](t, h.call(t, "drydock", "create", f.run), 0)
	d := MustAnswer[drydockView](t, h.call(t, "drydock", "create", f.run, "--trust", src.Trust), 0)
	f.take(d)
	return f
}

func (f *flow) take(d drydockView) {
	f.path, f.generation, f.checkpoint = d.Path, d.Generation, d.Checkpoint
}

// key is an operation key that was not used before.
func (f *flow) key(verb string) string {
	f.keys++
	return fmt.Sprintf("%s-%d", verb, f.keys)
}

// at are the arguments that readiness, prepare and execute have in common.
func (f *flow) at(c command) []string {
	a := []string{f.run, "--generation", strconv.FormatInt(f.generation, 10), "--checkpoint", f.checkpoint}
	return append(append(a, c.flags()...), gates...)
}

// MustStatus reads the Drydock and compares its files.
func (f *flow) MustStatus(t testing.TB) drydockView {
	t.Helper()
	return MustAnswer[drydockView](t, f.call(t, "drydock", "status", f.run), 0)
}

// MustPrepare proposes a command.
func (f *flow) MustPrepare(t testing.TB, c command) preparationView {
	t.Helper()
	args := append([]string{"run", "standard-code", "prepare"}, f.at(c)...)
	return MustAnswer[preparationView](t, f.call(t, append(args, "--operation-key", f.key("prepare"))...), 0)
}

// MustReview decides a preparation.
func (f *flow) MustReview(t testing.TB, p preparationView, decision string, more ...string) approvalView {
	t.Helper()
	args := []string{"run", "sandbox", "review", p.ID, "--decision", decision, "--operation-key", f.key("review")}
	return MustAnswer[approvalView](t, f.call(t, append(args, more...)...), 0)
}

// approved is a command that may run once.
type approved struct {
	command command
	prep    preparationView
	key     string
}

// MustApprove prepares a command, asks for its review and approves it.
func (f *flow) MustApprove(t testing.TB, c command) approved {
	t.Helper()
	p := f.MustPrepare(t, c)
	MustAnswer[approvalView](t, f.call(t, "run", "sandbox", "request", p.ID), 0)
	if v := f.MustReview(t, p, "approve", "--reviewer", "somebody"); v.Status != "approved" {
		t.Fatalf("approved, but it is %s", v.Status)
	}
	return approved{c, p, f.key("execute")}
}

// execute are the arguments that run what was approved.
func (f *flow) execute(a approved) []string {
	args := append([]string{"--output", "json", "run", "standard-code", "execute", "--stream=false"}, f.at(a.command)...)
	return append(args, "--preparation", a.prep.ID, "--approval", a.prep.Approval.ID, "--operation-key", a.key)
}

// Execute runs what was approved, when a slot is free.
func (f *flow) Execute(t testing.TB, a approved) answer {
	t.Helper()
	lab.slots <- struct{}{}
	defer func() { <-lab.slots }()
	return f.start(t, f.execute(a)...).Wait(t)
}

// MustRun takes a command all the way and expects its end. It follows the
// Drydock to its next generation, and no container is left.
func (f *flow) MustRun(t testing.TB, c command, code int) resultView {
	t.Helper()
	r := MustAnswer[resultView](t, f.Execute(t, f.MustApprove(t, c)), code)
	f.MustFollow(t, r)
	return r
}

// MustFollow checks what every result says of its Checkpoint and goes on from
// there.
func (f *flow) MustFollow(t testing.TB, r resultView) {
	t.Helper()
	f.MustHaveNoContainer(t)
	ck := r.Checkpoint
	if ck.BeforeID != f.checkpoint || ck.GenerationBefore != f.generation {
		t.Errorf("the result began at %s (%d), the Drydock was at %s (%d)", ck.BeforeID, ck.GenerationBefore, f.checkpoint, f.generation)
	}
	d := f.MustStatus(t)
	if d.Checkpoint != ck.AfterID || d.Generation != ck.GenerationAfter || d.Status != "ready" || !d.Intact || len(d.Drift) > 0 || d.Running != "" {
		t.Errorf("the Drydock is not what the result says: %+v\n%+v", d, ck)
	}
	f.take(d)
}

// MustRunOrdinarily proves that the Run still works.
func (f *flow) MustRunOrdinarily(t testing.TB) {
	t.Helper()
	r := f.MustRun(t, python("-c", "print('still here')"), 0)
	if r.ended() != "succeeded/exited" || r.Artifacts[0].SizeBytes != int64(len("still here\n")) {
		t.Errorf("the next command: %s, %+v", r.ended(), r.Artifacts)
	}
}

// MustExecutions lists what was admitted, the newest first.
func (f *flow) MustExecutions(t testing.TB) []executionView {
	t.Helper()
	return MustAnswer[statusView](t, f.call(t, "run", "standard-code", "status", f.run), 0).Executions
}
