package containerd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cyberagent/adapters/conformance/enginetest"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// private is an engine of the test's own, which it may kill.
type privateLab struct {
	*lab
	t    *testing.T
	args []string
	home string
}

const script = "../../testdata/engines/containerd.sh"

// mustPrivate starts one beside the others, with their programs.
func mustPrivate(t *testing.T, debian bool) *privateLab {
	t.Helper()
	// A socket's path must be short.
	home, err := os.MkdirTemp("", "ctrd-")
	must(t, err)
	p := &privateLab{t: t, home: home}
	if debian {
		p.args = []string{"--debian"}
	}
	t.Cleanup(func() {
		p.run("down")
		must(t, os.RemoveAll(home))
	})
	p.run("up")
	_, address, _ := strings.Cut(strings.TrimSpace(p.run("env")), "=")
	e, err := New(Config{Address: address, Dir: filepath.Join(home, "runs")})
	must(t, err)
	t.Cleanup(func() { _ = e.Close() })
	p.lab = &lab{Engine: e, name: "private", inst: id.Installation(enginetest.NewID(id.KindInstallation))}
	p.image, p.tag, err = p.load(t.Context(), nil)
	must(t, err)
	return p
}

func (p *privateLab) run(verb string) string {
	p.t.Helper()
	shared := filepath.Dir(filepath.Dir(filepath.Dir(os.Getenv("CYBERAGENT_CONTAINERD_ADDRESS")))) // the development home
	cmd := exec.Command(script, append(p.args, verb)...)
	cmd.Env = append(os.Environ(), "CYBERAGENT_DEV_HOME="+p.home, "CYBERAGENT_CONTAINERD_PROGRAMS="+filepath.Join(shared, "containerd-bin"))
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", verb, err, errs.String())
	}
	return string(out)
}

// kill ends the daemon like a crash does; up starts it again.
func (p *privateLab) kill() {
	p.t.Helper()
	records, err := filepath.Glob(filepath.Join(p.home, "*/run/containerd.proc"))
	must(p.t, err)
	b, err := os.ReadFile(records[0])
	must(p.t, err)
	var pid int
	_, err = fmt.Sscan(string(b), &pid)
	must(p.t, err)
	must(p.t, syscall.Kill(pid, syscall.SIGKILL))
	for range 200 {
		if _, err := p.Probe(p.t.Context()); err == nil {
			if f, _ := p.Probe(p.t.Context()); f.Reachability != "reachable" {
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.t.Fatal("the engine does not die")
}

// restarts runs fn on a private engine of each kind.
func restarts(t *testing.T, fn func(t *testing.T, p *privateLab)) {
	t.Helper()
	labs.once.Do(func() { labs.err = openLabs() })
	if labs.err != nil {
		t.Fatal(labs.err)
	}
	t.Run("2.4", func(t *testing.T) { fn(t, mustPrivate(t, false)) })
	t.Run("debian", func(t *testing.T) { fn(t, mustPrivate(t, true)) })
}

func TestRestart_OfTheEngineLosesNothing(t *testing.T) {
	restarts(t, func(t *testing.T, p *privateLab) {
		j := newJob(t, p.lab, "sleep 20000", isolation.StdinClosed)
		j.Make()
		outputs, exits := j.Outputs(), j.Exits()
		must(t, p.Start(t.Context(), j.ID))
		p.kill()
		if _, err := p.Inspect(t.Context(), j.ID); fault.CodeOf(err) != fault.DaemonUnreachable {
			t.Errorf("while it is away: %v", err)
		}
		p.run("up")
		stdout, _ := outputs()
		if exit := exits(); exit != (ports.Exit{}) || stdout != "ready\n" {
			t.Errorf("%+v %q", exit, stdout)
		}
		must(t, p.Remove(t.Context(), j.ID, j.Owner))
	})
}

func TestRestart_AShimThatDiesTakesTheCodeAlong(t *testing.T) {
	restarts(t, func(t *testing.T, p *privateLab) {
		j := newJob(t, p.lab, "sleep 60000", isolation.StdinClosed)
		j.Make()
		ended, exits := j.outputsOrLoss(), j.Exits()
		must(t, p.Start(t.Context(), j.ID))
		c, err := p.Inspect(t.Context(), j.ID)
		must(t, err)
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(c.PID) + "/stat")
		must(t, err)
		shim, err := strconv.Atoi(strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+2:])[1])
		must(t, err)
		must(t, syscall.Kill(shim, syscall.SIGKILL))
		// The engine forgets the task; its process lives, and so Wait goes on.
		for range 100 {
			if task, err := p.taskOf(t.Context(), string(j.ID)); err == nil && task == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if c, err := p.Inspect(t.Context(), j.ID); err != nil || (c.State != ports.StateRunning && c.State != ports.StateExited) {
			t.Errorf("%+v %v", c, err)
		}
		must(t, p.Kill(t.Context(), j.ID))
		exits()
		ended()
		must(t, p.Remove(t.Context(), j.ID, j.Owner))
		// Nobody may be left to reap it.
		if stat, err := os.ReadFile("/proc/" + strconv.Itoa(c.PID) + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
			t.Errorf("its process lives: %s", stat)
		}
	})
}

// Whoever looked first is gone: another process finds, stops and removes.
func TestRestart_OfTheClient(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		j := newJob(t, l, "spam", isolation.StdinPipe)
		first, err := New(l.cfg)
		must(t, err)
		j.ID, _, err = first.Create(t.Context(), j.Spec)
		must(t, err)
		_, err = first.Attach(t.Context(), j.ID)
		must(t, err)
		must(t, first.Start(t.Context(), j.ID))
		must(t, first.Close())
		found, err := l.Find(t.Context(), j.Owner.Admission)
		if err != nil || len(found) != 1 || found[0].State != ports.StateRunning {
			t.Fatalf("%+v %v", found, err)
		}
		must(t, l.Stop(t.Context(), j.ID))
		enginetest.Soon(t, "Kill", func() { must(t, l.Kill(t.Context(), j.ID)) })
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if _, err := l.Wait(ctx, j.ID); err != nil {
			t.Error(err)
		}
		must(t, l.Remove(t.Context(), j.ID, j.Owner))
	})
}
