package containerd

import (
	"context"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types/task"
	"github.com/containerd/containerd/v2/core/containers"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

// view is one container as it is at one moment: its record, its task (nil when
// there is none) and whether a start was asked for.
type view struct {
	record  containers.Container
	run     run
	task    *task.Process
	asked   bool
	started time.Time
	// orphaned says that the task is lost and its processes live.
	orphaned bool
	oom      bool
}

// Inspect implements ports.Containers. What a dead process left without a
// container (a directory, a snapshot, a lease) is reported as one that was
// created, or that exited when its start was asked for.
func (e *Engine) Inspect(ctx context.Context, c ports.ContainerID) (ports.Container, error) {
	v, err := e.look(ctx, string(c))
	if err == nil {
		return v.report(), nil
	}
	if adm := admissionOf(string(c)); adm != "" && fault.CodeOf(err) == fault.NotFound {
		left, leftErr := e.withLeftovers(ctx, nil, "", adm)
		if leftErr != nil {
			return ports.Container{}, leftErr
		}
		if len(left) > 0 {
			return left[0], nil
		}
	}
	return ports.Container{}, err
}

// ReadBack implements ports.Containers.
func (e *Engine) ReadBack(ctx context.Context, c ports.ContainerID) (isolation.Properties, error) {
	record, err := e.record(ctx, string(c))
	if err != nil {
		return isolation.Properties{}, err
	}
	return e.properties(ctx, record)
}

func (e *Engine) record(ctx context.Context, c string) (containers.Container, error) {
	if c == "" {
		return containers.Container{}, fault.New(fault.NotFound, "no container has an empty id")
	}
	return call(ctx, e, "inspect container "+c, func(ctx context.Context) (containers.Container, error) {
		return e.client.ContainerService().Get(ctx, c)
	})
}

// taskOf is nil when there is none.
func (e *Engine) taskOf(ctx context.Context, c string) (*task.Process, error) {
	r, err := call(ctx, e, "inspect the task of container "+c, func(ctx context.Context) (*tasks.GetResponse, error) {
		return e.client.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: c})
	})
	if err != nil {
		return nil, absentIsFine(err)
	}
	return r.GetProcess(), nil
}

// look asks for everything about the container of that name.
func (e *Engine) look(ctx context.Context, c string) (view, error) {
	record, err := e.record(ctx, c)
	if err != nil {
		return view{}, err
	}
	return e.complete(ctx, record)
}

func (e *Engine) complete(ctx context.Context, record containers.Container) (view, error) {
	v := view{record: record}
	// Whether a start was asked for is read before the task: between the two a
	// task can only come into being, not be lost.
	r, err := runOf(record)
	if err == nil && within(e.cfg.Dir, r.Dir) {
		v.run = r
		v.started, v.asked = r.Dir.started()
	}
	if v.task, err = e.taskOf(ctx, record.ID); err != nil {
		return v, err
	}
	if v.task == nil && v.asked {
		pids, err := groupPIDs(record.ID)
		v.orphaned = err != nil || len(pids) > 0
	}
	if v.state() == ports.StateExited {
		v.oom = e.oomKilled(ctx, record.ID)
	}
	return v, nil
}

// state translates. A task that is there without a start that was asked for is
// one that the runtime prepared and that never ran.
func (v view) state() ports.ContainerState {
	if v.task == nil {
		switch {
		case v.orphaned:
			return ports.StateRunning
		case v.asked:
			return ports.StateExited // lost with its shim, or with the machine
		}
		return ports.StateCreated
	}
	switch v.task.GetStatus() {
	case task.Status_CREATED:
		return ports.StateCreated
	case task.Status_RUNNING:
		return ports.StateRunning
	case task.Status_PAUSED, task.Status_PAUSING:
		return ports.StatePaused
	case task.Status_STOPPED:
		if v.asked {
			return ports.StateExited
		}
		return ports.StateCreated
	default:
		return ports.StateOther // its shim does not answer
	}
}

func (v view) report() ports.Container {
	c := ports.Container{
		ID: ports.ContainerID(v.record.ID), Name: v.record.ID, Labels: ours(v.record.Labels), State: v.state(), OOMKilled: v.oom,
	}
	if c.State == ports.StateCreated {
		return c
	}
	c.StartedAt = v.started
	if c.StartedAt.IsZero() {
		c.StartedAt = v.record.CreatedAt.UTC() // asked for, but nobody knows when
	}
	switch {
	case v.orphaned:
		c.Error = "its shim is gone and its processes live"
	case v.task == nil:
		c.Error = "its task is lost"
	case c.State == ports.StateExited:
		c.ExitCode = int(v.task.GetExitStatus())
		c.FinishedAt = v.task.GetExitedAt().AsTime().UTC()
	default:
		c.PID = int(v.task.GetPid())
	}
	return c
}

// ours returns the view of a container that this product made in this home. Only
// such a one has FIFOs that may be opened and can be started.
func (e *Engine) ours(ctx context.Context, c ports.ContainerID) (view, error) {
	v, err := e.look(ctx, string(c))
	if err == nil && v.run.Dir == "" {
		err = foreign("container " + string(c))
	}
	return v, err
}

// glance is a look that a hung engine does not hold for long.
func (e *Engine) glance(ctx context.Context, c string) (view, error) {
	ctx, cancel := context.WithTimeout(ctx, limits.EngineProbeCall)
	defer cancel()
	return e.look(ctx, c)
}

// admissionOf is whose container has that name, empty for another name.
func admissionOf(name string) id.Admission {
	if len(name) <= len(isolation.NamePrefix) || name[:len(isolation.NamePrefix)] != isolation.NamePrefix {
		return ""
	}
	return id.Admission(name[len(isolation.NamePrefix):])
}
