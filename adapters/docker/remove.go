package docker

import (
	"context"
	"maps"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/internal/backoff"
	"cyberagent/ports"
)

// Remove implements ports.Containers. It looks at the labels first, and at the
// container again after each attempt: whatever the engine answers to a removal
// ("in progress", "device or resource busy", nothing at all), only an inspection
// that finds no container ends it well, and then only if no process of it lives on
// this host. It tries for EngineCall, with growing pauses, and then returns the last
// failure.
func (e *Engine) Remove(ctx context.Context, c ports.ContainerID, owner ports.Ownership) error {
	if c == "" {
		return fault.New(fault.NotFound, "no container has an empty id")
	}
	ctx, cancel := context.WithTimeout(ctx, limits.EngineCall)
	defer cancel()
	removed, rest := false, false
	for pause := backoff.New(); ; {
		in, _, err := e.inspect(ctx, string(c))
		switch {
		case fault.CodeOf(err) == fault.NotFound:
			if !rest {
				if err := endRemains(ctx, c); err != nil {
					return err
				}
			}
			e.forget(c)
			return nil
		case err == nil && !owned(in, owner):
			return foreign(string(c))
		case err == nil:
			rest = rest || atRest(in)
			err = e.remove(ctx, c)
			if done := err == nil || fault.CodeOf(err) == fault.NotFound; done && !removed {
				removed = true // look at once, but do not make a hot loop of it
				continue
			}
		}
		if !pause.Sleep(ctx) {
			if err == nil {
				err = fault.Wrap(fault.EngineTimeout, ctx.Err(), "container %s is still there", c)
			}
			return err
		}
	}
}

// owned says whether the name and the labels are the owner's and nobody else's:
// a container that was made of a copy of ours has our labels, too. The contract's
// version may be an older one, for what an earlier release left is still ours.
func owned(in container.InspectResponse, owner ports.Ownership) bool {
	all := in.Config.Labels
	want := isolation.Labels(owner.Admission, owner.Installation)
	want[isolation.LabelContract] = all[isolation.LabelContract]
	return strings.TrimPrefix(in.Name, "/") == isolation.ContainerName(owner.Admission) &&
		all[isolation.LabelContract] != "" && maps.Equal(labels(all), want)
}

// remove closes our attachments first: an engine whose client does not read
// hangs when it removes the container.
func (e *Engine) remove(ctx context.Context, c ports.ContainerID) error {
	e.killing(c, true)
	e.attached.each(c, func(a *attachment) { a.close(); a.abandon() })
	return do(ctx, e, "remove container "+string(c), func(ctx context.Context, cl *client.Client) error {
		return cl.ContainerRemove(ctx, string(c), container.RemoveOptions{Force: true, RemoveVolumes: true})
	})
}

func (e *Engine) forget(c ports.ContainerID) {
	e.mu.Lock()
	delete(e.killed, c)
	e.mu.Unlock()
	e.attached.forget(c)
}
