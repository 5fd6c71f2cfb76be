package docker

import (
	"context"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// Find implements ports.Containers.
func (e *Engine) Find(ctx context.Context, a id.Admission) ([]ports.Container, error) {
	found, err := e.labelled(ctx, isolation.LabelAdmission, string(a))
	if err != nil {
		return nil, err
	}
	named, _, err := e.inspect(ctx, isolation.ContainerName(a))
	switch {
	case fault.CodeOf(err) == fault.NotFound:
	case err != nil:
		return nil, err
	case !slices.ContainsFunc(found, func(c ports.Container) bool { return string(c.ID) == named.ID }):
		found = append(found, report(named))
	}
	return found, nil
}

// FindOwned implements ports.Containers.
func (e *Engine) FindOwned(ctx context.Context, inst id.Installation) ([]ports.Container, error) {
	return e.labelled(ctx, isolation.LabelInstallation, string(inst))
}

// labelled returns every container with a label, running or not.
func (e *Engine) labelled(ctx context.Context, label, value string) ([]ports.Container, error) {
	list, err := call(ctx, e, "list containers", func(ctx context.Context, c *client.Client) ([]container.Summary, error) {
		return c.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", label+"="+value))})
	})
	if err != nil {
		return nil, err
	}
	var found []ports.Container
	for _, s := range list {
		if s.Labels[label] != value {
			continue
		}
		in, _, err := e.glance(ctx, ports.ContainerID(s.ID))
		switch {
		case fault.CodeOf(err) == fault.NotFound: // removed meanwhile
		case fault.CodeOf(err) == fault.EngineTimeout && ctx.Err() == nil:
			found = append(found, wedged(s))
		case err != nil:
			return nil, err
		default:
			found = append(found, report(in))
		}
	}
	return found, nil
}

// wedged is what is known of a container that the engine hangs on. It must not
// hide the others.
func wedged(s container.Summary) ports.Container {
	c := ports.Container{ID: ports.ContainerID(s.ID), Labels: labels(s.Labels), State: ports.StateOther, Error: "the engine does not answer for it"}
	if len(s.Names) > 0 {
		c.Name = strings.TrimPrefix(s.Names[0], "/")
	}
	return c
}
