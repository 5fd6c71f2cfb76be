package e2e

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// With --stream the output comes on standard error while the command runs, and
// standard output has the answer alone.
func TestTerminal_StreamShowsCleanedOutputAndKeepsTheAnswerApart(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	a := f.MustApprove(t, python("-c", `print('\x1b[31mred\x1b[0m \u202e'); import sys; print('bad', file=sys.stderr)`))
	x := f.start(t, append(f.execute(a), "--stream")...).Wait(t)
	if x.code != 0 {
		t.Fatalf("exit status %d: %s", x.code, x.stderr)
	}
	r := MustDecode[resultView](t, x.stdout)
	out := string(x.stderr)
	if !strings.Contains(out, "red") || !strings.Contains(out, "bad\n") || strings.ContainsAny(out, "\x1b\u202e") {
		t.Errorf("streamed: %q", out)
	}
	if r.Artifacts[0].SizeBytes != int64(len("\x1b[31mred\x1b[0m \u202e\n")) {
		t.Errorf("the receipt counts what the command wrote: %+v", r.Artifacts)
	}
	f.MustFollow(t, r)
	// Nothing of it is on disk.
	b, err := os.ReadFile(h.state + "/ledger.db")
	if must(t, err); strings.Contains(string(b), "red\x1b[0m") {
		t.Error("raw output is in the ledger")
	}
}

// Who reads the output may go away; the command goes on to its end.
func TestTerminal_AReaderThatLeavesDoesNotEndTheCommand(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	a := f.MustApprove(t, python("-u", "-c", "import time; [print(i) or time.sleep(0.05) for i in range(60)]; open('done', 'w')"))
	read, write, err := os.Pipe()
	must(t, err)
	cmd := exec.Command(lab.binary, append(f.execute(a), "--stream")...)
	cmd.Env, cmd.Stderr = h.env, write
	lab.slots <- struct{}{}
	defer func() { <-lab.slots }()
	must(t, cmd.Start())
	must(t, write.Close())
	_, err = io.ReadFull(read, make([]byte, 4))
	must(t, err)
	must(t, read.Close())
	if err := cmd.Wait(); err != nil {
		t.Errorf("the executing process ended: %v", err)
	}
	x := f.MustExecutions(t)
	if len(x) != 1 || x[0].Result == nil || x[0].Result.ended() != "succeeded/exited" || x[0].Result.Checkpoint.Changed.Added != 1 {
		t.Errorf("the execution: %+v", x)
	}
}

// A terminal that is closed cancels the command as Ctrl-C does.
func TestTerminal_AHangUpIsACancellation(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "abuse.py"))
	o := f.MustStart(t, f.MustApprove(t, python("abuse.py", "wait").within(600)))
	o.Signal(t, syscall.SIGHUP)
	r := MustAnswer[resultView](t, o.Wait(t), 7)
	if r.ended() != "cancelled/cancelled" {
		t.Errorf("%+v", r)
	}
	f.MustFollow(t, r)
}

// A terminal that stands still, as after Ctrl-S, does not hold the command.
func TestTerminal_AReaderThatStandsStillDoesNotHoldTheCommand(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	a := f.MustApprove(t, python("-c", "for i in range(40000): print('all work and no play makes Jack a dull boy', i)"))
	read, write, err := os.Pipe()
	must(t, err)
	defer read.Close()
	p := &process{cmd: exec.Command(lab.binary, append(f.execute(a), "--stream")...), line: "execute --stream", done: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = h.env, &p.stdout, write
	lab.slots <- struct{}{}
	defer func() { <-lab.slots }()
	must(t, p.cmd.Start())
	must(t, write.Close())
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	r := MustAnswer[resultView](t, p.Wait(t), 0)
	if out := r.Artifacts[0]; r.ended() != "succeeded/exited" || out.Lost || out.Lines != 40000 {
		t.Errorf("%s: %+v, %v", r.ended(), out, r.Details)
	}
	f.MustFollow(t, r)
}

// What a failed command wrote is stored nowhere, so it is shown before it is lost,
// also when the answer is JSON; who wants none of it says so.
func TestTerminal_AFailedCommandsOutputIsNotLost(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	failing := python("-c", `import sys; print('wanted 3\x1b[2J'); [print('filler', i) for i in range(9000)]; print('got 4'); print('why', file=sys.stderr); sys.exit(1)`)
	for _, c := range []struct {
		name  string
		flags []string
		shown int // how often the output is on standard error
	}{{"by itself", nil, 1}, {"streamed", []string{"--stream"}, 1}, {"refused", []string{"--stream=false"}, 0}} {
		for _, format := range []string{"json", "text"} {
			x := f.shown(t, failing, format, c.flags...)
			if x.code != 5 {
				t.Fatalf("%s, %s: exit status %d: %s", c.name, format, x.code, x.stderr)
			}
			out := string(x.stderr)
			for _, want := range []string{"wanted 3\n", "got 4\n", "why\n"} {
				if n := strings.Count(out, want); n != c.shown {
					t.Errorf("%s, %s: %q is shown %d times, want %d", c.name, format, want, n, c.shown)
				}
			}
			if c.name == "by itself" && (!strings.Contains(out, " bytes omitted …\n") || strings.Contains(out, "\x1b")) {
				t.Errorf("%s, %s: not cleaned, or without what was left out", c.name, format)
			}
			if c.shown == 0 && out != "" {
				t.Errorf("%s, %s: %q", c.name, format, out)
			}
		}
	}
	// Of a command that succeeded the answer is all, unless somebody asked for more.
	for _, format := range []string{"json", "text"} {
		if x := f.shown(t, python("-c", "print('fine')"), format); x.code != 0 || len(x.stderr) > 0 || strings.Contains(string(x.stdout), "fine\n") {
			t.Errorf("succeeded, %s: %d %q\n%s", format, x.code, x.stderr, x.stdout)
		}
		if x := f.shown(t, python("-c", "print('fine')"), format, "--stream"); x.code != 0 || string(x.stderr) != "fine\n" {
			t.Errorf("streamed, %s: %d %q", format, x.code, x.stderr)
		}
	}
}

// shown runs a command with the output in a format, and no --stream but in flags.
func (f *flow) shown(t *testing.T, c command, format string, flags ...string) answer {
	t.Helper()
	args := slices.DeleteFunc(f.execute(f.MustApprove(t, c)), func(s string) bool { return s == "--stream=false" })
	args[slices.Index(args, "json")] = format
	lab.slots <- struct{}{}
	defer func() { <-lab.slots }()
	x := f.start(t, append(args, flags...)...).Wait(t)
	f.take(f.MustStatus(t))
	return x
}
