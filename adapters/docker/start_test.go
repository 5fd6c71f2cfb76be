package docker

import (
	"context"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"cyberagent/adapters/conformance/enginetest"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

func TestEngine_StartSendsOneRequest(t *testing.T) {
	t.Parallel()
	post := "POST " + pathOf + "/start"
	failed := created()
	failed.Error, failed.ExitCode = "failed to create shim: OCI runtime create failed: x", 127
	unclear := created()
	unclear.Error, unclear.ExitCode = "context deadline exceeded", 128
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		after  container.State
		want   fault.Code
	}{
		"it starts":                            {refuse(204, ""), running(), ""},
		"the connection ends after the POST":   {cutOff, created(), fault.DaemonUnreachable},
		"no such container":                    {refuse(404, "no"), created(), fault.StartFailed},
		"the request is refused":               {refuse(400, "no"), created(), fault.StartFailed},
		"the container is about to be removed": {refuse(409, "no"), created(), fault.StartFailed},
		"the runtime failed":                   {refuse(500, "OCI"), failed, fault.StartFailed},
		"the engine failed to start it":        {refuse(500, "OCI"), unclear, fault.EngineFailure},
		"the engine failed, who knows where":   {refuse(500, "context deadline exceeded"), created(), fault.EngineFailure},
		"an error, but it runs":                {refuse(500, "later"), running(), fault.EngineFailure},
		"an error, but it ran":                 {refuse(409, "later"), exited(0), fault.EngineFailure},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.on("GET "+pathOf+"/json", turns(answer(inState(created())), answer(inState(c.after))))
			f.on(post, c.answer)
			wantCode(t, f.Start(t.Context(), fakeID), c.want)
			if n := f.count(post); n != 1 {
				t.Errorf("%d start requests", n)
			}
		})
	}
	t.Run("no answer in time", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		f.on("GET "+pathOf+"/json", answer(inState(created())))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f.on(post, func(http.ResponseWriter, *http.Request) {
			cancel()
			<-release
		})
		wantCode(t, f.Start(ctx, fakeID), fault.EngineTimeout)
		if n := f.count(post); n != 1 {
			t.Errorf("%d start requests", n)
		}
	})
	t.Run("none is sent when the engine has gone", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on("GET "+pathOf+"/json", func(w http.ResponseWriter, r *http.Request) {
			_ = f.server.Listener.Close()
			answer(inState(created()))(w, r)
		})
		err := f.Start(t.Context(), fakeID)
		wantCode(t, err, fault.StartFailed)
		if n := f.count(post); n != 0 {
			t.Errorf("%d start requests", n)
		}
	})
	t.Run("none is sent to a container that ran before", func(t *testing.T) {
		t.Parallel()
		for _, s := range []container.State{running(), exited(0)} {
			f := newFake(t)
			f.on("GET "+pathOf+"/json", answer(inState(s)))
			f.on(post, refuse(204, ""))
			wantCode(t, f.Start(t.Context(), fakeID), fault.RecoveryRequired)
			if n := f.count(post); n != 0 {
				t.Errorf("%d start requests", n)
			}
		}
	})
}

func TestStart_OnceOnly(t *testing.T) {
	j := newJob(t, "out 1 0", isolation.StdinClosed)
	out, _, _ := j.Run()
	wantCode(t, j.Start(t.Context(), j.ID), fault.RecoveryRequired)
	c, err := j.Inspect(t.Context(), j.ID)
	must(t, err)
	if out != "a" || c.State != ports.StateExited || c.StartedAt.IsZero() || c.FinishedAt.Before(c.StartedAt) {
		t.Errorf("%q %+v", out, c)
	}
}

// A4: a container that cannot start did not exit with 127, and its wait ends with
// its context.
func TestStart_Failure(t *testing.T) {
	image := loadImage(t, nil)
	j := newJob(t, "exit 0", isolation.StdinClosed)
	j.Spec = enginetest.NewSpec(t, j.Owner, image, "exit 0", isolation.StdinClosed)
	// The runner's directory is in the image; a Drydock that is not a directory
	// makes the runtime fail.
	root := j.Spec.Properties().Mounts[0].Source
	j.Make()
	must(t, os.RemoveAll(root))
	must(t, os.WriteFile(root, nil, 0o644))
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() { _, err := j.Wait(ctx, j.ID); waited <- err }()
	err := j.Start(t.Context(), j.ID)
	wantCode(t, err, fault.StartFailed)
	select {
	case err := <-waited:
		t.Errorf("Wait answered: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	cancel()
	enginetest.Soon(t, "Wait", func() { wantCode(t, <-waited, fault.EngineTimeout) })
	c, err := j.Inspect(t.Context(), j.ID)
	must(t, err)
	if c.State != ports.StateCreated || !c.StartedAt.IsZero() || c.Error == "" {
		t.Errorf("%+v", c)
	}
	must(t, j.Remove(t.Context(), j.ID, j.Owner))
}
