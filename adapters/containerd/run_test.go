package containerd

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/typeurl/v2"

	"cyberagent/adapters/conformance/enginetest"
	"cyberagent/adapters/containerd/containerdtest"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

func TestCreate_ReadsBackWhatWasAsked(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		for _, stdin := range []isolation.Stdin{isolation.StdinClosed, isolation.StdinPipe} {
			j := newJob(t, l, "exit 0", stdin)
			j.Make()
			if diffs := isolation.Compare(j.Spec, j.Props); len(diffs) > 0 {
				t.Errorf("%s: %+v", stdin, diffs)
			}
			again, props, err := l.Create(t.Context(), j.Spec)
			if err != nil || again != j.ID || len(isolation.Compare(j.Spec, props)) > 0 {
				t.Errorf("a second Create: %s %v", again, err)
			}
			c, err := l.Inspect(t.Context(), j.ID)
			must(t, err)
			if c.State != ports.StateCreated || !c.StartedAt.IsZero() || c.PID != 0 {
				t.Errorf("%+v", c)
			}
		}
	})
}

func TestCreate_RefusesWhatItCannotUse(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		owner := func() ports.Ownership {
			return ports.Ownership{Admission: id.Admission(enginetest.NewID(id.KindAdmission)), Installation: l.inst}
		}
		if _, _, err := l.Create(t.Context(), enginetest.NewSpec(t, owner(), goldenImage, "", isolation.StdinClosed)); fault.CodeOf(err) != fault.ImageUnavailable {
			t.Errorf("%v", err)
		}
		image, tag, err := l.load(t.Context(), func(c map[string]any) { c["Volumes"] = map[string]any{"/v": struct{}{}} })
		must(t, err)
		defer func() { must(t, l.Untag(context.WithoutCancel(t.Context()), tag)) }()
		if _, _, err := l.Create(t.Context(), enginetest.NewSpec(t, owner(), image, "", isolation.StdinClosed)); fault.CodeOf(err) != fault.ImageUnsafe {
			t.Errorf("%v", err)
		}
		if left, err := l.FindOwned(t.Context(), l.inst); err != nil || len(left) > 0 {
			t.Errorf("%+v %v", left, err)
		}
	})
}

func TestRun_DeliversOutputAndExit(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		j := newJob(t, l, "out 3000000 100", isolation.StdinClosed)
		stdout, stderr, exit := j.Run()
		if len(stdout) != 3000000 || len(stderr) != 100 || exit != (ports.Exit{}) {
			t.Errorf("%d %d %+v", len(stdout), len(stderr), exit)
		}
		j = newJob(t, l, "exit 7", isolation.StdinClosed)
		if _, _, exit := j.Run(); exit != (ports.Exit{Code: 7}) {
			t.Errorf("%+v", exit)
		}
		c, err := l.Inspect(t.Context(), j.ID)
		must(t, err)
		if c.State != ports.StateExited || c.ExitCode != 7 || c.StartedAt.IsZero() || c.FinishedAt.Before(c.StartedAt) || c.PID != 0 {
			t.Errorf("%+v", c)
		}
	})
}

func TestRun_LooksAsTheContractWants(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		stdout, _, _ := newJob(t, l, "look", isolation.StdinClosed).Run()
		for _, line := range []string{
			"hostname standard-code", "wd /workspace", "id 65532 65532 []", "hosts 127.0.0.1\tlocalhost", "status CapBnd:\t0000000000000000",
			"status NoNewPrivs:\t1", "status Seccomp:\t2", "statfs /standard-code/cache 134217728 16384 <nil>", "statfs /dev/shm 67108864 4096 <nil>",
			"write /probe false", "write /workspace/probe true", "write /dev/probe false", "write /sys/fs/cgroup/probe false",
			"mask " + strings.TrimSpace(isolation.MaskContent),
		} {
			if !strings.Contains(stdout, line+"\n") {
				t.Errorf("no line %q", line)
			}
		}
		if strings.Contains(stdout, "env PATH") {
			t.Error("a variable of somebody's")
		}
	})
}

