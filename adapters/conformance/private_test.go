package conformance_test

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

	"cyberagent/adapters/conformance"
)

// daemon is an engine of the suite's own, brought up by a development script with
// a state of its own.
type daemon struct {
	script []string // the script and its options, below testdata/engines
	record string   // the file below the state that names its process
	socket string   // likewise
	// programs is a directory of the development state that is expensive to make.
	programs string
	// again starts it with its own command line after it was ended: the script would
	// first end containers that ran on.
	again bool
}

// begin brings one up. open makes a client, given the state and the socket.
func (d daemon) begin(ctx context.Context, open func(home, socket string) (conformance.Engine, error)) (conformance.Private, error) {
	home, err := os.MkdirTemp("/tmp", "cyberagent-") // a socket's path must be short
	if err != nil {
		return conformance.Private{}, err
	}
	if d.programs != "" {
		if err := os.Symlink(filepath.Join(devHome(), d.programs), filepath.Join(home, d.programs)); err != nil {
			return conformance.Private{}, err
		}
	}
	do := func(verb string) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Minute)
		defer cancel()
		script, err := filepath.Abs(filepath.Join("../../testdata/engines", d.script[0]))
		if err != nil {
			return err
		}
		c := exec.CommandContext(ctx, script, append(append([]string{}, d.script[1:]...), verb)...)
		c.Env = append(os.Environ(), "CYBERAGENT_DEV_HOME="+home)
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %s: %w\n%s", script, verb, err, out)
		}
		return nil
	}
	record := filepath.Join(home, d.record)
	var line []string
	end := func(sig syscall.Signal) func() error {
		return func() (err error) {
			line, err = end(record, home, sig)
			return err
		}
	}
	up := func() error {
		if !d.again || line == nil {
			return do("up")
		}
		return again(line, record)
	}
	p := conformance.Private{
		Open:  func() (conformance.Engine, error) { return open(home, filepath.Join(home, d.socket)) },
		Kill:  end(syscall.SIGKILL),
		Stop:  end(syscall.SIGTERM),
		Start: up,
		Close: func() error {
			if err := do("down"); err != nil {
				return err // the state tells what is left
			}
			return os.RemoveAll(home)
		},
	}
	if err := p.Start(); err != nil {
		return p, errors.Join(err, p.Close())
	}
	return p, nil
}

// devHome is where the development scripts keep their state.
func devHome() string {
	if h := os.Getenv("CYBERAGENT_DEV_HOME"); h != "" {
		return h
	}
	cache, _ := os.UserCacheDir()
	return filepath.Join(cache, "cyberagent-dev")
}

// end signals the process that the script recorded, if it is ours, waits until it
// is gone, and returns its command line.
func end(record, home string, sig syscall.Signal) ([]string, error) {
	b, err := os.ReadFile(record)
	if err != nil {
		return nil, err
	}
	word, _, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	pid, err := strconv.Atoi(word)
	if err != nil {
		return nil, err
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !strings.Contains(string(line), home) {
		return nil, fmt.Errorf("process %d is not the suite's own engine: %q %w", pid, line, err)
	}
	if err := syscall.Kill(pid, sig); err != nil {
		return nil, err
	}
	for range 600 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(err, fs.ErrNotExist) || strings.Contains(string(stat), ") Z ") {
			return strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"), nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, fmt.Errorf("process %d does not end", pid)
}

// again runs a command line and records the process as the script does, so that
// the script can end it.
func again(line []string, record string) error {
	c := exec.Command(line[0], line[1:]...)
	c.Env = append(os.Environ(), "PATH="+filepath.Dir(line[0])+":"+os.Getenv("PATH"))
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return err
	}
	go func() { _ = c.Wait() }()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return fmt.Errorf("the state of process %d: %q", c.Process.Pid, stat)
	}
	return os.WriteFile(record, []byte(fmt.Sprintf("%d %s\n", c.Process.Pid, fields[19])), 0o600)
}
