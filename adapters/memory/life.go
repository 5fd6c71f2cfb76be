package memory

import (
	"context"
	"io"
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// Attach implements ports.Containers.
func (e *Engine) Attach(ctx context.Context, c ports.ContainerID) (out ports.Output, err error) {
	err = e.call(ctx, "Attach", func() error {
		k, err := e.get(c)
		if err != nil {
			return err
		}
		stdout, stderr := k.stdout.attach(), k.stderr.attach()
		out = ports.Output{Stdout: stdout, Stderr: stderr, Close: func() error {
			_ = stdout.CloseWithError(errClosed)
			_ = stderr.CloseWithError(errClosed)
			return nil
		}}
		return nil
	})
	return out, err
}

// Start implements ports.Containers.
func (e *Engine) Start(ctx context.Context, c ports.ContainerID) error {
	return e.call(ctx, "Start", func() error {
		k, err := e.get(c)
		if err != nil {
			return err
		}
		if k.state != ports.StateCreated {
			return fault.New(fault.RecoveryRequired, "container %s was started before", c).Hint("recover the admission")
		}
		k.state, k.report.StartedAt = ports.StateRunning, time.Now().UTC()
		go e.host.run(k)
		return nil
	})
}

// AttachStdin implements ports.Containers.
func (e *Engine) AttachStdin(ctx context.Context, c ports.ContainerID) (w io.WriteCloser, err error) {
	err = e.call(ctx, "AttachStdin", func() error {
		k, err := e.get(c)
		switch {
		case err != nil:
			return err
		case k.spec.Stdin() != isolation.StdinPipe:
			return fault.New(fault.EngineFailure, "container %s was made without a stdin pipe", c)
		case k.state != ports.StateRunning && k.state != ports.StatePaused:
			return fault.New(fault.EngineFailure, "container %s does not run", c)
		case k.stdinTaken:
			return fault.New(fault.RecoveryRequired, "stdin of container %s was attached before", c)
		}
		k.stdinTaken = true
		w = k.stdinWrite
		return nil
	})
	return w, err
}

// Wait implements ports.Containers.
func (e *Engine) Wait(ctx context.Context, c ports.ContainerID) (ports.Exit, error) {
	var k *container
	if err := e.call(ctx, "Wait", func() (err error) { k, err = e.get(c); return err }); err != nil {
		return ports.Exit{}, err
	}
	select {
	case <-k.done:
	case <-k.gone:
		return ports.Exit{}, fault.New(fault.NotFound, "container %s was removed", c)
	case <-ctx.Done():
		return ports.Exit{}, fault.Wrap(fault.EngineTimeout, ctx.Err(), "gave up to wait for container %s", c)
	}
	e.host.mu.Lock()
	defer e.host.mu.Unlock()
	x := k.exit
	x.Interrupted = k.killer != nil && k.killer != e
	return x, nil
}

// signal does something to a process that runs; to one that does not it is nil.
func (e *Engine) signal(ctx context.Context, name string, c ports.ContainerID, fn func(*container)) error {
	return e.call(ctx, name, func() error {
		k, err := e.get(c)
		if err == nil && (k.state == ports.StateRunning || k.state == ports.StatePaused) {
			fn(k)
		}
		return err
	})
}

// Stop implements ports.Containers.
func (e *Engine) Stop(ctx context.Context, c ports.ContainerID) error {
	return e.signal(ctx, "Stop", c, func(k *container) {
		if !k.termed {
			k.termed = true
			close(k.term)
		}
	})
}

// Kill implements ports.Containers.
func (e *Engine) Kill(ctx context.Context, c ports.ContainerID) error {
	return e.signal(ctx, "Kill", c, func(k *container) { k.kill(e) })
}

// Freeze implements ports.Containers. The state is all that changes.
func (e *Engine) Freeze(ctx context.Context, c ports.ContainerID) error {
	return e.signal(ctx, "Freeze", c, func(k *container) { k.state = ports.StatePaused })
}

// Thaw implements ports.Containers.
func (e *Engine) Thaw(ctx context.Context, c ports.ContainerID) error {
	return e.signal(ctx, "Thaw", c, func(k *container) { k.state = ports.StateRunning })
}

// Remove implements ports.Containers.
func (e *Engine) Remove(ctx context.Context, c ports.ContainerID, o ports.Ownership) error {
	return e.call(ctx, "Remove", func() error {
		k := e.host.containers[c]
		if k == nil {
			return nil
		}
		if k.spec.Admission() != o.Admission || k.spec.Installation() != o.Installation {
			return foreign(k.spec.Name())
		}
		k.kill(e)
		delete(e.host.containers, c)
		close(k.gone)
		return nil
	})
}
