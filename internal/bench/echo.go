package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"time"
)

// echo is what both containers run.
const echo = `import sys; [print(l, end="", flush=True) for l in sys.stdin]`

// echoing measures from a write to the echoed output, read back: through a Job of
// command-runtime.v2, and through docker run -i.
func echoing(_ context.Context, l *lab) (tables []Table, err error) {
	src, err := l.source("source-echo", map[string]string{"README": "echo\n"})
	if err != nil {
		return nil, err
	}
	f, err := l.home("echo", "docker").flow(src)
	if err != nil {
		return nil, err
	}
	ours, err := f.job()
	if err != nil {
		return nil, err
	}
	defer ours.end()
	theirs, err := l.dockerEcho()
	if err != nil {
		return nil, err
	}
	defer theirs.end()
	var mine, its Sample
	for n := range 10*l.rounds + 1 {
		line := fmt.Sprintf("line %d\n", n)
		trip := func(p *pipe, s *Sample) func() error {
			return func() error { return s.timed(func() error { return p.trip(n, line) }) }
		}
		if err := inTurn(n, trip(ours, &mine), trip(theirs, &its)); err != nil {
			return nil, err
		}
	}
	return []Table{{Title: "Input to output of a running command", Unit: "ms", Lines: []Line{
		{What: "`write_stdin` to its echo by `read`", Ours: mine[1:], Peer: its[1:], PeerName: "`docker run -i`"},
	}, Notes: []string{"Ours goes through a request and an answer each way, and the runner's frames; the output is cleaned and kept."}}}, nil
}

// pipe is a process that answers a line.
type pipe struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	trip func(n int, line string) error
}

func begin(cmd *exec.Cmd) (*pipe, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &pipe{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<16)}, cmd.Start()
}

// end closes the input, which ends both programs.
func (p *pipe) end() {
	_ = p.in.Close()
	stuck := time.AfterFunc(time.Minute, func() { _ = p.cmd.Process.Kill() })
	defer stuck.Stop()
	_ = p.cmd.Wait()
}

func (l *lab) dockerEcho() (*pipe, error) {
	p, err := begin(exec.Command("docker", "-H", "unix://"+l.docker, "run", "-i", "--rm", "--network=none", "--log-driver=none",
		"--entrypoint="+interpreter, l.dockerImage, "-c", echo))
	if err != nil {
		return nil, err
	}
	p.trip = func(_ int, line string) error {
		if _, err := io.WriteString(p.in, line); err != nil {
			return err
		}
		if got, err := p.out.ReadString('\n'); err != nil || got != line {
			return fmt.Errorf("%q came back as %q, %w", line, got, err)
		}
		return nil
	}
	return p, nil
}

// page is what the harness reads of an answer of command-runtime.v2.
type page struct {
	Status string `json:"status"`
	Job    struct {
		ID string `json:"job_id"`
	} `json:"job"`
	Output struct {
		Frames []struct {
			Text string `json:"text"`
		} `json:"frames"`
		Next int64 `json:"next_cursor"`
	} `json:"output"`
	Approval struct {
		Preparation string `json:"preparation_id"`
		Approval    string `json:"approval_id"`
	} `json:"approval"`
}

// job starts a session and in it a Job that echoes.
func (f *flow) job() (*pipe, error) {
	p, err := begin(f.command(append([]string{"command-runtime", f.run}, gates...)...))
	if err != nil {
		return nil, err
	}
	asked := 0
	ask := func(action string, more map[string]any) (a page, err error) {
		asked++
		request := map[string]any{"protocol_version": "command-runtime.v2", "request_id": fmt.Sprint("r", asked), "action": action}
		maps.Copy(request, more)
		if err := json.NewEncoder(p.in).Encode(request); err != nil {
			return a, err
		}
		line, err := p.out.ReadBytes('\n')
		if err != nil {
			return a, err
		}
		if err = json.Unmarshal(line, &a); err == nil && a.Status == "error" {
			err = fmt.Errorf("%s: %s", action, line)
		}
		return a, err
	}
	command := map[string]any{
		"protocol_version": "standard-code-command.v1", "toolchain": "python", "arguments": []string{"-c", echo}, "purpose": "a benchmark", "stdin_policy": "pipe",
		"network": "disabled", "credentials": "none",
	}
	need, err := ask("start", map[string]any{"operation_key": "start", "command": command})
	if err != nil {
		return nil, err
	}
	command["preparation_id"], command["approval_id"] = need.Approval.Preparation, need.Approval.Approval
	if err := f.ask(nil, "run", "sandbox", "request", need.Approval.Preparation); err != nil {
		return nil, err
	}
	if err := f.ask(nil, "run", "sandbox", "review", need.Approval.Preparation, "--decision", "approve", "--operation-key", "review"); err != nil {
		return nil, err
	}
	started, err := ask("start", map[string]any{"operation_key": "start", "command": command})
	if err != nil {
		return nil, err
	}
	cursor := int64(0)
	p.trip = func(n int, line string) error {
		if _, err := ask("write_stdin", map[string]any{"job_id": started.Job.ID, "operation_key": fmt.Sprint("w", n), "data": line}); err != nil {
			return err
		}
		for got := ""; got != line; {
			a, err := ask("read", map[string]any{"job_id": started.Job.ID, "cursor": cursor, "wait_ms": 60000})
			if err != nil {
				return err
			}
			for _, frame := range a.Output.Frames {
				got += frame.Text
			}
			cursor = a.Output.Next
		}
		return nil
	}
	return p, nil
}
