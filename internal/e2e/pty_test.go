package e2e

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// terminal is a program on a pseudo terminal, with everything that a person saw.
type terminal struct {
	f    *os.File
	cmd  *exec.Cmd
	mu   sync.Mutex
	seen bytes.Buffer
	done chan struct{}
}

func (h *home) terminal(t *testing.T, env []string, program string, args ...string) *terminal {
	t.Helper()
	x := &terminal{cmd: exec.Command(program, args...), done: make(chan struct{})}
	x.cmd.Env, x.cmd.Dir = append(append([]string{}, h.env...), env...), h.dir
	f, err := pty.StartWithSize(x.cmd, &pty.Winsize{Rows: 40, Cols: 120})
	must(t, err)
	x.f = f
	go func() {
		defer close(x.done)
		buf := make([]byte, 4096)
		for {
			n, err := f.Read(buf)
			x.mu.Lock()
			x.seen.Write(buf[:n])
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = x.cmd.Process.Kill()
		_ = x.cmd.Wait()
		_ = f.Close()
	})
	return x
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.ReplaceAll(x.seen.String(), "\r\n", "\n")
}

// MustSee waits until the screen has shown something.
func (x *terminal) MustSee(t *testing.T, what string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if strings.Contains(x.text(), what) {
			return
		}
	}
	t.Fatalf("the terminal never showed %q:\n%s", what, x.text())
}

func (x *terminal) wait(t *testing.T) string {
	t.Helper()
	select {
	case <-x.done:
	case <-time.After(patience):
		t.Fatalf("the program did not end:\n%s", x.text())
	}
	return x.text()
}

func TestTerminal_APersonSeesRowsProgressAndNoColour(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	for _, env := range [][]string{nil, {"NO_COLOR=1"}, {"TERM=dumb"}} {
		a := f.MustApprove(t, python("-c", "import time; print('\\033[31mfirst\\033[0m', flush=True); time.sleep(4); print('succeeded (exit code 0)')"))
		args := append([]string{"--output", "text", "run", "standard-code", "execute"}, f.at(a.command)...)
		x := h.terminal(t, env, lab.binary, append(args, "--preparation", a.prep.ID, "--approval", a.prep.Approval.ID, "--operation-key", a.key)...)
		seen := x.wait(t)
		for _, want := range []string{"│ first", "│ succeeded (exit code 0)", "\nsucceeded (exit code 0)\n", "\ncheckpoint  ckpt_"} {
			if !strings.Contains(seen, want) {
				t.Errorf("%v: the terminal lacks %q:\n%s", env, want, seen)
			}
		}
		if !regexp.MustCompile(`cyberagent: +\d+\.\ds \w+`).MatchString(seen) {
			t.Errorf("%v: a command of 4 s shows no progress:\n%s", env, seen)
		}
		if strings.ContainsRune(seen, 0x1b) {
			t.Errorf("%v: escapes on the terminal: %q", env, seen)
		}
		f.take(f.MustStatus(t))
	}
}

func TestTerminal_BashCompletesVerbsAndIDs(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	x := h.terminal(t, []string{"PS1=ready> ", "TERM=dumb"}, "/bin/bash", "--norc", "--noprofile", "-i")
	typed := func(s string) {
		_, err := io.WriteString(x.f, s)
		must(t, err)
	}
	x.MustSee(t, "ready> ")
	typed("source <(cyberagent completion bash) && echo sour''ced\n")
	x.MustSee(t, "sourced")
	typed("cyberagent run stand\t")
	x.MustSee(t, "cyberagent run standard-code ")
	typed("\x15cyberagent run show run\t")
	x.MustSee(t, "cyberagent run show "+f.run)
	typed("\x15exit\n")
	x.wait(t)
}
