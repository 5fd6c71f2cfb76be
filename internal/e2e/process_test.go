package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience bounds one call of the product. The machine may be busy; nothing here
// is about speed.
const patience = 5 * time.Minute

// canary is a secret of the operator's process that no command may ever see.
const canary = "e2e-canary-4f1c"

// home is one installation: below dir lie its state and, beside it, its sources.
type home struct {
	dir, state string
	env        []string
	// socket is its engine's, as the tests ask it.
	socket string
	// sys is who the product's processes are, the tests' own user when nil; umask
	// is theirs, the tests' own when empty.
	sys   *syscall.SysProcAttr
	umask string
}

// homes counts them.
var homes atomic.Int64

// MustHome makes an empty installation.
func MustHome(t testing.TB) *home {
	t.Helper()
	return mustHomeOn(t, lab.socket, lab.digest)
}

// mustHomeOn makes one on an engine with an image.
func mustHomeOn(t testing.TB, socket, digest string) *home {
	t.Helper()
	dir := filepath.Join(lab.dir, fmt.Sprintf("home-%d", homes.Add(1)))
	remove := mustDisk(t, dir)
	h := &home{dir: dir, state: filepath.Join(dir, "state"), socket: socket}
	t.Cleanup(func() {
		if h.MustHaveNoContainer(t); t.Failed() {
			// A test that failed in the middle leaves nothing to others.
			_ = h.start(t, "run", "standard-code", "recover", "--all").Wait(t)
		}
		remove()
	})
	h.env = []string{
		"PATH=" + filepath.Dir(lab.binary) + ":" + os.Getenv("PATH"),
		"HOME=" + filepath.Join(dir, "nobody"),
		"CYBERAGENT_HOME=" + h.state,
		"CYBERAGENT_DOCKER_SOCKET=" + socket,
		"CYBERAGENT_STANDARD_CODE_DOCKER_IMAGE_DIGEST=" + digest,
		"E2E_SECRET=" + canary, "AWS_SECRET_ACCESS_KEY=" + canary, "SSH_AUTH_SOCK=/tmp/" + canary,
		"LD_PRELOAD_CANARY=" + canary, "GIT_AUTHOR_NAME=" + canary, "PYTHONPATH=/" + canary,
	}
	return h
}

// with returns the same installation for processes with more environment.
func (h *home) with(env ...string) *home {
	c := *h
	c.env = append(append([]string{}, h.env...), env...)
	return &c
}

// answer is how one process ended.
type answer struct {
	line   string
	code   int
	stdout []byte
	stderr []byte
}

// process is a started one.
type process struct {
	cmd    *exec.Cmd
	line   string
	stdout bytes.Buffer
	stderr bytes.Buffer
	done   chan struct{}
}

// start runs the product with exactly these arguments.
func (h *home) start(t testing.TB, args ...string) *process {
	t.Helper()
	if h.umask != "" {
		return h.exec(t, "/bin/sh", append([]string{"-c", "umask " + h.umask + `; exec "$0" "$@"`, lab.binary}, args...)...)
	}
	return h.exec(t, lab.binary, args...)
}

func (h *home) exec(t testing.TB, program string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(program, args...), line: strings.Join(args, " "), done: make(chan struct{})}
	p.cmd.Env, p.cmd.Dir, p.cmd.SysProcAttr = h.env, h.dir, h.sys
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its state says everything
		close(p.done)
	}()
	t.Cleanup(func() {
		select {
		case <-p.done:
		default:
			_ = p.cmd.Process.Kill()
			<-p.done
		}
	})
	return p
}

// Wait returns the end of the process.
func (p *process) Wait(t testing.TB) answer {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.done
		t.Fatalf("it did not end in %s: %s\n%s", patience, p.line, p.stderr.Bytes())
	}
	code := p.cmd.ProcessState.ExitCode()
	return answer{p.line, code, p.stdout.Bytes(), p.stderr.Bytes()}
}

// Signal sends a signal to the process alone.
func (p *process) Signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// call runs one verb to its end, with JSON asked for.
func (h *home) call(t testing.TB, args ...string) answer {
	t.Helper()
	return h.start(t, append([]string{"--output", "json"}, args...)...).Wait(t)
}

// MustAnswer decodes the answer of a call that ends with the exit status, and
// refuses any other output.
func MustAnswer[T any](t testing.TB, a answer, code int) T {
	t.Helper()
	if a.code != code {
		t.Fatalf("exit status %d, want %d: %s\n%s%s", a.code, code, a.line, a.stdout, a.stderr)
	}
	if len(a.stderr) != 0 {
		t.Errorf("something on standard error: %q", a.stderr)
	}
	return MustDecode[T](t, a.stdout)
}
