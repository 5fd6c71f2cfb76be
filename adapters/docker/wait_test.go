package docker

import (
	"context"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"cyberagent/adapters/conformance/enginetest"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// waitFor answers a wait: the header at once, the rest by fn.
func waitFor(fn func(http.ResponseWriter, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		fn(w, r)
	}
}

func TestEngine_WaitFaults(t *testing.T) {
	t.Parallel()
	get, post := "GET "+pathOf+"/json", "POST "+pathOf+"/wait"
	silent := waitFor(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	tell := func(s container.State) http.HandlerFunc { return answer(inState(s)) }
	oom := exited(137)
	oom.OOMKilled = true
	unseen := exited(0)
	unseen.FinishedAt = never
	t.Run("an exit before the wait was registered is found", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(get, turns(tell(created()), tell(exited(3))))
		f.on(post, silent)
		enginetest.Soon(t, "Wait", func() {
			exit, err := f.Wait(t.Context(), fakeID)
			must(t, err)
			if exit != (ports.Exit{Code: 3}) {
				t.Errorf("%+v", exit)
			}
		})
	})
	t.Run("an exit that the wait does not tell of is found", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(get, turns(tell(running()), tell(running()), tell(exited(3))))
		f.on(post, silent)
		exit, err := f.Wait(t.Context(), fakeID)
		must(t, err)
		if exit != (ports.Exit{Code: 3}) {
			t.Errorf("%+v", exit)
		}
	})
	t.Run("an answer about a container that never started is not believed", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(get, tell(created()))
		f.on(post, answer(container.WaitResponse{StatusCode: 0}))
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := f.Wait(ctx, fakeID)
		wantCode(t, err, fault.EngineTimeout)
		if n := f.count(post); n > 8 {
			t.Errorf("%d waits in half a second", n)
		}
	})
	t.Run("a removed container has no result", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(get, turns(tell(running()), tell(running()), refuse(404, "no")))
		f.on(post, waitFor(func(w http.ResponseWriter, r *http.Request) { answer(container.WaitResponse{StatusCode: 0})(w, r) }))
		_, err := f.Wait(t.Context(), fakeID)
		wantCode(t, err, fault.NotFound)
	})
	cut := waitFor(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for name, c := range map[string]struct {
		states []http.HandlerFunc
		want   ports.Exit
	}{
		"the engine was killed, and says 137 afterwards": {[]http.HandlerFunc{tell(running()), tell(running()), tell(exited(137))}, ports.Exit{Code: 137, Interrupted: true}},
		"the engine was away, and says 0 afterwards":     {[]http.HandlerFunc{tell(running()), tell(running()), cutOff, tell(exited(0))}, ports.Exit{Interrupted: true}},
		"the engine was away, and it ran on":             {[]http.HandlerFunc{tell(running()), tell(running()), cutOff, tell(running()), tell(exited(3))}, ports.Exit{Code: 3}},
		"killed by nobody we know":                       {[]http.HandlerFunc{tell(exited(137))}, ports.Exit{Code: 137, Interrupted: true}},
		"killed for its memory":                          {[]http.HandlerFunc{tell(oom)}, ports.Exit{Code: 137, OOMKilled: true}},
		"without an end":                                 {[]http.HandlerFunc{tell(unseen)}, ports.Exit{Interrupted: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.on(get, turns(c.states...))
			f.on(post, turns(cut, silent))
			exit, err := f.Wait(t.Context(), fakeID)
			must(t, err)
			if exit != c.want {
				t.Errorf("%+v, want %+v", exit, c.want)
			}
		})
	}
	t.Run("our own KILL is no interruption", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(get, tell(exited(137)))
		f.on("POST "+pathOf+"/kill", turns(refuse(409, "is not running"), refuse(204, "")))
		must(t, f.Kill(t.Context(), fakeID)) // too late
		exit, err := f.Wait(t.Context(), fakeID)
		must(t, err)
		if exit != (ports.Exit{Code: 137, Interrupted: true}) {
			t.Errorf("%+v", exit)
		}
		must(t, f.Kill(t.Context(), fakeID))
		exit, err = f.Wait(t.Context(), fakeID)
		must(t, err)
		if exit != (ports.Exit{Code: 137}) {
			t.Errorf("%+v", exit)
		}
	})
}

// A3
func TestWait(t *testing.T) {
	t.Run("not before the start", func(t *testing.T) {
		j := newJob(t, "exit 3", isolation.StdinClosed)
		j.Make()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := j.Wait(ctx, j.ID)
		wantCode(t, err, fault.EngineTimeout)
		exit := j.Exits()
		must(t, j.Start(t.Context(), j.ID))
		if got := exit(); got != (ports.Exit{Code: 3}) {
			t.Errorf("%+v", got)
		}
		got, err := j.Wait(t.Context(), j.ID)
		must(t, err)
		if got != (ports.Exit{Code: 3}) {
			t.Errorf("after the end: %+v", got)
		}
	})
	t.Run("whenever it begins", func(t *testing.T) {
		before := runtime.NumGoroutine()
		for i := range 6 {
			j := newJob(t, "exit 4", isolation.StdinClosed)
			j.Make()
			must(t, j.Start(t.Context(), j.ID))
			time.Sleep(time.Duration(i) * 10 * time.Millisecond)
			enginetest.Soon(t, "Wait", func() {
				if got := j.Exits()(); got != (ports.Exit{Code: 4}) {
					t.Errorf("%+v", got)
				}
			})
			must(t, j.Remove(t.Context(), j.ID, j.Owner))
		}
		after := runtime.NumGoroutine()
		for deadline := time.Now().Add(time.Minute); after > before+2 && time.Now().Before(deadline); after = runtime.NumGoroutine() {
			time.Sleep(10 * time.Millisecond)
		}
		if after > before+2 {
			t.Errorf("%d goroutines, then %d", before, after)
		}
	})
	t.Run("a removed container has no exit", func(t *testing.T) {
		j := newJob(t, "exit 0", isolation.StdinClosed)
		j.Make()
		waited := make(chan error, 1)
		go func() { _, err := j.Wait(t.Context(), j.ID); waited <- err }()
		time.Sleep(100 * time.Millisecond)
		must(t, j.Remove(t.Context(), j.ID, j.Owner))
		enginetest.Soon(t, "Wait", func() { wantCode(t, <-waited, fault.NotFound) })
	})
}

func TestWait_OutOfMemory(t *testing.T) {
	j := newJob(t, "eat", isolation.StdinClosed)
	_, _, exit := j.Run()
	if exit != (ports.Exit{Code: 137, OOMKilled: true}) {
		t.Errorf("%+v", exit)
	}
}
