package docker

import (
	"strings"
	"testing"

	"cyberagent/domain/fault"
)

func TestNew_AcceptsLocalSocketsOnly(t *testing.T) {
	for _, good := range []string{"", "/run/docker.sock", "unix:///run/docker.sock", "/run/a b/docker.sock"} {
		if _, err := New(Config{Socket: good}); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"tcp://127.0.0.1:2375", "http://localhost", "https://x", "ssh://host", "fd://", "docker.sock", "unix://docker.sock", "unix://",
		"npipe:////server/pipe/x", "://", "/" + strings.Repeat("a", 200),
	} {
		_, err := New(Config{Socket: bad})
		if fault.CodeOf(err) != fault.ConfigInvalid || fault.From(err).Remedy == "" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestEngine_IgnoresTheClientsEnvironment(t *testing.T) {
	t.Setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
	t.Setenv("DOCKER_API_VERSION", "1.12")
	t.Setenv("DOCKER_CERT_PATH", "/nowhere")
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:1")
	f := newFake(t)
	f.on("GET "+pathOf+"/json", answer(inState(created())))
	_, err := f.Inspect(t.Context(), fakeID)
	must(t, err)
	if v := f.negotiated.Load().ClientVersion(); v != "1.41" {
		t.Error(v)
	}
}