func TestStart_IsOnce(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		j := newJob(t, l, "exit 0", isolation.StdinClosed)
		j.Run()
		if err := l.Start(t.Context(), j.ID); fault.CodeOf(err) != fault.RecoveryRequired {
			t.Errorf("after the end: %v", err)
		}
		if _, err := l.Attach(t.Context(), j.ID); fault.CodeOf(err) != fault.RecoveryRequired {
			t.Errorf("attach after the end: %v", err)
		}
		if _, _, err := l.Create(t.Context(), j.Spec); fault.CodeOf(err) != fault.RecoveryRequired {
			t.Errorf("create after the end: %v", err)
		}
		if err := l.Start(t.Context(), "standard-code-none"); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("nothing: %v", err)
		}
	})
}

// The runtime cannot make a process without the projection's source: nothing ran,
// and the container says so.
func TestStart_FailsForSure(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		j := newJob(t, l, "exit 0", isolation.StdinClosed)
		j.Make()
		must(t, os.Remove(j.Spec.Properties().Mounts[1].Source))
		wait := j.outputsOrLoss()
		if err := l.Start(t.Context(), j.ID); fault.CodeOf(err) != fault.StartFailed {
			t.Errorf("%v", err)
		}
		if c, err := l.Inspect(t.Context(), j.ID); err != nil || c.State != ports.StateCreated {
			t.Errorf("%+v %v", c, err)
		}
		must(t, l.Remove(t.Context(), j.ID, j.Owner))
		wait()
	})
}

// outputsOrLoss attaches and reads until the streams end, in whatever way.
func (j *job) outputsOrLoss() func() {
	out, err := j.Attach(j.T.Context(), j.ID)
	must(j.T, err)
	done := make(chan struct{}, 2)
	for _, r := range []io.Reader{out.Stdout, out.Stderr} {
		go func() { discard(r); done <- struct{}{} }()
	}
	return func() {
		for range 2 {
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				j.T.Error("a stream did not end")
			}
		}
	}
}

func TestStdin_EndsAfterEverythingWritten(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		j := newJob(t, l, "stdin", isolation.StdinPipe)
		j.Make()
		outputs, exits := j.Outputs(), j.Exits()
		must(t, l.Start(t.Context(), j.ID))
		in, err := l.AttachStdin(t.Context(), j.ID)
		must(t, err)
		text := strings.Repeat("0123456789", 50_000)
		_, err = io.WriteString(in, text)
		must(t, err)
		must(t, in.Close())
		must(t, in.Close())
		stdout, stderr := outputs()
		if stdout != text || stderr != "500000 <nil>" || exits().Code != 0 {
			t.Errorf("%d bytes, %q", len(stdout), stderr)
		}
		if _, err := l.AttachStdin(t.Context(), j.ID); err == nil {
			t.Error("attached again after the end")
		}
	})
}

func TestStdin_OfACommandThatNeverReads(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		j := newJob(t, l, "noread 60000", isolation.StdinPipe)
		j.Make()
		outputs, exits := j.Outputs(), j.Exits()
		must(t, l.Start(t.Context(), j.ID))
		in, err := l.AttachStdin(t.Context(), j.ID)
		must(t, err)
		if _, err := l.AttachStdin(t.Context(), j.ID); fault.CodeOf(err) != fault.RecoveryRequired {
			t.Errorf("a second attachment: %v", err)
		}
		written := make(chan error, 1)
		go func() {
			for {
				if _, err := in.Write(make([]byte, 32<<10)); err != nil {
					written <- err
					return
				}
			}
		}()
		must(t, l.Kill(t.Context(), j.ID))
		outputs()
		exits()
		select {
		case err := <-written:
			if !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("%v", err)
			}
		case <-time.After(time.Minute):
			t.Error("Write hangs after the end")
		}
		must(t, in.Close())
	})
}

