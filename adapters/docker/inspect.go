package docker

import (
	"context"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// Inspect implements ports.Containers.
func (e *Engine) Inspect(ctx context.Context, c ports.ContainerID) (ports.Container, error) {
	in, _, err := e.inspect(ctx, string(c))
	if err != nil {
		return ports.Container{}, err
	}
	return report(in), nil
}

// ReadBack implements ports.Containers.
func (e *Engine) ReadBack(ctx context.Context, c ports.ContainerID) (isolation.Properties, error) {
	in, raw, err := e.inspect(ctx, string(c))
	if err != nil {
		return isolation.Properties{}, err
	}
	return properties(in, raw, e.hosts()), nil
}

// inspect asks for the container of that exact id or name. The engine would also
// take the beginning of an id.
func (e *Engine) inspect(ctx context.Context, idOrName string) (container.InspectResponse, []byte, error) {
	if idOrName == "" {
		return container.InspectResponse{}, nil, fault.New(fault.NotFound, "no container has an empty id")
	}
	type answer struct {
		in  container.InspectResponse
		raw []byte
	}
	a, err := call(ctx, e, "inspect container "+idOrName, func(ctx context.Context, c *client.Client) (a answer, err error) {
		a.in, a.raw, err = c.ContainerInspectWithRaw(ctx, idOrName, false)
		return a, err
	})
	if err != nil {
		return container.InspectResponse{}, nil, err
	}
	if a.in.ContainerJSONBase == nil || a.in.Config == nil || a.in.State == nil {
		return container.InspectResponse{}, nil, fault.New(fault.EngineFailure, "the engine's report of container %s is incomplete", idOrName)
	}
	if a.in.ID != idOrName && strings.TrimPrefix(a.in.Name, "/") != idOrName {
		return container.InspectResponse{}, nil, fault.New(fault.NotFound, "no container has the id or name %s", idOrName)
	}
	return a.in, a.raw, nil
}

// report is a container in the port's words.
func report(in container.InspectResponse) ports.Container {
	s := in.State
	started, finished := instant(s.StartedAt), instant(s.FinishedAt)
	if !finished.IsZero() && finished.Before(started) {
		finished = started // the engine noted the start of a short process after its end
	}
	return ports.Container{
		ID:        ports.ContainerID(in.ID),
		Name:      strings.TrimPrefix(in.Name, "/"),
		Labels:    labels(in.Config.Labels),
		State:     state(s),
		StartedAt: started, FinishedAt: finished,
		ExitCode: s.ExitCode, OOMKilled: s.OOMKilled, Error: s.Error, PID: s.Pid,
	}
}

// state translates the engine's word. A container whose start failed stays
// created, also when an engine that was restarted calls it exited.
func state(s *container.State) ports.ContainerState {
	started := !instant(s.StartedAt).IsZero()
	switch s.Status {
	case container.StateCreated:
		return ports.StateCreated
	case container.StateRunning:
		return ports.StateRunning
	case container.StatePaused:
		return ports.StatePaused
	case container.StateExited:
		if !started {
			return ports.StateCreated
		}
		return ports.StateExited
	}
	return ports.StateOther
}

// instant is zero for the engine's "never", which is the year 1, and for
// anything that is not a time.
func instant(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Year() <= 1 {
		return time.Time{}
	}
	return t.UTC()
}

// ended says whether the container's process ran and is gone.
func ended(in container.InspectResponse) bool {
	s := in.State
	return !instant(s.StartedAt).IsZero() && !s.Running && !s.Paused && !s.Restarting
}

// neverStarted says whether the engine knows of no process, now or before.
func neverStarted(in container.InspectResponse) bool {
	s := in.State
	return instant(s.StartedAt).IsZero() && !s.Running && !s.Paused && !s.Restarting && s.Pid == 0
}
