package containerd

import (
	"context"
	"io"
	"maps"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types/task"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/errdefs"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/internal/backoff"
	"cyberagent/ports"
)

// Remove implements ports.Containers. It looks at the labels first, and takes
// away, in this order, the task, the container, the snapshot, the lease and the
// directory, so that whatever stops it leaves the directory to find the rest by
// (pitfall B3). It ends well only when a look finds none of the five. It tries for
// EngineCall, with growing pauses, and then returns the last failure.
//
// What was asked of the engine is not taken back when ctx ends: a removal that is
// cut off in the middle leaves a shim behind.
func (e *Engine) Remove(ctx context.Context, c ports.ContainerID, owner ports.Ownership) error {
	name := isolation.ContainerName(owner.Admission)
	if string(c) != name {
		return e.notIts(ctx, c, owner)
	}
	ctx, cancel := context.WithTimeout(ctx, limits.EngineCall)
	defer cancel()
	dir := e.rundir(owner.Admission, owner.Installation)
	for pause := backoff.New(); ; {
		err := e.owned(ctx, name, owner)
		if fault.CodeOf(err) == fault.RecoveryRequired {
			return err
		}
		if err == nil {
			if err = e.detached(ctx, func(ctx context.Context) error { return e.remove(ctx, name, dir) }); err == nil {
				var gone bool
				if gone, err = e.gone(ctx, name, dir); gone {
					e.forget(c)
					return nil
				}
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

// notIts refuses a container that has another name than the owner's: it is not
// the admission's, or there is none.
func (e *Engine) notIts(ctx context.Context, c ports.ContainerID, owner ports.Ownership) error {
	if c == "" {
		return fault.New(fault.NotFound, "no container has an empty id")
	}
	if _, err := e.record(ctx, string(c)); fault.CodeOf(err) != fault.NotFound {
		if err != nil {
			return err
		}
		return foreign("container " + string(c))
	}
	return nil
}

// owned refuses when anything of that name has other labels than the owner's:
// a container that was made of a copy of ours has our labels, too, but not the
// name. The contract's version may be an older one, for what an earlier release
// left is still ours.
func (e *Engine) owned(ctx context.Context, name string, owner ports.Ownership) error {
	found := map[string]map[string]string{}
	record, err := e.record(ctx, name)
	switch fault.CodeOf(err) {
	case "":
		found["container "+name] = record.Labels
	case fault.NotFound:
	default:
		return err
	}
	snapshot, err := e.snapshotOf(ctx, name)
	if err != nil {
		return err
	}
	if snapshot != nil {
		found["snapshot "+name] = snapshot.Labels
	}
	lease, err := e.leaseOf(ctx, name)
	if err != nil {
		return err
	}
	if lease != nil {
		found["lease "+name] = lease.Labels
	}
	for what, labels := range found {
		want := isolation.Labels(owner.Admission, owner.Installation)
		want[isolation.LabelContract] = labels[isolation.LabelContract]
		if labels[isolation.LabelContract] == "" || !maps.Equal(ours(labels), want) {
			return foreign(what)
		}
	}
	return nil
}

// detached lets fn go on when ctx ends, but does not wait for it then. It gives it
// more than the 10 s for which the shim waits for unread output to be taken: a
// request that is cut off before that has not deleted the task, and so would every
// further one (pitfall B7).
func (e *Engine) detached(ctx context.Context, fn func(context.Context) error) error {
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limits.EngineCall)
		defer cancel()
		done <- fn(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(afterwards):
		return e.translate(ctx, "remove a container", ctx.Err())
	}
}

// remove goes through all five; what is not there is passed over.
func (e *Engine) remove(ctx context.Context, name string, dir rundir) error {
	if err := e.removeTask(ctx, name, dir); err != nil {
		return err
	}
	if err := absentIsFine(do(ctx, e, "remove container "+name, func(ctx context.Context) error {
		return e.client.ContainerService().Delete(ctx, name)
	})); err != nil {
		return err
	}
	if err := e.dropSnapshot(ctx, name); err != nil {
		return err
	}
	if err := absentIsFine(do(ctx, e, "end the lease "+name, func(ctx context.Context) error {
		return e.client.LeasesService().Delete(ctx, leases.Lease{ID: name})
	})); err != nil {
		return err
	}
	return dir.remove()
}

// removeTask kills, waits for the end, lets go of what nobody read, and deletes.
func (e *Engine) removeTask(ctx context.Context, name string, dir rundir) error {
	c := ports.ContainerID(name)
	for pause := backoff.New(); ; {
		t, err := e.taskOf(ctx, name)
		if err != nil {
			return err
		}
		if t == nil {
			e.detach(c)
			return e.removeShim(ctx, name)
		}
		if t.GetStatus() == task.Status_STOPPED || t.GetStatus() == task.Status_UNKNOWN {
			break
		}
		e.killing(c, true)
		if err := e.signal(ctx, c, 9); err == nil || errdefs.IsFailedPrecondition(err) {
			_ = e.resume(ctx, c)
		}
		if !pause.Sleep(ctx) {
			return fault.Wrap(fault.EngineTimeout, ctx.Err(), "container %s does not end", name)
		}
	}
	e.detach(c)
	stop := e.drain(dir)
	defer stop()
	return e.removeShim(ctx, name)
}

// removeShim deletes the task and sees its shim end. It asks also when no task is
// there to see: the engine shows none once the shim let go of it, but keeps the
// shim when the process that asked for the deletion died in the middle of it. A
// second request ends that shim, and only while the container has its record.
func (e *Engine) removeShim(ctx context.Context, name string) error {
	err := do(ctx, e, "remove the task of container "+name, func(ctx context.Context) error {
		_, err := e.client.TaskService().Delete(ctx, &tasks.DeleteTaskRequest{ContainerID: name})
		return err
	})
	if fault.CodeOf(err) == fault.NotFound {
		err = e.endShim(ctx, name)
	}
	if err != nil {
		return err
	}
	return e.removeOrphans(ctx, name)
}

// shimPatience is how long an engine gets to end a shim by itself.
const shimPatience = 3 * time.Second

// endShim waits for a shim that serves no task any more, and ends it when nothing
// else does. The engine forgets it when the process that asked for the task died
// while it was made, and takes it down; one in a hundred and sixty then hung for
// good (tried, 2.4.2). It holds nothing of ours and runs nothing, but it is a
// process that nobody would ever end.
func (e *Engine) endShim(ctx context.Context, name string) error {
	for pause := backoff.New(); ; {
		serving, working := shims(e.cfg.Namespace, name)
		if len(serving)+len(working) == 0 {
			return nil
		}
		if t, err := e.taskOf(ctx, name); err != nil || t != nil {
			// The request was carried out after all: the caller begins anew.
			return fault.Wrap(fault.EngineFailure, err, "the task of container %s appeared meanwhile", name)
		}
		if pause.Total > shimPatience {
			for _, pid := range serving {
				if err := killShim(pid, e.cfg.Namespace, name); err != nil {
					return fault.Wrap(fault.EngineFailure, err, "the shim of container %s, process %d, does not end", name, pid)
				}
			}
		}
		if !pause.Sleep(ctx) {
			return fault.Wrap(fault.EngineTimeout, ctx.Err(), "the shim of container %s does not end", name)
		}
	}
}

// removeOrphans ends processes that lost their shim, and takes their cgroup away.
func (e *Engine) removeOrphans(ctx context.Context, name string) error {
	for pause := backoff.New(); ; {
		pids, err := groupPIDs(name)
		if err == nil && len(pids) == 0 {
			err = dropGroup(name)
			if err == nil {
				return nil
			}
		} else if err == nil {
			err = killGroup(name)
		}
		if !pause.Sleep(ctx) {
			if err == nil {
				err = ctx.Err()
			}
			return fault.Wrap(fault.EngineFailure, err, "processes of container %s do not end", name)
		}
	}
}

// detach closes our attachments. Deleting a task waits for those who do not read.
func (e *Engine) detach(c ports.ContainerID) {
	for _, a := range e.attached.take(c) {
		a.close()
	}
}

// drain reads, until stopped, what an owner that is gone left unread: the shim
// does not let go of a task before it has passed everything on (pitfall B7).
func (e *Engine) drain(dir rundir) (stop func()) {
	var open []io.Closer
	for _, name := range []string{stdoutFIFO, stderrFIFO} {
		if f, err := readFIFO(dir.file(name)); err == nil {
			open = append(open, f)
			go func() { _, _ = io.Copy(io.Discard, f) }()
		}
	}
	return func() {
		for _, f := range open {
			_ = f.Close()
		}
	}
}

// gone proves absence, the task's last: a request to make it may have been under
// way while its container was removed.
func (e *Engine) gone(ctx context.Context, name string, dir rundir) (bool, error) {
	if _, err := e.record(ctx, name); fault.CodeOf(err) != fault.NotFound {
		return false, err
	}
	if s, err := e.snapshotOf(ctx, name); err != nil || s != nil {
		return false, err
	}
	if l, err := e.leaseOf(ctx, name); err != nil || l != nil {
		return false, err
	}
	if there, err := dir.exists(); err != nil || there {
		return false, err
	}
	if pids, err := groupPIDs(name); err != nil || len(pids) > 0 {
		return false, err
	}
	t, err := e.taskOf(ctx, name)
	return t == nil && err == nil, err
}

func (e *Engine) forget(c ports.ContainerID) {
	e.mu.Lock()
	delete(e.killed, c)
	delete(e.started, c)
	e.mu.Unlock()
	e.attached.forget(c)
}
