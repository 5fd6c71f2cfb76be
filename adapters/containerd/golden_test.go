package containerd

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/core/containers"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
)

var update = flag.Bool("update", false, "write the golden files of testdata")

// A spec that is the same in every run, and what the engine would say around its
// record.
const (
	goldenImage = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	goldenChain = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
	goldenAdm   = id.Admission("adm_00000000000000000000000001")
	goldenInst  = id.Installation("inst_00000000000000000000000002")
)

func goldenEngine(t *testing.T) *Engine {
	t.Helper()
	e, err := New(Config{Address: "/nowhere.sock", Dir: "/srv/containerd"})
	must(t, err)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func goldenSpec(t *testing.T, stdin isolation.Stdin) isolation.Spec {
	t.Helper()
	spec, err := isolation.NewSpec(goldenAdm, goldenInst, goldenImage, "/srv/drydock", isolation.MaskFacts{
		Path: "/srv/mask", Kind: isolation.Regular, Links: 1, Mode: isolation.MaskMode, Content: []byte(isolation.MaskContent),
	}, "test", []byte(`{"golden":true}`), stdin)
	must(t, err)
	return spec
}

// goldenRecord is the record of that spec as the engine would return it.
func goldenRecord(t *testing.T) (*Engine, containers.Container, surroundings) {
	t.Helper()
	e := goldenEngine(t)
	c, err := e.newRecord(goldenSpec(t, isolation.StdinPipe), "local/image:1", e.rundir(goldenAdm, goldenInst))
	must(t, err)
	c.CreatedAt, c.UpdatedAt = time.Unix(1, 0), time.Unix(2, 0)
	return e, c, surroundings{imageID: goldenImage, chainID: goldenChain, parent: goldenChain, cfg: e.cfg}
}

func TestRuntimeSpec_Golden(t *testing.T) {
	e := goldenEngine(t)
	spec, err := runtimeSpec(goldenSpec(t, isolation.StdinClosed), e.rundir(goldenAdm, goldenInst))
	must(t, err)
	// The profile is a golden file of the domain's; here only its head counts.
	profile := spec.Linux.Seccomp
	if len(profile.Syscalls) < 40 {
		t.Errorf("%d rules", len(profile.Syscalls))
	}
	profile.Syscalls, profile.Architectures = profile.Syscalls[:0], nil
	golden(t, "spec.json", spec)
}

func golden(t *testing.T, name string, v any) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	must(t, enc.Encode(v))
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.WriteFile(path, b.Bytes(), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(want, b.Bytes()) {
		t.Errorf("%s differs; look at the change, then: go test -update\n%s", path, b.String())
	}
}

func TestSeccompProfile_KeepsEveryRuleOfThisArchitecture(t *testing.T) {
	s, err := seccompProfile(isolation.SeccompProfile())
	must(t, err)
	other := map[string]string{"amd64": "arm_fadvise64_64", "arm64": "arch_prctl"}[runtime.GOARCH]
	own := map[string]string{"amd64": "arch_prctl", "arm64": "arm_fadvise64_64"}[runtime.GOARCH]
	names := map[string]specs.LinuxSyscall{}
	for _, c := range s.Syscalls {
		for _, n := range c.Names {
			names[n] = c
		}
	}
	if _, ok := names[own]; !ok {
		t.Errorf("no %s", own)
	}
	if _, ok := names[other]; ok {
		t.Errorf("%s of another architecture", other)
	}
	if c := names["clone3"]; c.Action != specs.ActErrno || c.ErrnoRet == nil || *c.ErrnoRet != 38 {
		t.Errorf("clone3: %+v", c)
	}
	if c := names["prlimit64"]; len(c.Args) != 1 || c.Args[0].Index != 0 || c.Args[0].Value != 0 || c.Args[0].Op != specs.OpEqualTo {
		t.Errorf("prlimit64: %+v", c)
	}
	if s.DefaultAction != specs.ActErrno || s.DefaultErrnoRet == nil || *s.DefaultErrnoRet != 1 || len(s.Architectures) != 1 {
		t.Errorf("%s %v %v", s.DefaultAction, s.DefaultErrnoRet, s.Architectures)
	}
	for _, bad := range []string{`{`, `{"defaultAction":"SCMP_ACT_ERRNO","archMap":[]}`, `{"later":1}`} {
		if _, err := seccompProfile([]byte(bad)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
