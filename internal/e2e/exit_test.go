package e2e

import (
	"syscall"
	"testing"
)

// The exit table of contract section 5, each row by a real process.
func TestExit_EveryRowOfTheTable(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "abuse.py"))
	row := func(status int, what string, a answer) {
		t.Helper()
		if a.code != status {
			t.Errorf("%s: exit status %d, want %d\n%s%s", what, a.code, status, a.stdout, a.stderr)
		}
	}
	row(1, "internal: the answer cannot be written", h.exec(t, "/bin/sh", "-c", `exec "$0" version >/dev/full`, lab.binary).Wait(t))
	row(2, "usage: an unknown flag", h.call(t, "run", "list", "--surprise"))
	shut := f.request("prepare", approved{command: python("-c", "pass")})
	shut.gates = gates[1:]
	row(3, "refused: a gate is missing", h.call(t, shut.args()...))
	ready := append([]string{"run", "standard-code", "readiness"}, f.at(python("-c", "pass"))...)
	row(0, "a blocked readiness is an answer", h.call(t, ready[:len(ready)-1]...))
	row(3, "a blocked readiness with --exit-code", h.call(t, append(ready[:len(ready)-1:len(ready)-1], "--exit-code")...))
	row(0, "done", h.call(t, "run", "profile", f.run, "docker", "--operation-key", "once"))
	row(4, "conflict: the same key for something else", h.call(t, "run", "profile", f.run, "none", "--operation-key", "once"))

	for _, c := range []struct {
		status int
		what   string
		cmd    command
	}{
		{0, "the command succeeded", python("-c", "pass")},
		{5, "the command failed", python("-c", "raise SystemExit(1)")},
		{6, "timed out", python("abuse.py", "wait").within(1)},
	} {
		a := f.Execute(t, f.MustApprove(t, c.cmd))
		row(c.status, c.what, a)
		f.MustFollow(t, MustDecode[resultView](t, a.stdout))
	}
	f = h.MustFlow(t, h.MustScripts(t, "abuse.py"))
	second := f.MustApprove(t, python("-c", "print()"))
	o := f.MustStart(t, f.MustApprove(t, python("abuse.py", "wait").within(600)))
	row(8, "in progress: another command of the Run", f.start(t, f.execute(second)...).Wait(t))
	o.Signal(t, syscall.SIGINT)
	a := o.Wait(t)
	row(7, "cancelled", a)
	f.MustFollow(t, MustDecode[resultView](t, a.stdout))
}
