package containerd

import (
	"context"
	"fmt"
	"syscall"

	"github.com/containerd/containerd/api/services/tasks/v1"

	"cyberagent/domain/fault"
	"cyberagent/ports"
)

// Stop implements ports.Containers.
func (e *Engine) Stop(ctx context.Context, c ports.ContainerID) error {
	return e.unlessOver(ctx, c, idle, func(ctx context.Context) error { return e.signal(ctx, c, syscall.SIGTERM) })
}

// Kill implements ports.Containers. It is nil for a container that never ran,
// too. A Wait of this Engine then knows who sent the signal. A frozen process
// dies when it is thawed.
func (e *Engine) Kill(ctx context.Context, c ports.ContainerID) error {
	before := e.killing(c, true)
	return e.unlessOver(ctx, c, idle, func(ctx context.Context) error {
		err := e.signal(ctx, c, syscall.SIGKILL)
		if refused(err) { // whatever ended the process, it was not this
			e.killing(c, before)
		}
		if err == nil {
			_ = e.resume(ctx, c) // refused when it is not frozen
		}
		return err
	})
}

// killing notes whether KILL was sent, and returns what was noted before.
func (e *Engine) killing(c ports.ContainerID, sent bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.killed[c]
	e.killed[c] = sent
	return before
}

// Freeze implements ports.Containers. It is nil when nothing runs.
func (e *Engine) Freeze(ctx context.Context, c ports.ContainerID) error {
	return e.unlessOver(ctx, c, func(v view) bool { return v.state() != ports.StateRunning && v.state() != ports.StateOther }, func(ctx context.Context) error {
		return do(ctx, e, "freeze container "+string(c), func(ctx context.Context) error {
			_, err := e.client.TaskService().Pause(ctx, &tasks.PauseTaskRequest{ContainerID: string(c)})
			return err
		})
	})
}

// Thaw implements ports.Containers. It is nil when nothing is frozen.
func (e *Engine) Thaw(ctx context.Context, c ports.ContainerID) error {
	return e.unlessOver(ctx, c, func(v view) bool { return v.state() != ports.StatePaused && v.state() != ports.StateOther }, func(ctx context.Context) error {
		return e.resume(ctx, c)
	})
}

// signal is for PID 1; the kernel takes everything else in its namespace along.
// What lost its shim gets no signal but KILL, by its cgroup.
func (e *Engine) signal(ctx context.Context, c ports.ContainerID, s syscall.Signal) error {
	if t, err := e.taskOf(ctx, string(c)); err == nil && t == nil {
		if err := killGroup(string(c)); err != nil {
			return fault.Wrap(fault.EngineFailure, err, "cannot kill what is left of container %s", c)
		}
		return nil
	}
	err := do(ctx, e, fmt.Sprintf("send signal %d to container %s", s, c), func(ctx context.Context) error {
		_, err := e.client.TaskService().Kill(ctx, &tasks.KillRequest{ContainerID: string(c), Signal: uint32(s)})
		return err
	})
	if fault.CodeOf(err) == fault.NotFound {
		// Its process has ended, and the engine is still to see it: for that moment the
		// task runs. Only a container that is not there at all is not found.
		_, err = e.record(ctx, string(c))
	}
	return err
}

func (e *Engine) resume(ctx context.Context, c ports.ContainerID) error {
	return do(ctx, e, "thaw container "+string(c), func(ctx context.Context) error {
		_, err := e.client.TaskService().Resume(ctx, &tasks.ResumeTaskRequest{ContainerID: string(c)})
		return err
	})
}

// idle says whether the container has no process.
func idle(v view) bool { return v.state() == ports.StateCreated || v.state() == ports.StateExited }

// unlessOver makes a call that the engine refuses when there is nothing left to
// do; whether that is so, or became so meanwhile, is seen by a look.
func (e *Engine) unlessOver(ctx context.Context, c ports.ContainerID, over func(view) bool, fn func(context.Context) error) error {
	v, err := e.look(ctx, string(c))
	if err != nil || over(v) {
		return err
	}
	err = fn(ctx)
	if err == nil || (!refused(err) && fault.CodeOf(err) != fault.EngineFailure) {
		return err
	}
	if v, looked := e.look(ctx, string(c)); looked == nil && over(v) {
		return nil
	}
	return err
}
