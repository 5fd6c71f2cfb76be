package docker

import (
	"context"
	"time"

	"github.com/docker/docker/api/types/container"

	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
	"cyberagent/internal/backoff"
	"cyberagent/ports"
)

const (
	// slowPoll finds an exit that no wait told of.
	slowPoll = 2 * time.Second
	// killedCode is 128 and SIGKILL.
	killedCode = 137
)

// Wait implements ports.Containers. It lasts until the process ended, the
// container is gone (not_found), or ctx ended (engine_timeout); an engine that
// goes away is waited for.
//
// What the engine's wait answers only wakes it up. The truth is an inspection
// that says both that the process started and that it is over.
//
// Interrupted is set when KILL ended the process and neither this Engine nor the
// kernel's OOM killer sent it, and when the process ended while the engine was
// away: then the engine reports a code that nobody saw (0 after a reboot).
func (e *Engine) Wait(ctx context.Context, c ports.ContainerID) (ports.Exit, error) {
	away := false
	for pause := backoff.New(); ; {
		in, _, err := e.glance(ctx, c)
		switch {
		case fault.CodeOf(err) == fault.NotFound:
			return ports.Exit{}, err
		case err == nil && ended(in):
			return e.exit(c, in, away), nil
		case ctx.Err() != nil:
			return ports.Exit{}, translate(ctx, "wait for container "+string(c), ctx.Err())
		case err == nil:
			away = false
			begin := time.Now()
			if err = e.await(ctx, c, in); time.Since(begin) > slowPoll {
				pause = backoff.New()
			}
		}
		away = away || fault.CodeOf(err) == fault.DaemonUnreachable
		pause.Sleep(ctx)
	}
}

// glance is an inspection that a hung engine does not hold for long.
func (e *Engine) glance(ctx context.Context, c ports.ContainerID) (container.InspectResponse, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limits.EngineProbeCall)
	defer cancel()
	return e.inspect(ctx, string(c))
}

// await returns nil when it is worth looking again, and an error when the engine
// broke the wait off.
func (e *Engine) await(ctx context.Context, c ports.ContainerID, in container.InspectResponse) error {
	ctx, cancel := context.WithCancel(ctx)
	cl, err := e.api(ctx)
	if err != nil {
		cancel()
		return err
	}
	// A container that was only created counts as not running, so such a wait
	// would be over at once.
	condition := container.WaitConditionNotRunning
	if neverStarted(in) {
		condition = container.WaitConditionNextExit
	}
	unregistered := time.AfterFunc(limits.EngineCall, cancel)
	answer, failure := cl.ContainerWait(ctx, string(c), condition)
	unregistered.Stop()
	received := false
	defer func() {
		cancel()
		if received {
			return
		}
		// The library's goroutine lives until it has handed over one of the two.
		go func() {
			select {
			case <-answer:
			case <-failure: //nolint:errcheck // nobody is left to be told
			}
		}()
	}()
	poll := time.NewTicker(slowPoll)
	defer poll.Stop()
	for {
		// First without waiting: an exit before the wait was registered is not
		// told of.
		if in, _, err := e.glance(ctx, c); fault.CodeOf(err) == fault.NotFound || err == nil && ended(in) {
			return nil
		}
		select {
		case <-answer:
			received = true
			return nil
		case err := <-failure:
			received = true
			return translate(ctx, "wait for container "+string(c), err)
		case <-poll.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (e *Engine) exit(c ports.ContainerID, in container.InspectResponse, away bool) ports.Exit {
	s := in.State
	e.mu.Lock()
	ours := e.killed[c]
	e.mu.Unlock()
	lost := away || s.ExitCode == killedCode || instant(s.FinishedAt).IsZero()
	return ports.Exit{Code: s.ExitCode, OOMKilled: s.OOMKilled, Interrupted: lost && !ours && !s.OOMKilled}
}