func TestSignals(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		j := newJob(t, l, "sleep 60000", isolation.StdinClosed)
		j.Make()
		for name, fn := range map[string]func(context.Context, ports.ContainerID) error{
			"Stop": l.Stop, "Kill": l.Kill, "Freeze": l.Freeze, "Thaw": l.Thaw,
		} {
			must(t, fn(t.Context(), j.ID)) // never ran: nothing to do
			if err := fn(t.Context(), "standard-code-none"); fault.CodeOf(err) != fault.NotFound {
				t.Errorf("%s of nothing: %v", name, err)
			}
		}
		_, exits := j.outputsOrLoss(), j.Exits()
		must(t, l.Start(t.Context(), j.ID))
		must(t, l.Freeze(t.Context(), j.ID))
		must(t, l.Freeze(t.Context(), j.ID))
		if c, err := l.Inspect(t.Context(), j.ID); err != nil || c.State != ports.StatePaused || c.PID == 0 {
			t.Errorf("%+v %v", c, err)
		}
		must(t, l.Thaw(t.Context(), j.ID))
		must(t, l.Thaw(t.Context(), j.ID))
		must(t, l.Freeze(t.Context(), j.ID))
		must(t, l.Kill(t.Context(), j.ID)) // a frozen one dies, too
		if exit := exits(); exit.Code != killedCode || exit.Interrupted {
			t.Errorf("%+v", exit)
		}
		must(t, l.Kill(t.Context(), j.ID))
		must(t, l.Stop(t.Context(), j.ID))
	})
}

func TestStop_IsTERM(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		j := newJob(t, l, "sleep 60000", isolation.StdinClosed)
		j.Make()
		out, err := l.Attach(t.Context(), j.ID)
		must(t, err)
		exits := j.Exits()
		must(t, l.Start(t.Context(), j.ID))
		_, err = io.ReadFull(out.Stdout, make([]byte, len("ready\n")))
		must(t, err)
		go discard(out.Stdout)
		go discard(out.Stderr)
		must(t, l.Stop(t.Context(), j.ID))
		if exit := exits(); exit.Code != 15 {
			t.Errorf("%+v", exit)
		}
		must(t, out.Close())
	})
}

func TestWait_KnowsWhoKilled(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		j := newJob(t, l, "sleep 60000", isolation.StdinClosed)
		j.Make()
		exits := j.Exits()
		j.outputsOrLoss()
		must(t, l.Start(t.Context(), j.ID))
		c, err := l.Inspect(t.Context(), j.ID)
		must(t, err)
		p, err := os.FindProcess(c.PID)
		must(t, err)
		must(t, p.Kill()) // not through this Engine
		if exit := exits(); !exit.Interrupted || exit.OOMKilled {
			t.Errorf("%+v", exit)
		}
		j = newJob(t, l, "eat", isolation.StdinClosed)
		if _, _, exit := j.Run(); !exit.OOMKilled || exit.Interrupted {
			t.Errorf("out of memory: %+v", exit)
		}
	})
}

func TestOutput_OfAContainerThatNobodyReads(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		j := newJob(t, l, "spam", isolation.StdinClosed)
		j.Make()
		out, err := l.Attach(t.Context(), j.ID)
		must(t, err)
		must(t, l.Start(t.Context(), j.ID))
		enginetest.Soon(t, "Kill", func() { must(t, l.Kill(t.Context(), j.ID)) })
		enginetest.Soon(t, "Remove", func() { must(t, l.Remove(t.Context(), j.ID, j.Owner)) })
		must(t, out.Close())
		if _, err := out.Stdout.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("a closed attachment reads %v", err)
		}
	})
}

// Its FIFOs were removed by hand, so nobody can take what was not read; the shim
// gives up on it after some time.
func TestRemove_OfAContainerWithoutItsDirectory(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		j := newJob(t, l, "spam", isolation.StdinClosed)
		j.Make()
		out, err := l.Attach(t.Context(), j.ID)
		must(t, err)
		must(t, l.Start(t.Context(), j.ID))
		_, err = io.ReadFull(out.Stdout, make([]byte, 1000))
		must(t, err)
		must(t, out.Close())
		must(t, os.RemoveAll(string(l.rundir(j.Owner.Admission, l.inst))))
		must(t, l.Remove(t.Context(), j.ID, j.Owner))
		if _, err := l.Inspect(t.Context(), j.ID); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("%v", err)
		}
	})
}

func TestRemove_LeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		for _, do := range []string{"exit 0", "sleep 60000"} {
			j := newJob(t, l, do, isolation.StdinPipe)
			j.Make()
			j.outputsOrLoss()
			must(t, l.Start(t.Context(), j.ID))
			must(t, l.Remove(t.Context(), j.ID, j.Owner))
			must(t, l.Remove(t.Context(), j.ID, j.Owner))
			if gone, err := l.gone(t.Context(), string(j.ID), l.rundir(j.Owner.Admission, l.inst)); !gone || err != nil {
				t.Errorf("%s: something is left: %v", do, err)
			}
			if _, err := l.Inspect(t.Context(), j.ID); fault.CodeOf(err) != fault.NotFound {
				t.Errorf("%v", err)
			}
			if _, err := l.Wait(t.Context(), j.ID); fault.CodeOf(err) != fault.NotFound {
				t.Errorf("%v", err)
			}
		}
	})
}

