package docker

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/docker/docker/api/types/container"

	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// fake is an engine on a unix socket for faults that a real one cannot be made to
// show. It answers what it was told to and counts what it was asked.
type fake struct {
	*Engine
	t      *testing.T
	server *httptest.Server

	mu     sync.Mutex
	routes map[string]http.HandlerFunc
	asked  map[string]int
}

var versioned = regexp.MustCompile(`^/v1\.\d+`)

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{t: t, routes: map[string]http.HandlerFunc{}, asked: map[string]int{}}
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	must(t, err)
	f.server = httptest.NewUnstartedServer(http.HandlerFunc(f.serve))
	f.server.Listener = l
	f.server.Start()
	t.Cleanup(f.server.Close)
	f.on("HEAD /_ping", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Api-Version", "1.41") })
	f.Engine, err = New(Config{Socket: path, Dir: f.t.TempDir()})
	must(t, err)
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	key := r.Method + " " + versioned.ReplaceAllString(r.URL.Path, "")
	f.mu.Lock()
	f.asked[key]++
	h := f.routes[key]
	f.mu.Unlock()
	if h == nil {
		refuse(http.StatusNotFound, "no "+key)(w, r)
		return
	}
	h(w, r)
}

func (f *fake) on(key string, h http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.routes[key] = h
}

func (f *fake) count(key string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[key]
}

func answer(v any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
}

func refuse(status int, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the client may fail to send it
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"message":%q}`, message)
	}
}

// cutOff ends the connection without an answer.
func cutOff(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// turns answers differently each time; the last one stays.
func turns(hs ...http.HandlerFunc) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := hs[0]
		if len(hs) > 1 {
			hs = hs[1:]
		}
		mu.Unlock()
		h(w, r)
	}
}

const (
	fakeID   = ports.ContainerID("c0ffee0000000000000000000000000000000000000000000000000000000000")
	never    = "0001-01-01T00:00:00Z"
	lateTime = "2026-11-29T12:00:01Z"
	thatTime = "2026-11-29T12:00:00Z"
	pathOf   = "/containers/" + string(fakeID)
)

var fakeOwner = ports.Ownership{Admission: id.Admission("adm_" + "0123456789ABCDEFGHJKMNPQRS"), Installation: id.Installation("inst_" + "0123456789ABCDEFGHJKMNPQRS")}

// inState is an inspection of our container in some state.
func inState(s container.State) container.InspectResponse {
	return container.InspectResponse{
		ContainerJSONBase: &container.ContainerJSONBase{
			ID: string(fakeID), Name: "/" + isolation.ContainerName(fakeOwner.Admission), State: &s, HostConfig: &container.HostConfig{},
		},
		Config: &container.Config{Labels: isolation.Labels(fakeOwner.Admission, fakeOwner.Installation)},
	}
}

func created() container.State {
	return container.State{Status: container.StateCreated, StartedAt: never, FinishedAt: never}
}

func running() container.State {
	return container.State{Status: container.StateRunning, Running: true, Pid: 7, StartedAt: thatTime, FinishedAt: never}
}

func exited(code int) container.State {
	return container.State{Status: container.StateExited, ExitCode: code, StartedAt: thatTime, FinishedAt: lateTime}
}
