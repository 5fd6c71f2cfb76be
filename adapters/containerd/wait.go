package containerd

import (
	"context"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"

	"cyberagent/domain/fault"
	"cyberagent/internal/backoff"
	"cyberagent/ports"
)

const (
	// slowPoll finds an exit, or a start by another process, that nobody told of.
	slowPoll = time.Second
	// killedCode is 128 and SIGKILL.
	killedCode = 137
)

// Wait implements ports.Containers. It lasts until the process ended, the
// container is gone (not_found), or ctx ended (engine_timeout); an engine that
// goes away is waited for.
//
// What the engine's wait answers only wakes it up: it answers 255 when the engine
// goes down while the process runs on (pitfall B4). The truth is a look at the
// task.
//
// Interrupted is set when the task is lost, and when KILL ended the process and
// neither this Engine nor the kernel's OOM killer sent it.
func (e *Engine) Wait(ctx context.Context, c ports.ContainerID) (ports.Exit, error) {
	for pause := backoff.New(); ; {
		v, err := e.glance(ctx, string(c))
		switch {
		case fault.CodeOf(err) == fault.NotFound:
			return ports.Exit{}, err
		case err == nil && v.state() == ports.StateExited:
			return e.exit(c, v), nil
		case ctx.Err() != nil:
			return ports.Exit{}, e.translate(ctx, "wait for container "+string(c), ctx.Err())
		case err == nil:
			begin := time.Now()
			if e.await(ctx, c, v); time.Since(begin) > slowPoll/2 {
				pause = backoff.New()
			}
		}
		pause.Sleep(ctx)
	}
}

// await returns when it is worth looking again.
func (e *Engine) await(ctx context.Context, c ports.ContainerID, v view) {
	ctx, cancel := context.WithTimeout(ctx, slowPoll)
	defer cancel()
	if !v.asked || v.orphaned {
		var begun <-chan struct{}
		if !v.asked {
			begun = e.announcement(c)
		}
		select {
		case <-begun:
		case <-ctx.Done():
		}
		return
	}
	_, _ = e.client.TaskService().Wait(ctx, &tasks.WaitRequest{ContainerID: string(c)})
}

func (e *Engine) exit(c ports.ContainerID, v view) ports.Exit {
	e.mu.Lock()
	ours := e.killed[c]
	e.mu.Unlock()
	if v.task == nil {
		return ports.Exit{Interrupted: !ours, OOMKilled: v.oom}
	}
	code := int(v.task.GetExitStatus())
	return ports.Exit{Code: code, OOMKilled: v.oom, Interrupted: code == killedCode && !ours && !v.oom}
}