func TestRemove_TouchesNothingOfOthers(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		j := newJob(t, l, "exit 0", isolation.StdinClosed)
		j.Make()
		other := j.Owner
		other.Installation = id.Installation(enginetest.NewID(id.KindInstallation))
		if err := l.Remove(t.Context(), j.ID, other); fault.CodeOf(err) != fault.RecoveryRequired {
			t.Errorf("another's: %v", err)
		}
		other = ports.Ownership{Admission: id.Admission(enginetest.NewID(id.KindAdmission)), Installation: l.inst}
		if err := l.Remove(t.Context(), j.ID, other); fault.CodeOf(err) != fault.RecoveryRequired {
			t.Errorf("another admission's: %v", err)
		}
		if _, err := l.Inspect(t.Context(), j.ID); err != nil {
			t.Error(err)
		}
	})
}

func TestCreate_LeavesAStrangerAlone(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		for name, labels := range map[string]map[string]string{
			"no labels":        {},
			"one label more":   {"x": "y"},
			"another ledger's": {isolation.LabelInstallation: enginetest.NewID(id.KindInstallation)},
		} {
			j := newJob(t, l, "exit 0", isolation.StdinClosed)
			all := j.Spec.Labels()
			if len(labels) == 0 {
				all = labels
			}
			for k, v := range labels {
				all[k] = v
			}
			spec, err := typeurl.MarshalAny(&containers.Container{})
			if err != nil {
				spec, _ = run{}.any()
			}
			_, err = l.client.ContainerService().Create(t.Context(), containers.Container{
				ID: j.Spec.Name(), Labels: all, Spec: spec, Runtime: containers.RuntimeInfo{Name: DefaultRuntime},
			})
			must(t, err)
			if _, _, err := l.Create(t.Context(), j.Spec); fault.CodeOf(err) != fault.RecoveryRequired {
				t.Errorf("%s: create: %v", name, err)
			}
			if err := l.Remove(t.Context(), ports.ContainerID(j.Spec.Name()), j.Owner); fault.CodeOf(err) != fault.RecoveryRequired {
				t.Errorf("%s: remove: %v", name, err)
			}
			found, err := l.Find(t.Context(), j.Owner.Admission)
			if err != nil || len(found) != 1 || found[0].Name != j.Spec.Name() {
				t.Errorf("%s: %+v %v", name, found, err)
			}
			must(t, l.client.ContainerService().Delete(t.Context(), j.Spec.Name()))
			must(t, l.rundir(j.Owner.Admission, l.inst).remove())
		}
	})
}

