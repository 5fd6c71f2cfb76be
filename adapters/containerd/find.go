package containerd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/core/snapshots"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

// Find implements ports.Containers. It also finds what is left of a container
// that is gone or was never made: Remove takes that away.
func (e *Engine) Find(ctx context.Context, a id.Admission) ([]ports.Container, error) {
	found, err := e.listed(ctx, labelFilter(isolation.LabelAdmission, string(a)), "id=="+isolation.ContainerName(a))
	if err != nil {
		return nil, err
	}
	return e.withLeftovers(ctx, found, "", a)
}

// FindOwned implements ports.Containers.
func (e *Engine) FindOwned(ctx context.Context, inst id.Installation) ([]ports.Container, error) {
	found, err := e.listed(ctx, labelFilter(isolation.LabelInstallation, string(inst)))
	if err != nil {
		return nil, err
	}
	return e.withLeftovers(ctx, found, inst, "")
}

func labelFilter(label, value string) string { return fmt.Sprintf("labels.%q==%q", label, value) }

// listed returns every container that one of the filters admits. One on which
// the engine hangs must not hide the others.
func (e *Engine) listed(ctx context.Context, filters ...string) ([]ports.Container, error) {
	list, err := call(ctx, e, "list containers", func(ctx context.Context) ([]containers.Container, error) {
		return e.client.ContainerService().List(ctx, filters...)
	})
	if err != nil {
		return nil, err
	}
	var found []ports.Container
	for _, r := range list {
		one, cancel := context.WithTimeout(ctx, limits.EngineProbeCall)
		v, err := e.complete(one, r)
		cancel()
		switch {
		case err == nil:
			found = append(found, v.report())
		case ctx.Err() != nil, fault.CodeOf(err) == fault.DaemonUnreachable:
			return nil, err
		default: // its shim hangs or is broken
			found = append(found, ports.Container{
				ID: ports.ContainerID(r.ID), Name: r.ID, Labels: ours(r.Labels), State: ports.StateOther, Error: err.Error(),
			})
		}
	}
	return found, nil
}

// withLeftovers adds to what was found the directories, snapshots and leases of
// admissions that have no container: of one installation, or of one admission
// (the other is empty).
func (e *Engine) withLeftovers(ctx context.Context, found []ports.Container, inst id.Installation, a id.Admission) ([]ports.Container, error) {
	labels := map[string]map[string]string{} // by the container's name
	note := func(name string, l map[string]string) {
		// Whoever looks decides by the labels, so a stranger's must show.
		if l = ours(l); labels[name] == nil || !maps.Equal(labels[name], l) && maps.Equal(labels[name], wanted(name, labels[name])) {
			labels[name] = l
		}
	}
	byLabel := labelFilter(isolation.LabelInstallation, string(inst))
	if a != "" {
		byLabel = labelFilter(isolation.LabelAdmission, string(a))
	}
	for _, d := range e.rundirs(string(inst), string(a)) {
		adm, _ := d.owner()
		note(isolation.ContainerName(adm), d.labels())
	}
	held, err := e.leases(ctx, byLabel)
	if err != nil {
		return nil, err
	}
	for _, l := range held {
		note(l.ID, l.Labels)
	}
	err = do(ctx, e, "list snapshots", func(ctx context.Context) error {
		return e.snapshots().Walk(ctx, func(_ context.Context, i snapshots.Info) error {
			note(i.Name, i.Labels)
			return nil
		}, byLabel)
	})
	if err != nil {
		return nil, err
	}
	for _, c := range found {
		delete(labels, c.Name) // it has its container, which is what counts
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		// One that was made since, or that carries another's labels, was not found.
		_, err := e.record(ctx, name)
		switch fault.CodeOf(err) {
		case fault.NotFound:
			found = append(found, e.leftover(name, labels[name]))
		case "":
		default:
			return nil, err
		}
	}
	return found, nil
}

// wanted are the labels that the name's admission would have under the
// installation of l.
func wanted(name string, l map[string]string) map[string]string {
	return isolation.Labels(admissionOf(name), id.Installation(l[isolation.LabelInstallation]))
}

// leftover is what remains of a container in the port's words.
func (e *Engine) leftover(name string, labels map[string]string) ports.Container {
	c := ports.Container{
		ID: ports.ContainerID(name), Name: name, Labels: labels, State: ports.StateCreated, Error: "only its leftovers are there",
	}
	for _, d := range e.rundirs(labels[isolation.LabelInstallation], strings.TrimPrefix(name, isolation.NamePrefix)) {
		if at, asked := d.started(); asked {
			c.State, c.StartedAt = ports.StateExited, at
		}
	}
	return c
}
