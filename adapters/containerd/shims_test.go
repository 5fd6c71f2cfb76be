package containerd

import (
	"context"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	tasktypes "github.com/containerd/containerd/api/types/task"

	"cyberagent/domain/isolation"
	"cyberagent/internal/backoff"
	"cyberagent/ports"
)

// What a process that dies asked for is taken back by the engine at any moment of
// it. Whatever that leaves, the next removal takes away, the shim too.
func TestRemove_LeavesNoShimOfARequestThatWasCutOff(t *testing.T) {
	const moments = 16
	each(t, func(t *testing.T, l *lab) {
		cut := func(n int, whole time.Duration, request func(context.Context)) {
			ctx, cancel := context.WithTimeout(t.Context(), whole*time.Duration(n+1)/moments)
			defer cancel()
			request(ctx)
		}
		remove := func(j *job) {
			t.Helper()
			must(t, l.Remove(t.Context(), j.ID, ports.Ownership{Admission: j.Spec.Admission(), Installation: l.inst}))
			eventually(t, "the end of the shim", func() bool {
				serving, working := shims(l.cfg.Namespace, string(j.ID))
				return len(serving)+len(working) == 0
			})
			if pids, err := groupPIDs(string(j.ID)); err != nil || len(pids) > 0 {
				t.Errorf("processes %v are left, %v", pids, err)
			}
		}
		made := func() *job {
			j := newJob(t, l, "exit 0", isolation.StdinClosed)
			j.Make()
			// The shim waits for a reader of its output.
			out, err := l.Attach(t.Context(), j.ID)
			must(t, err)
			t.Cleanup(func() { _ = out.Close() })
			return j
		}
		prepare := func(ctx context.Context, j *job) {
			v, err := l.look(t.Context(), string(j.ID))
			must(t, err)
			_ = l.prepareTask(ctx, v)
		}
		killed := func(j *job) {
			t.Helper()
			prepare(t.Context(), j)
			must(t, l.signal(t.Context(), j.ID, syscall.SIGKILL))
			eventually(t, "the end of what was prepared", func() bool {
				task, err := l.taskOf(t.Context(), string(j.ID))
				return err == nil && task.GetStatus() == tasktypes.Status_STOPPED
			})
		}
		end := func(ctx context.Context, j *job) {
			l.detach(j.ID)
			defer l.drain(l.rundir(j.Spec.Admission(), l.inst))()
			_, _ = l.client.TaskService().Delete(ctx, &tasks.DeleteTaskRequest{ContainerID: string(j.ID)})
		}

		first := made()
		began := time.Now()
		prepare(t.Context(), first)
		prepared := time.Since(began)
		remove(first)
		first = made()
		killed(first)
		began = time.Now()
		end(t.Context(), first)
		ended := time.Since(began)
		t.Logf("a task is made in %s and removed in %s", prepared, ended)
		remove(first)
		for n := range moments {
			j := made()
			cut(n, prepared, func(ctx context.Context) { prepare(ctx, j) })
			remove(j)
			j = made()
			killed(j)
			cut(n, ended, func(ctx context.Context) { end(ctx, j) })
			remove(j)
		}
	})
}

// eventually looks until it is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for pause := backoff.New(); !so(); {
		if !pause.Sleep(ctx) {
			t.Fatalf("%s did not come", what)
		}
	}
}

// A shim that hangs is rare and cannot be made: a program with its arguments
// stands in for it.
func TestRemove_EndsAShimThatHangsAndNobodyElse(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		stand := func(uid uint32, args ...string) *exec.Cmd {
			c := exec.Command("/bin/sh", append([]string{"-c", "read line", "containerd-shim"}, args...)...)
			_, err := c.StdinPipe()
			must(t, err)
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
			must(t, c.Start())
			return c
		}
		j := newJob(t, l, "exit 0", isolation.StdinClosed)
		j.Make()
		its := []string{"-namespace", l.cfg.Namespace, "-id", string(j.ID), "-address", "x"}
		hung := stand(0, its...)
		others := map[string]*exec.Cmd{
			"another user's":        stand(65534, its...),
			"another container's":   stand(0, "-namespace", l.cfg.Namespace, "-id", string(j.ID)+"X"),
			"another namespace's":   stand(0, "-namespace", "moby", "-id", string(j.ID)),
			"one that only says so": stand(0, "-id", string(j.ID), l.cfg.Namespace, "-namespace"),
		}
		must(t, l.Remove(t.Context(), j.ID, ports.Ownership{Admission: j.Spec.Admission(), Installation: l.inst}))
		if err := hung.Wait(); hung.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Errorf("the shim that hangs: %v", err)
		}
		for whose, c := range others {
			if err := c.Process.Signal(syscall.Signal(0)); err != nil || shimArguments(c.Process.Pid) == nil && whose != "another user's" {
				t.Errorf("%s was ended: %v", whose, err)
			}
			must(t, c.Process.Kill())
			_ = c.Wait()
		}
	})
}
