package containerd

import (
	"context"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types"
	"github.com/containerd/errdefs/pkg/errgrpc"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

// Start implements ports.Containers. It has two halves: the runtime prepares a
// process (the task), and starts it. Only the second half runs anything; it is
// one request, sent after a durable mark, and never to a container that has the
// mark already (recovery_required).
//
// start_failed is returned when that request was not sent, or the engine knew no
// such task: then nothing can have run, and the mark is taken back. Everything
// else leaves the question open.
func (e *Engine) Start(ctx context.Context, c ports.ContainerID) error {
	ctx, cancel := context.WithTimeout(ctx, limits.EngineCall)
	defer cancel()
	v, err := e.ours(ctx, c)
	if err != nil {
		return err
	}
	if v.asked {
		return startedBefore(string(c))
	}
	if v.task == nil {
		if err := e.prepareTask(ctx, v); err != nil {
			return fault.Wrap(fault.StartFailed, err, "container %s did not start", c)
		}
	}
	if err := v.run.Dir.mark(time.Now()); err != nil {
		if fault.CodeOf(err) == fault.RecoveryRequired {
			return err
		}
		return fault.Wrap(fault.StartFailed, err, "container %s did not start", c)
	}
	_, raw := e.client.TaskService().Start(ctx, &tasks.StartRequest{ContainerID: string(c)})
	if raw == nil {
		e.announce(c)
		return nil
	}
	err = e.translate(ctx, "start container "+string(c), raw)
	if fault.CodeOf(err) == fault.NotFound {
		v.run.Dir.unmark()
		return fault.Wrap(fault.StartFailed, err, "container %s did not start", c)
	}
	e.announce(c)
	return err
}

// prepareTask lets the runtime make everything but the process itself. The shim
// opens its ends of the FIFOs here.
func (e *Engine) prepareTask(ctx context.Context, v view) error {
	mounts, err := e.rootMounts(ctx, v.record.SnapshotKey)
	if err != nil {
		return err
	}
	r := &tasks.CreateTaskRequest{
		ContainerID: v.record.ID, Stdout: v.run.Dir.file(stdoutFIFO), Stderr: v.run.Dir.file(stderrFIFO),
	}
	if v.run.Stdin == isolation.StdinPipe {
		r.Stdin = v.run.Dir.file(stdinFIFO)
	}
	for _, m := range mounts {
		r.Rootfs = append(r.Rootfs, &types.Mount{Type: m.Type, Source: m.Source, Target: m.Target, Options: m.Options})
	}
	_, err = e.client.TaskService().Create(ctx, r)
	return e.translate(ctx, "prepare the process of container "+v.record.ID, errgrpc.ToNative(err))
}

// announcement is closed when this Engine's Start was sent.
func (e *Engine) announcement(c ports.ContainerID) chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	ch := e.started[c]
	if ch == nil {
		ch = make(chan struct{})
		e.started[c] = ch
	}
	return ch
}

func (e *Engine) announce(c ports.ContainerID) {
	ch := e.announcement(c)
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-ch:
	default:
		close(ch)
	}
}
