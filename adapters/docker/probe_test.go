package docker

import (
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
)

func TestEngine_Probe(t *testing.T) {
	t.Parallel()
	t.Run("an absent socket is an answer", func(t *testing.T) {
		e, err := New(Config{Socket: filepath.Join(t.TempDir(), "s")})
		must(t, err)
		facts, err := e.Probe(t.Context())
		must(t, err)
		if facts.Reachability != admission.Unreachable {
			t.Errorf("%+v", facts)
		}
		wantCode(t, e.Stop(t.Context(), fakeID), fault.DaemonUnreachable)
		c, err := e.socket.client(oldestAPI) // as if it had answered before
		must(t, err)
		e.negotiated.Store(c)
		wantCode(t, e.Stop(t.Context(), fakeID), fault.DaemonUnreachable)
		_, err = e.Attach(t.Context(), fakeID)
		wantCode(t, err, fault.DaemonUnreachable)
	})
	t.Run("a socket without a listener is an answer", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "s")
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
		must(t, err)
		l.SetUnlinkOnClose(false)
		must(t, l.Close())
		e, err := New(Config{Socket: path})
		must(t, err)
		facts, err := e.Probe(t.Context())
		must(t, err)
		if facts.Reachability != admission.Unreachable {
			t.Errorf("%+v", facts)
		}
	})
	info := map[string]any{
		"ServerVersion": "20.10", "Architecture": "x86_64",
		"OSType": "linux", "OperatingSystem": "Debian", "KernelVersion": hostKernel(), "NCPU": 2, "MemTotal": 4 << 30, "CgroupVersion": "1",
		"SwapLimit": true, "PidsLimit": true, "MemoryLimit": true, "SecurityOptions": []string{"name=seccomp,profile=default"},
		"Runtimes": map[string]any{"runc": map[string]any{"path": "runc"}},
	}
	good := func(f *fake, change map[string]any) admission.EngineFacts {
		changed := map[string]any{}
		for k, v := range info {
			changed[k] = v
		}
		for k, v := range change {
			changed[k] = v
		}
		f.on("GET /info", answer(changed))
		facts, err := f.Probe(f.t.Context())
		must(f.t, err)
		return facts
	}
	t.Run("a supported engine", func(t *testing.T) {
		f := newFake(t)
		facts := good(f, nil)
		want := admission.EngineFacts{
			Engine: isolation.Docker, Reachability: admission.Reachable, Version: "20.10", APIVersion: "1.41", APISupported: true,
			OSType: "linux", Architecture: "amd64", HostArch: facts.HostArch, OperatingName: "Debian", Desktop: facts.Desktop,
			Seccomp: true, SwapLimit: true, PidsLimit: true, MemoryLimit: true, CPUs: 2, MemoryBytes: 4 << 30,
			CgroupVersion: "1", PrivateCgroup: true, Runtime: "runc",
		}
		if !reflect.DeepEqual(facts, want) || facts.Desktop != (hostKernel() == "") {
			t.Errorf("%+v", facts)
		}
	})
	t.Run("variants that are refused", func(t *testing.T) {
		f := newFake(t)
		facts := good(f, map[string]any{
			"OperatingSystem": "Docker Desktop", "SecurityOptions": []string{"name=rootless", "name=userns", "name=selinux"}, "Runtimes": map[string]any{},
		})
		if !facts.Desktop || !facts.Rootless || !facts.UsernsRemap || !facts.SELinux || facts.Seccomp || facts.Runtime != "" {
			t.Errorf("%+v", facts)
		}
		if facts := good(f, map[string]any{"KernelVersion": "6.6.12-linuxkit"}); !facts.Desktop {
			t.Error("another kernel is an engine behind a VM")
		}
	})
	t.Run("too old", func(t *testing.T) {
		f := newFake(t)
		f.on("HEAD /_ping", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Api-Version", "1.40") })
		facts, err := f.Probe(t.Context())
		must(t, err)
		if facts.APISupported || facts.Reachability != admission.Reachable || facts.APIVersion != "1.40" {
			t.Errorf("%+v", facts)
		}
		wantCode(t, f.Stop(t.Context(), fakeID), fault.APIUnsupported)
	})
	t.Run("too new", func(t *testing.T) {
		f := newFake(t)
		f.on("HEAD /_ping", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Api-Version", "1.99") })
		f.on("GET /info", refuse(400, "client version 1.51 is too old. Minimum supported API version is 1.90"))
		facts, err := f.Probe(t.Context())
		must(t, err)
		if facts.APISupported || facts.Reachability != admission.Reachable {
			t.Errorf("%+v", facts)
		}
	})
	t.Run("a newer engine is spoken to in the newest version that both know", func(t *testing.T) {
		f := newFake(t)
		f.on("HEAD /_ping", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Api-Version", "1.56") })
		if facts := good(f, nil); facts.APIVersion != newestAPI || !facts.APISupported {
			t.Errorf("%+v", facts)
		}
	})
	t.Run("an upgrade is noticed", func(t *testing.T) {
		f := newFake(t)
		_ = good(f, nil)
		f.on("HEAD /_ping", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Api-Version", "1.44") })
		if facts := good(f, nil); facts.APIVersion != "1.44" {
			t.Errorf("%+v", facts)
		}
	})
}

func TestProbe(t *testing.T) {
	e := realEngine(t)
	f, err := e.Probe(t.Context())
	must(t, err)
	if f.Reachability != admission.Reachable || !f.APISupported || f.Version == "" || f.APIVersion == "" || f.OSType != "linux" || f.Architecture != runtime.GOARCH ||
		f.Desktop || f.Rootless || f.UsernsRemap || !f.Seccomp || !f.SwapLimit || !f.PidsLimit || !f.MemoryLimit || f.CPUs < 1 || f.MemoryBytes < 1<<30 || f.Runtime != "runc" || f.CgroupVersion == "" {
		t.Errorf("%+v", f)
	}
}
