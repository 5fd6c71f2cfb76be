package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// containerd is an installation on containerd, of the same disk and image.
func (h *home) containerd(t testing.TB) *home {
	t.Helper()
	address := os.Getenv("CYBERAGENT_CONTAINERD_ADDRESS")
	digest := os.Getenv("CYBERAGENT_TEST_STANDARD_CODE_CONTAINERD_IMAGE_DIGEST")
	if address == "" || digest == "" {
		t.Fatal("CYBERAGENT_CONTAINERD_ADDRESS or CYBERAGENT_TEST_STANDARD_CODE_CONTAINERD_IMAGE_DIGEST is not set\nremedy: make test")
	}
	return h.with("CYBERAGENT_ENGINE=containerd", "CYBERAGENT_CONTAINERD_ADDRESS="+address, "CYBERAGENT_STANDARD_CODE_CONTAINERD_IMAGE_DIGEST="+digest)
}

// MustHaveNoRundir fails when the containerd adapter's directory holds anything:
// a container, or what is left of one, always has its place there.
func (h *home) MustHaveNoRundir(t testing.TB) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(h.state, "containerd", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left of containers: %v %v", left, err)
	}
}

func TestEngines_TheSameCommandHasTheSameFactsOnBoth(t *testing.T) {
	t.Parallel()
	measured := map[string]string{}
	for name, h := range map[string]*home{"docker": MustHome(t), "containerd": MustHome(t).containerd(t)} {
		f := h.MustFlow(t, h.MustProject(t, "python"))
		r := f.MustRun(t, command{toolchain: "python", args: []string{"-m", "pytest"}}, 0)
		if r.Engine != name || r.ended() != "succeeded/exited" {
			t.Errorf("%s: %s on %s", name, r.ended(), r.Engine)
		}
		measured[name] = r.Isolation.MeasuredSHA256
		h.MustHaveNoRundir(t)
	}
	if measured["docker"] == "" || measured["docker"] != measured["containerd"] {
		t.Errorf("the measured facts differ: %v", measured)
	}
}

func TestEngines_AutoFallsBackSaysSoAndBindsTheChoice(t *testing.T) {
	t.Parallel()
	h := MustHome(t).containerd(t)
	f := h.MustFlow(t, h.MustProject(t, "python"))
	on := f.home
	f.home = h.with("CYBERAGENT_ENGINE=auto", "CYBERAGENT_DOCKER_SOCKET="+filepath.Join(h.dir, "no.sock"))
	c := python("-c", "print('here')")
	ready := f.call(t, append([]string{"run", "standard-code", "readiness"}, f.at(c)...)...)
	if !bytes.Contains(ready.stderr, []byte("using containerd, for docker is not ready")) || !bytes.Contains(ready.stdout, []byte(`"engine": "containerd"`)) {
		t.Errorf("readiness does not say what it uses and why: %s%s", ready.stdout, ready.stderr)
	}
	prepared := f.call(t, append(append([]string{"run", "standard-code", "prepare"}, f.at(c)...), "--operation-key", "prepare")...)
	prepared.stderr = nil // the same sentence
	p := MustAnswer[preparationView](t, prepared, 0)
	if p.Authority.Engine != "containerd" {
		t.Errorf("prepared for %s", p.Authority.Engine)
	}
	f.MustReview(t, p, "approve", "--reviewer", "somebody")
	a := approved{c, p, f.key("execute")}
	refused := f.with("CYBERAGENT_ENGINE=docker", "CYBERAGENT_DOCKER_SOCKET="+lab.socket)
	f.MustRefuseCall(t, refused, f.execute(a), refusal{"engine_mismatch", 3, "engine"})
	f.home = on
	r := MustAnswer[resultView](t, f.Execute(t, a), 0)
	if r.Engine != "containerd" || r.ended() != "succeeded/exited" {
		t.Errorf("%s on %s", r.ended(), r.Engine)
	}
	h.MustHaveNoRundir(t)
}
