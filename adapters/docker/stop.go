package docker

import (
	"context"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"cyberagent/domain/fault"
	"cyberagent/ports"
)

// patience is how long the container's output may go unread during a Kill. The
// engine answers only when it has delivered the rest, so after that the output is
// let go.
const patience = time.Second

// Stop implements ports.Containers.
func (e *Engine) Stop(ctx context.Context, c ports.ContainerID) error {
	return e.unlessOver(ctx, c, "stop", idle, func(ctx context.Context, cl *client.Client) error {
		return cl.ContainerKill(ctx, string(c), stopSignal)
	})
}

// Kill implements ports.Containers. It is nil for a container that never ran,
// too. A Wait of this Engine then knows who sent the signal.
func (e *Engine) Kill(ctx context.Context, c ports.ContainerID) error {
	before := e.killing(c, true)
	done := make(chan struct{})
	defer close(done)
	go e.unstall(c, done)
	return e.unlessOver(ctx, c, "kill", idle, func(ctx context.Context, cl *client.Client) error {
		err := cl.ContainerKill(ctx, string(c), "SIGKILL")
		if answered(err) { // refused: whatever ended the process, it was not this
			e.killing(c, before)
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

// unstall lets go of output that nobody reads, until done.
func (e *Engine) unstall(c ports.ContainerID, done <-chan struct{}) {
	look := time.NewTicker(patience / 4)
	defer look.Stop()
	for {
		select {
		case <-done:
			return
		case <-look.C:
			e.attached.each(c, func(a *attachment) {
				if a.stalled(patience) {
					a.abandon()
				}
			})
		}
	}
}

// Freeze implements ports.Containers. It is nil when nothing runs.
func (e *Engine) Freeze(ctx context.Context, c ports.ContainerID) error {
	frozen := func(in container.InspectResponse) bool { return in.State.Paused || idle(in) }
	return e.unlessOver(ctx, c, "freeze", frozen, func(ctx context.Context, cl *client.Client) error {
		return cl.ContainerPause(ctx, string(c))
	})
}

// Thaw implements ports.Containers. It is nil when nothing is frozen.
func (e *Engine) Thaw(ctx context.Context, c ports.ContainerID) error {
	thawed := func(in container.InspectResponse) bool { return !in.State.Paused }
	return e.unlessOver(ctx, c, "thaw", thawed, func(ctx context.Context, cl *client.Client) error {
		return cl.ContainerUnpause(ctx, string(c))
	})
}

// idle says whether the container has no process.
func idle(in container.InspectResponse) bool { return !in.State.Running && !in.State.Paused }

// unlessOver makes a call that the engine refuses when there is nothing left to
// do; whether that is why it refused is seen by a look at the container.
func (e *Engine) unlessOver(ctx context.Context, c ports.ContainerID, what string, over func(container.InspectResponse) bool, fn func(context.Context, *client.Client) error) error {
	if c == "" {
		return fault.New(fault.NotFound, "no container has an empty id")
	}
	err := do(ctx, e, what+" container "+string(c), fn)
	if err == nil || !answered(err) || fault.CodeOf(err) == fault.NotFound {
		return err
	}
	if in, _, e := e.inspect(ctx, string(c)); e == nil && over(in) {
		return nil
	}
	return err
}
