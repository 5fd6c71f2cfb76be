package dockertest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Private is a Docker Engine of a test's own: own processes, own state.
type Private struct {
	Socket string

	script string
	home   string
}

// NewPrivate starts one with the development script, which must be at the given
// path. The engine's state is below a new directory.
func NewPrivate(ctx context.Context, script string) (*Private, error) {
	home, err := os.MkdirTemp("/tmp", "cyberagent-") // a socket's path must be short
	if err != nil {
		return nil, err
	}
	p := &Private{script: script, home: home, Socket: filepath.Join(home, "docker", "run", "docker.sock")}
	if err := p.Start(ctx); err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	return p, nil
}

func (p *Private) do(ctx context.Context, verb string) error {
	c := exec.CommandContext(ctx, p.script, verb)
	c.Env = append(os.Environ(), "CYBERAGENT_DEV_HOME="+p.home)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", p.script, verb, err, out)
	}
	return nil
}

// Start brings it up, again with the same state, and waits for its answer.
func (p *Private) Start(ctx context.Context) error { return p.do(ctx, "up") }

// Kill ends dockerd with KILL.
func (p *Private) Kill() error { return p.end(syscall.SIGKILL) }

// Stop ends dockerd in order.
func (p *Private) Stop() error { return p.end(syscall.SIGTERM) }

// end signals the dockerd that the script recorded and waits until it is gone.
func (p *Private) end(sig syscall.Signal) error {
	b, err := os.ReadFile(filepath.Join(p.home, "docker", "run", "dockerd.pid"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return err
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !strings.Contains(string(line), p.home) {
		return fmt.Errorf("process %d is not this engine: %q %w", pid, line, err)
	}
	if err := syscall.Kill(pid, sig); err != nil {
		return err
	}
	for range 600 {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); errors.Is(err, fs.ErrNotExist) || strings.Contains(string(stat), ") Z ") {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("dockerd %d does not end", pid)
}

// Close stops everything that was started and removes the state.
func (p *Private) Close(ctx context.Context) error {
	if err := p.do(ctx, "down"); err != nil {
		return err // the state tells what is left
	}
	return os.RemoveAll(p.home)
}