// Whatever step of Create or Remove a process died after, what is left is found
// by the admission and by the installation, and Remove takes it away.
func TestFind_LeftoversOfEveryStep(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		for name, cut := range map[string]func(j *job){
			"only the directory": func(j *job) {
				must(t, l.rundir(j.Owner.Admission, l.inst).prepare(isolation.StdinPipe))
			},
			"directory and lease": func(j *job) {
				must(t, l.rundir(j.Owner.Admission, l.inst).prepare(isolation.StdinPipe))
				_, err := l.lease(t.Context(), j.Spec)
				must(t, err)
			},
			"everything but the container": func(j *job) {
				j.Make()
				must(t, l.client.ContainerService().Delete(t.Context(), string(j.ID)))
			},
			"a snapshot": func(j *job) {
				j.Make()
				// Without it the engine's own clean-up may be faster than the test.
				const root = "containerd.io/gc.root"
				_, err := l.snapshots().Update(t.Context(), snapshots.Info{
					Name: string(j.ID), Labels: map[string]string{root: "held by the test"},
				}, "labels."+root)
				must(t, err)
				must(t, l.client.ContainerService().Delete(t.Context(), string(j.ID)))
				must(t, l.client.LeasesService().Delete(t.Context(), leases.Lease{ID: string(j.ID)}))
				must(t, l.rundir(j.Owner.Admission, l.inst).remove())
			},
			"a lease": func(j *job) {
				j.Make()
				must(t, l.client.ContainerService().Delete(t.Context(), string(j.ID)))
				must(t, l.dropSnapshot(t.Context(), string(j.ID)))
				must(t, l.rundir(j.Owner.Admission, l.inst).remove())
			},
		} {
			j := newJob(t, l, "exit 0", isolation.StdinPipe)
			cut(j)
			byAdmission, err := l.Find(t.Context(), j.Owner.Admission)
			must(t, err)
			byInstallation, err := l.FindOwned(t.Context(), l.inst)
			must(t, err)
			if len(byAdmission) != 1 || len(byInstallation) != 1 || byAdmission[0].State != ports.StateCreated || byAdmission[0].Name != j.Spec.Name() {
				t.Fatalf("%s: %+v, %+v", name, byAdmission, byInstallation)
			}
			for k, v := range j.Spec.Labels() {
				if byAdmission[0].Labels[k] != v {
					t.Errorf("%s: labels %v", name, byAdmission[0].Labels)
				}
			}
			must(t, l.Remove(t.Context(), byAdmission[0].ID, j.Owner))
			if left, err := l.Find(t.Context(), j.Owner.Admission); err != nil || len(left) > 0 {
				t.Errorf("%s: after Remove: %+v %v", name, left, err)
			}
			// And Create begins anew after each.
			cut(j)
			j.Make()
			if diffs := isolation.Compare(j.Spec, j.Props); len(diffs) > 0 {
				t.Errorf("%s: %+v", name, diffs)
			}
			must(t, l.Remove(t.Context(), j.ID, j.Owner))
		}
	})
}

// A task that is lost, with the engine or with the machine, ran: the mark says so.
func TestInspect_ALostTaskHasRun(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		j := newJob(t, l, "exit 0", isolation.StdinClosed)
		j.Run()
		must(t, l.removeTask(t.Context(), string(j.ID), l.rundir(j.Owner.Admission, l.inst)))
		c, err := l.Inspect(t.Context(), j.ID)
		must(t, err)
		if c.State != ports.StateExited || c.StartedAt.IsZero() || c.Error == "" {
			t.Errorf("%+v", c)
		}
		if exit, err := l.Wait(t.Context(), j.ID); err != nil || !exit.Interrupted {
			t.Errorf("%+v %v", exit, err)
		}
		if err := l.Start(t.Context(), j.ID); fault.CodeOf(err) != fault.RecoveryRequired {
			t.Errorf("%v", err)
		}
	})
}

func TestSnapshot_OfTheContainerIsNotTheEnginesToCollect(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		j := newJob(t, l, "exit 0", isolation.StdinClosed)
		j.Make()
		must(t, l.client.LeasesService().Delete(t.Context(), leases.Lease{ID: string(j.ID)}, leases.SynchronousDelete))
		i, err := l.snapshotOf(t.Context(), string(j.ID))
		if err != nil || i == nil || i.Kind != snapshots.KindActive {
			t.Errorf("%+v %v", i, err)
		}
	})
}

// One recovery in three hundred that stopped a command at its very end failed.
func TestSignals_OfAProcessThatTheEngineIsStillToSeeEnd(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		j := newJob(t, l, "sleep 60000", isolation.StdinClosed)
		j.Make()
		out := j.Outputs()
		must(t, l.Start(t.Context(), j.ID))
		p, err := containerdtest.NewProxy(l.cfg.Address, containerdtest.Tamper{Ended: true})
		must(t, err)
		defer func() { must(t, p.Close()) }()
		e, err := New(Config{Address: p.Socket, Namespace: l.cfg.Namespace, Dir: l.cfg.Dir})
		must(t, err)
		defer func() { must(t, e.Close()) }()
		for name, signal := range map[string]func(context.Context, ports.ContainerID) error{"Stop": e.Stop, "Kill": e.Kill} {
			if err := signal(t.Context(), j.ID); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := signal(t.Context(), "no-such-container"); fault.CodeOf(err) != fault.NotFound {
				t.Errorf("%s of nothing: %v", name, err)
			}
		}
		must(t, l.Kill(t.Context(), j.ID))
		out()
	})
}
