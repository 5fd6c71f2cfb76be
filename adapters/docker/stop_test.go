package docker

import (
	"context"
	"io"
	"os"
	"testing"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

func TestEngine_StopFaults(t *testing.T) {
	t.Parallel()
	for name, fn := range map[string]func(*fake, context.Context) error{
		"kill":    func(f *fake, ctx context.Context) error { return f.Kill(ctx, fakeID) },
		"stop":    func(f *fake, ctx context.Context) error { return f.Stop(ctx, fakeID) },
		"pause":   func(f *fake, ctx context.Context) error { return f.Freeze(ctx, fakeID) },
		"unpause": func(f *fake, ctx context.Context) error { return f.Thaw(ctx, fakeID) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			verb := map[string]string{"stop": "kill"}[name]
			if verb == "" {
				verb = name
			}
			wantCode(t, fn(f, t.Context()), fault.NotFound)
			f.on("POST "+pathOf+"/"+verb, refuse(409, "is not running"))
			f.on("GET "+pathOf+"/json", answer(inState(exited(0))))
			must(t, fn(f, t.Context()))
			f.on("POST "+pathOf+"/"+verb, refuse(500, "no"))
			s := running()
			s.Paused = name == "unpause"
			f.on("GET "+pathOf+"/json", answer(inState(s)))
			wantCode(t, fn(f, t.Context()), fault.EngineFailure)
		})
	}
}

// ready starts a sleeping command and returns once it runs.
func ready(t *testing.T) (*job, func() ports.Exit) {
	t.Helper()
	j := newJob(t, "sleep 60000", isolation.StdinClosed)
	j.Make()
	out, err := j.Attach(t.Context(), j.ID)
	must(t, err)
	exit := j.Exits()
	must(t, j.Start(t.Context(), j.ID))
	_, err = io.ReadFull(out.Stdout, make([]byte, len("ready\n")))
	must(t, err)
	go discard(out.Stdout)
	go discard(out.Stderr)
	t.Cleanup(func() { _ = out.Close() })
	return j, exit
}

func TestStopKillFreezeThaw(t *testing.T) {
	t.Run("Stop", func(t *testing.T) {
		j, exit := ready(t)
		must(t, j.Stop(t.Context(), j.ID))
		if got := exit(); got != (ports.Exit{Code: 15}) {
			t.Errorf("%+v", got)
		}
		for _, again := range []func(context.Context, ports.ContainerID) error{j.Stop, j.Kill, j.Freeze, j.Thaw} {
			must(t, again(t.Context(), j.ID))
		}
	})
	t.Run("Kill", func(t *testing.T) {
		j, exit := ready(t)
		must(t, j.Kill(t.Context(), j.ID))
		if got := exit(); got != (ports.Exit{Code: 137}) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("killed by another", func(t *testing.T) {
		j, exit := ready(t)
		other, err := New(Config{Socket: os.Getenv("CYBERAGENT_DOCKER_SOCKET")})
		must(t, err)
		must(t, other.Kill(t.Context(), j.ID))
		if got := exit(); got != (ports.Exit{Code: 137, Interrupted: true}) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("Freeze and Thaw", func(t *testing.T) {
		j, exit := ready(t)
		must(t, j.Freeze(t.Context(), j.ID))
		must(t, j.Freeze(t.Context(), j.ID))
		c, err := j.Inspect(t.Context(), j.ID)
		must(t, err)
		if c.State != ports.StatePaused {
			t.Errorf("%+v", c)
		}
		must(t, j.Thaw(t.Context(), j.ID))
		must(t, j.Thaw(t.Context(), j.ID))
		must(t, j.Freeze(t.Context(), j.ID))
		must(t, j.Kill(t.Context(), j.ID)) // also a frozen one
		if got := exit(); got != (ports.Exit{Code: 137}) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a container that never ran", func(t *testing.T) {
		j := newJob(t, "exit 0", isolation.StdinClosed)
		j.Make()
		for _, fn := range []func(context.Context, ports.ContainerID) error{j.Stop, j.Kill, j.Freeze, j.Thaw} {
			must(t, fn(t.Context(), j.ID))
		}
	})
	t.Run("no container", func(t *testing.T) {
		e := realEngine(t)
		for _, fn := range []func(context.Context, ports.ContainerID) error{e.Stop, e.Kill, e.Freeze, e.Thaw, e.Start} {
			wantCode(t, fn(t.Context(), fakeID), fault.NotFound)
			wantCode(t, fn(t.Context(), ""), fault.NotFound)
		}
		_, err := e.Wait(t.Context(), fakeID)
		wantCode(t, err, fault.NotFound)
		_, err = e.Attach(t.Context(), fakeID)
		wantCode(t, err, fault.NotFound)
		_, err = e.AttachStdin(t.Context(), fakeID)
		wantCode(t, err, fault.NotFound)
		_, err = e.ReadBack(t.Context(), fakeID)
		wantCode(t, err, fault.NotFound)
	})
}
