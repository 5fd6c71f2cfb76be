package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// atOnce is how many processes execute on Runs of their own.
const atOnce = 16

// together measures 16 executes at once from processes of their own beside 16
// docker runs at once.
func together(_ context.Context, l *lab) ([]Table, error) {
	h := l.home("together", "docker")
	src, err := l.source("source-together", map[string]string{"a.py": "print(1)\n"})
	if err != nil {
		return nil, err
	}
	n := l.size(atOnce, 2)
	flows := make([]*flow, n)
	for i := range flows {
		// A repository has at most 8 Drydocks.
		if i > 0 && i%8 == 0 {
			if src, err = l.source("source-together-"+strconv.Itoa(i), map[string]string{"a.py": "print(1)\n"}); err != nil {
				return nil, err
			}
		}
		if flows[i], err = h.flow(src); err != nil {
			return nil, err
		}
	}
	workspace, profile, err := l.peerFiles()
	if err != nil {
		return nil, err
	}
	var ours, theirs, memory Sample
	rounds := max(1, l.rounds/5)
	for round := range rounds {
		mine, its := make([]*exec.Cmd, n), make([]*exec.Cmd, n)
		for i, f := range flows {
			if mine[i], err = f.approved(); err != nil {
				return nil, err
			}
			if its[i], err = l.dockerRun(workspace, profile, i); err != nil {
				return nil, err
			}
		}
		rate := func(cmds []*exec.Cmd, to *Sample, after func(i int, out []byte) error) func() error {
			return func() error {
				took, err := allAtOnce(cmds, after)
				*to = append(*to, float64(n)/took.Seconds())
				return err
			}
		}
		err := inTurn(round, rate(mine, &ours, func(i int, out []byte) error {
			_, err := flows[i].follow(out)
			if u, ok := mine[i].ProcessState.SysUsage().(*syscall.Rusage); ok {
				memory = append(memory, float64(u.Maxrss)/1024)
			}
			return err
		}), rate(its, &theirs, func(int, []byte) error { return nil }))
		if err != nil {
			return nil, err
		}
	}
	title := fmt.Sprintf("%d commands at once, each a process and a Run of its own", n)
	return []Table{
		{Title: title, Unit: "commands a second", Lines: []Line{
			{What: "`execute`", Ours: ours, Peer: theirs, PeerName: "`docker run --rm`", Least: 0.9},
		}, Notes: []string{"None was refused as busy: one that was would have ended the measurement."}},
		{Title: title + ": memory", Unit: "MiB resident at most", Lines: []Line{{What: "each `execute` process", Ours: memory}}},
	}, nil
}

// allAtOnce runs every program at the same time and gives its output to after, one
// at a time.
func allAtOnce(cmds []*exec.Cmd, after func(int, []byte) error) (time.Duration, error) {
	var group sync.WaitGroup
	outputs, errs := make([][]byte, len(cmds)), make([]error, len(cmds))
	began := time.Now()
	for i, cmd := range cmds {
		group.Go(func() {
			out, err := cmd.Output()
			outputs[i], errs[i] = out, failed(cmd, err)
		})
	}
	group.Wait()
	took := time.Since(began)
	for i := range cmds {
		if errs[i] == nil {
			errs[i] = after(i, outputs[i])
		}
	}
	return took, errors.Join(errs...)
}
