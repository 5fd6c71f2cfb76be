package engines

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/domain/runnerproto"
	"cyberagent/ports"
)

const digest = "sha256:1111111111111111111111111111111111111111111111111111111111111111"

// port is an engine by another name, for a method of fake has this one.
type port interface{ ports.Engine }

// fake answers as it is told; anything but a question fails the test by its nil.
type fake struct {
	port

	name  isolation.Engine
	facts admission.EngineFacts
	image admission.ImageFacts
	err   error
	owned []ports.Container
	asked int
}

func (e *fake) Engine() isolation.Engine { return e.name }

func (e *fake) Probe(context.Context) (admission.EngineFacts, error) {
	e.asked++
	e.facts.Engine = e.name
	return e.facts, e.err
}

func (e *fake) InspectImage(context.Context, string) (admission.ImageFacts, error) {
	return e.image, nil
}

func (e *fake) FindOwned(context.Context, id.Installation) ([]ports.Container, error) {
	return e.owned, e.err
}

func ready(name isolation.Engine) *fake {
	return &fake{
		name: name,
		facts: admission.EngineFacts{
			Reachability: admission.Reachable, APISupported: true, OSType: "linux", Architecture: "amd64", HostArch: "amd64",
			Seccomp: true, SwapLimit: true, PidsLimit: true, MemoryLimit: true, CPUs: limits.CPUs, MemoryBytes: limits.MemoryBytes,
			Version: "1", Runtime: "runc",
		},
		image: admission.ImageFacts{
			Present: true, ID: digest, OS: "linux", Arch: "amd64", Entrypoint: []string{isolation.RunnerPath},
			Labels: map[string]string{isolation.LabelProtocol: runnerproto.Protocol},
		},
	}
}

func auto(notices *[]string, all ...ports.Engine) *Auto {
	return &Auto{
		Judge: Judge{ImageDigest: func(isolation.Engine) string { return digest }}, Engines: all,
		Notice: func(s string) { *notices = append(*notices, s) },
	}
}

func TestAuto_IsTheFirstThatIsReady(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(docker, containerd *fake)
		want  isolation.Engine
		why   string
	}{
		"both are ready":            {func(_, _ *fake) {}, isolation.Docker, ""},
		"the first is not there":    {func(d, _ *fake) { d.facts.Reachability = admission.Unreachable }, isolation.Containerd, "daemon_unreachable"},
		"the first lacks the image": {func(d, _ *fake) { d.image.Present = false }, isolation.Containerd, "image_unavailable"},
		"the first is rootless":     {func(d, _ *fake) { d.facts.Rootless = true }, isolation.Containerd, "userns_unsupported"},
		"the first cannot be asked": {func(d, _ *fake) { d.err = errors.New("broken") }, isolation.Containerd, "broken"},
		"none is ready": {func(d, c *fake) {
			d.facts.Reachability, c.facts.Reachability = admission.Unreachable, admission.Unreachable
		}, isolation.Docker, ""},
		"the second is not ready": {func(_, c *fake) { c.image.Present = false }, isolation.Docker, ""},
	} {
		d, c2 := ready(isolation.Docker), ready(isolation.Containerd)
		c.spoil(d, c2)
		var notices []string
		a := auto(&notices, d, c2)
		if got := a.Engine(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if (c.why == "") != (len(notices) == 0) || c.why != "" && !strings.Contains(notices[0], c.why) {
			t.Errorf("%s: notices %q, want %q", name, notices, c.why)
		}
	}
}

func TestAuto_ChoosesOnce(t *testing.T) {
	d, c := ready(isolation.Docker), ready(isolation.Containerd)
	d.facts.Reachability = admission.Unreachable
	var notices []string
	a := auto(&notices, d, c)
	if f, err := a.Probe(t.Context()); err != nil || f.Engine != isolation.Containerd {
		t.Errorf("%+v %v", f, err)
	}
	d.facts.Reachability = admission.Reachable // it comes back
	if f, err := a.Probe(t.Context()); err != nil || f.Engine != isolation.Containerd || len(notices) != 1 {
		t.Errorf("%+v %v %q", f, err, notices)
	}
}

func TestAuto_FindsWhatIsOwnedOnEveryEngine(t *testing.T) {
	d, c := ready(isolation.Docker), ready(isolation.Containerd)
	d.owned, c.owned = []ports.Container{{ID: "d"}}, []ports.Container{{ID: "c"}}
	var notices []string
	a := auto(&notices, d, c)
	if all, err := a.FindOwned(t.Context(), "inst_x"); err != nil || len(all) != 2 {
		t.Errorf("%+v %v", all, err)
	}
	d.err = fault.New(fault.DaemonUnreachable, "gone")
	if all, err := a.FindOwned(t.Context(), "inst_x"); err != nil || len(all) != 1 {
		t.Errorf("%+v %v", all, err)
	}
	c.err = d.err
	if _, err := a.FindOwned(t.Context(), "inst_x"); fault.CodeOf(err) != fault.DaemonUnreachable {
		t.Errorf("%v", err)
	}
}

func TestList_SaysWhatEachEngineIs(t *testing.T) {
	d, c := ready(isolation.Docker), ready(isolation.Containerd)
	d.facts.Reachability, d.facts.Detail = admission.Unreachable, "nobody listens"
	var notices []string
	s := Service{Auto: auto(&notices, d, c), Setting: "auto", Endpoint: func(e isolation.Engine) string { return "/" + string(e) }}
	v := s.List(t.Context())
	if v.Chosen != isolation.Containerd || !strings.Contains(v.Notice, "docker is not ready") || len(v.Engines) != 2 || len(notices) != 0 {
		t.Fatalf("%+v", v)
	}
	if e := v.Engines[0]; e.Ready || e.ReasonCode != "daemon_unreachable" || e.Advice == "" || !strings.Contains(e.Detail, "nobody listens") {
		t.Errorf("%+v", e)
	}
	if e := v.Engines[1]; !e.Ready || e.ReasonCode != "none" || e.Version != "1" || e.Endpoint != "/containerd" || !e.ImagePresent {
		t.Errorf("%+v", e)
	}
	s.Configured, s.Setting = d, "docker"
	if v := s.List(t.Context()); v.Chosen != isolation.Docker || v.Notice != "" {
		t.Errorf("%+v", v)
	}
}
