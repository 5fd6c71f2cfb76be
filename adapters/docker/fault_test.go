package docker

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"

	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

func wantCode(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != code {
		t.Errorf("code %q, want %q: %v", got, code, err)
	}
}

// A daemon that accepts and says nothing (SIGSTOP) holds no method for longer
// than its context and a second.
func TestEngine_HungDaemonHoldsNobody(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	hung, err := New(Config{Socket: path})
	must(t, err)
	// One that negotiated before it hung, too.
	late, err := New(Config{Socket: path})
	must(t, err)
	c, err := late.socket.client(oldestAPI)
	must(t, err)
	late.negotiated.Store(c)
	spec := newSpec(t, fakeOwner, "sha256:"+strings.Repeat("a", 64), "exit 0", isolation.StdinPipe)

	calls := map[string]func(context.Context, *Engine) error{
		"Create":      func(ctx context.Context, e *Engine) error { _, _, err := e.Create(ctx, spec); return err },
		"ReadBack":    func(ctx context.Context, e *Engine) error { _, err := e.ReadBack(ctx, fakeID); return err },
		"Attach":      func(ctx context.Context, e *Engine) error { _, err := e.Attach(ctx, fakeID); return err },
		"Start":       func(ctx context.Context, e *Engine) error { return e.Start(ctx, fakeID) },
		"AttachStdin": func(ctx context.Context, e *Engine) error { _, err := e.AttachStdin(ctx, fakeID); return err },
		"Wait":        func(ctx context.Context, e *Engine) error { _, err := e.Wait(ctx, fakeID); return err },
		"Stop":        func(ctx context.Context, e *Engine) error { return e.Stop(ctx, fakeID) },
		"Kill":        func(ctx context.Context, e *Engine) error { return e.Kill(ctx, fakeID) },
		"Freeze":      func(ctx context.Context, e *Engine) error { return e.Freeze(ctx, fakeID) },
		"Thaw":        func(ctx context.Context, e *Engine) error { return e.Thaw(ctx, fakeID) },
		"Remove":      func(ctx context.Context, e *Engine) error { return e.Remove(ctx, fakeID, fakeOwner) },
		"Inspect":     func(ctx context.Context, e *Engine) error { _, err := e.Inspect(ctx, fakeID); return err },
		"Find":        func(ctx context.Context, e *Engine) error { _, err := e.Find(ctx, fakeOwner.Admission); return err },
		"FindOwned": func(ctx context.Context, e *Engine) error {
			_, err := e.FindOwned(ctx, fakeOwner.Installation)
			return err
		},
		"InspectImage": func(ctx context.Context, e *Engine) error { _, err := e.InspectImage(ctx, spec.ImageID()); return err },
		"ResolveBase": func(ctx context.Context, e *Engine) error {
			_, err := e.ResolveBase(ctx, "a@"+spec.ImageID())
			return err
		},
		"Export": func(ctx context.Context, e *Engine) error { _, err := e.Export(ctx, spec.ImageID()); return err },
		"Load":   func(ctx context.Context, e *Engine) error { return e.Load(ctx, strings.NewReader("x")) },
		"Untag":  func(ctx context.Context, e *Engine) error { return e.Untag(ctx, "a:b") },
	}
	for name, call := range calls {
		for when, e := range map[string]*Engine{"from the beginning": hung, "later": late} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
				defer cancel()
				soon(t, 1200*time.Millisecond, name, func() { wantCode(t, call(ctx, e), fault.EngineTimeout) })
			})
		}
	}
	t.Run("Probe answers", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		facts, err := hung.Probe(ctx)
		must(t, err)
		if facts.Reachability != admission.Unreachable || facts.Detail == "" {
			t.Errorf("%+v", facts)
		}
	})
}

// An attachment whose handshake hangs although the engine has answered before.
func TestEngine_AttachHandshakeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	f.on("POST "+pathOf+"/attach", func(http.ResponseWriter, *http.Request) { <-release })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	soon(t, time.Second, "Attach", func() {
		_, err := f.Attach(ctx, fakeID)
		wantCode(t, err, fault.EngineTimeout)
	})
}

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
	version := map[string]any{"Version": "20.10", "ApiVersion": "1.41", "MinAPIVersion": "1.12", "Arch": "amd64"}
	info := map[string]any{
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
		f.on("GET /version", answer(version))
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
		if facts != want || facts.Desktop != (hostKernel() == "") {
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
		if facts.APISupported || facts.Reachability != admission.Reachable {
			t.Errorf("%+v", facts)
		}
		wantCode(t, f.Stop(t.Context(), fakeID), fault.APIUnsupported)
	})
	t.Run("too new", func(t *testing.T) {
		f := newFake(t)
		f.on("HEAD /_ping", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Api-Version", "1.99") })
		f.on("GET /version", refuse(400, "client version 1.51 is too old. Minimum supported API version is 1.90"))
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

// A socket that this user may not use. The test of an unprivileged user is run
// in a process of its own when this one is root.
func TestEngine_PermissionDenied(t *testing.T) {
	if path := os.Getenv("CYBERAGENT_TEST_DENIED_SOCKET"); path != "" {
		e, err := New(Config{Socket: path})
		must(t, err)
		facts, err := e.Probe(t.Context())
		must(t, err)
		if facts.Reachability != admission.PermissionDenied {
			t.Errorf("%+v", facts)
		}
		wantCode(t, e.Stop(t.Context(), fakeID), fault.DaemonPermission)
		_, err = e.Attach(t.Context(), fakeID)
		wantCode(t, err, fault.DaemonPermission)
		return
	}
	dir, err := os.MkdirTemp("", "denied-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	must(t, os.Chmod(path, 0o600))
	self, err := os.Executable()
	must(t, err)
	if os.Getuid() == 0 {
		binary := filepath.Join(dir, "test")
		b, err := os.ReadFile(self)
		must(t, err)
		must(t, os.WriteFile(binary, b, 0o755))
		self = binary
	} else {
		must(t, os.Chmod(path, 0))
	}
	cmd := exec.Command(self, "-test.run=^TestEngine_PermissionDenied$", "-test.v")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CYBERAGENT_TEST_DENIED_SOCKET="+path)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532, Groups: []uint32{0}}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v: %s", err, out)
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

func TestEngine_StartSendsOneRequest(t *testing.T) {
	t.Parallel()
	post := "POST " + pathOf + "/start"
	failed := created()
	failed.Error, failed.ExitCode = "OCI runtime create failed", 127
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
		f.on(post, func(http.ResponseWriter, *http.Request) { <-release })
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
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

func TestEngine_CreateFaults(t *testing.T) {
	t.Parallel()
	imageID := "sha256:" + strings.Repeat("a", 64)
	name := isolation.ContainerName(fakeOwner.Admission)
	prepare := func(t *testing.T) (*fake, isolation.Spec) {
		f := newFake(t)
		f.on("GET /images/"+imageID+"/json", answer(image.InspectResponse{ID: imageID}))
		f.on("GET "+pathOf+"/json", answer(inState(created())))
		return f, newSpec(t, fakeOwner, imageID, "exit 0", isolation.StdinClosed)
	}
	t.Run("a warning is a property", func(t *testing.T) {
		t.Parallel()
		f, spec := prepare(t)
		f.on("POST /containers/create", answer(container.CreateResponse{ID: string(fakeID), Warnings: []string{"swap limit discarded"}}))
		c, p, err := f.Create(t.Context(), spec)
		must(t, err)
		if c != fakeID || len(p.Warnings) != 1 {
			t.Errorf("%s %q", c, p.Warnings)
		}
	})
	for what, fail := range map[string]http.HandlerFunc{"conflict": refuse(409, "name in use"), "cut": cutOff, "server error": refuse(500, "no")} {
		t.Run(what+": ours is adopted", func(t *testing.T) {
			t.Parallel()
			f, spec := prepare(t)
			f.on("POST /containers/create", fail)
			f.on("GET /containers/"+name+"/json", turns(refuse(404, "not yet"), answer(inState(created()))))
			if what != "conflict" {
				f.on("GET /containers/"+name+"/json", answer(inState(created())))
			}
			c, _, err := f.Create(t.Context(), spec)
			must(t, err)
			if c != fakeID || f.count("POST /containers/create") != 1 {
				t.Errorf("%s, %d requests", c, f.count("POST /containers/create"))
			}
		})
	}
	t.Run("one more label is not ours", func(t *testing.T) {
		t.Parallel()
		f, spec := prepare(t)
		other := inState(created())
		other.Config.Labels["a"] = "b"
		f.on("POST /containers/create", refuse(409, "name in use"))
		f.on("GET /containers/"+name+"/json", answer(other))
		_, _, err := f.Create(t.Context(), spec)
		wantCode(t, err, fault.RecoveryRequired)
	})
	t.Run("ours that ran is not adopted", func(t *testing.T) {
		t.Parallel()
		f, spec := prepare(t)
		f.on("POST /containers/create", refuse(409, "name in use"))
		f.on("GET /containers/"+name+"/json", answer(inState(exited(0))))
		_, _, err := f.Create(t.Context(), spec)
		wantCode(t, err, fault.RecoveryRequired)
	})
	t.Run("nothing was made", func(t *testing.T) {
		t.Parallel()
		f, spec := prepare(t)
		f.on("POST /containers/create", refuse(500, "no"))
		_, _, err := f.Create(t.Context(), spec)
		wantCode(t, err, fault.EngineFailure)
	})
	t.Run("the image went away", func(t *testing.T) {
		t.Parallel()
		f, spec := prepare(t)
		f.on("POST /containers/create", refuse(404, "No such image"))
		_, _, err := f.Create(t.Context(), spec)
		wantCode(t, err, fault.ImageUnavailable)
	})
	t.Run("a given-up create names the container that it made", func(t *testing.T) {
		t.Parallel()
		f, spec := prepare(t)
		ctx, cancel := context.WithCancel(t.Context())
		f.on("POST /containers/create", func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			cancel()
			<-r.Context().Done()
			f.on("GET /containers/"+name+"/json", answer(inState(created())))
		})
		soon(t, 1500*time.Millisecond, "Create", func() {
			c, _, err := f.Create(ctx, spec)
			wantCode(t, err, fault.EngineTimeout)
			if c != fakeID || !errors.Is(err, context.Canceled) {
				t.Errorf("%q %v", c, err)
			}
		})
	})
}

func TestEngine_RemoveFaults(t *testing.T) {
	t.Parallel()
	del, get := "DELETE "+pathOf, "GET "+pathOf+"/json"
	gone, here := refuse(404, "no such container"), answer(inState(exited(0)))
	t.Run("in progress elsewhere", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(get, turns(here, here, here, here, gone))
		f.on(del, refuse(409, "removal is already in progress"))
		must(t, f.Remove(t.Context(), fakeID, fakeOwner))
	})
	t.Run("absence is proven, not believed", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(get, turns(here, here, here, gone))
		f.on(del, refuse(204, ""))
		must(t, f.Remove(t.Context(), fakeID, fakeOwner))
		if n := f.count(get); n != 4 {
			t.Errorf("%d inspections", n)
		}
	})
	t.Run("gone already", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(get, turns(here, gone))
		f.on(del, gone)
		must(t, f.Remove(t.Context(), fakeID, fakeOwner))
	})
	t.Run("never ends, and is not asked in a hot loop", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(get, here)
		f.on(del, refuse(500, "device or resource busy"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		soon(t, 1500*time.Millisecond, "Remove", func() { wantCode(t, f.Remove(ctx, fakeID, fakeOwner), fault.EngineFailure) })
		if n := f.count(del); n < 3 || n > 10 {
			t.Errorf("%d requests in a second", n)
		}
	})
	t.Run("says done for ever, and is not asked in a hot loop", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(get, here)
		f.on(del, refuse(204, ""))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantCode(t, f.Remove(ctx, fakeID, fakeOwner), fault.EngineTimeout)
		if n := f.count(del); n > 10 {
			t.Errorf("%d requests in a second", n)
		}
	})
	t.Run("another's is left alone", func(t *testing.T) {
		t.Parallel()
		for _, change := range []func(map[string]string){
			func(l map[string]string) { l[isolation.LabelAdmission] = "adm_X" },
			func(l map[string]string) { l[isolation.LabelInstallation] = "inst_X" },
			func(l map[string]string) { delete(l, isolation.LabelContract) },
			func(l map[string]string) { l["com.example"] = "x" },
		} {
			f := newFake(t)
			other := inState(exited(0))
			change(other.Config.Labels)
			f.on(get, answer(other))
			wantCode(t, f.Remove(t.Context(), fakeID, fakeOwner), fault.RecoveryRequired)
			if f.count(del) != 0 {
				t.Error("a foreign container was removed")
			}
		}
	})
	t.Run("an earlier release's is ours", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		old := inState(exited(0))
		old.Config.Labels[isolation.LabelContract] = "0"
		f.on(get, turns(answer(old), gone))
		f.on(del, refuse(204, ""))
		must(t, f.Remove(t.Context(), fakeID, fakeOwner))
	})
	t.Run("a longer id is another container", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on("GET /containers/c0ffee/json", here)
		must(t, f.Remove(t.Context(), "c0ffee", fakeOwner))
		if f.count("DELETE /containers/c0ffee") != 0 {
			t.Error("the engine was asked to remove by the beginning of an id")
		}
		wantCode(t, f.Remove(t.Context(), "", fakeOwner), fault.NotFound)
	})
}

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
		soon(t, time.Second, "Wait", func() {
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
		f.on("POST "+pathOf+"/kill", refuse(204, ""))
		must(t, f.Kill(t.Context(), fakeID))
		exit, err := f.Wait(t.Context(), fakeID)
		must(t, err)
		if exit != (ports.Exit{Code: 137}) {
			t.Errorf("%+v", exit)
		}
	})
}

// upgrade accepts an attachment and hands its connection to fn.
func upgrade(fn func(net.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
		go fn(conn)
	}
}

func frame(stream byte, content string, length int) []byte {
	b := []byte{stream, 0, 0, 0, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(b[4:], uint32(length))
	return append(b, content...)
}

func TestEngine_AttachFaults(t *testing.T) {
	t.Parallel()
	post := "POST " + pathOf + "/attach"
	read := func(t *testing.T, out ports.Output) (string, string, error) {
		errs := make(chan string, 1)
		go func() { b, _ := io.ReadAll(out.Stderr); errs <- string(b) }()
		b, err := io.ReadAll(out.Stdout)
		return string(b), <-errs, err
	}
	t.Run("an end between two frames is the end", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(post, upgrade(func(c net.Conn) {
			_, _ = c.Write(append(frame(1, "out", 3), frame(2, "err", 3)...))
			_ = c.Close()
		}))
		out, err := f.Attach(t.Context(), fakeID)
		must(t, err)
		o, e, err := read(t, out)
		must(t, err)
		if o != "out" || e != "err" {
			t.Errorf("%q %q", o, e)
		}
	})
	for name, tail := range map[string][]byte{
		"inside a frame": frame(1, "out", 9), "inside a header": {1, 0, 0}, "at a frame of no stream": frame(7, "x", 1),
	} {
		t.Run("an end "+name+" is an error", func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.on(post, upgrade(func(c net.Conn) { _, _ = c.Write(tail); _ = c.Close() }))
			out, err := f.Attach(t.Context(), fakeID)
			must(t, err)
			if _, _, err := read(t, out); err == nil {
				t.Error("no error")
			}
		})
	}
	t.Run("the end of the engine is an error", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(post, upgrade(func(c net.Conn) {
			_, _ = c.Write(frame(1, "out", 3))
			_ = f.server.Listener.Close()
			_ = c.Close()
		}))
		out, err := f.Attach(t.Context(), fakeID)
		must(t, err)
		o, _, err := read(t, out)
		wantCode(t, err, fault.DaemonUnreachable)
		if o != "out" {
			t.Errorf("%q", o)
		}
	})
	t.Run("Close does not wait for a reader", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(post, upgrade(func(c net.Conn) {
			for {
				if _, err := c.Write(frame(1, "out", 3)); err != nil {
					return
				}
			}
		}))
		out, err := f.Attach(t.Context(), fakeID)
		must(t, err)
		_, err = io.CopyN(io.Discard, out.Stdout, 100)
		must(t, err)
		soon(t, 100*time.Millisecond, "Close", func() { must(t, out.Close()) })
		if _, err := out.Stdout.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("reading after Close: %v", err)
		}
	})
	t.Run("a stream that nobody reads does not hold the other after Close", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(post, upgrade(func(c net.Conn) { _, _ = c.Write(frame(2, "err", 3)) }))
		out, err := f.Attach(t.Context(), fakeID)
		must(t, err)
		go func() { time.Sleep(50 * time.Millisecond); _ = out.Close() }()
		if _, err := io.ReadAll(out.Stdout); err == nil {
			t.Error("an end that was no end")
		}
	})
	t.Run("refusals are explained", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(post, refuse(404, "no such container"))
		_, err := f.Attach(t.Context(), fakeID)
		wantCode(t, err, fault.NotFound)
		f.on("GET "+pathOf+"/json", answer(inState(created())))
		f.on(post, refuse(409, "paused"))
		_, err = f.Attach(t.Context(), fakeID)
		wantCode(t, err, fault.EngineFailure)
	})
}

func TestEngine_StdinFaults(t *testing.T) {
	t.Parallel()
	pipe := inState(running())
	pipe.Config.OpenStdin, pipe.Config.StdinOnce = true, true
	t.Run("a peer that has gone is the end of the pipe", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on("GET "+pathOf+"/json", answer(pipe))
		f.on("POST "+pathOf+"/attach", upgrade(func(c net.Conn) { _ = c.Close() }))
		w, err := f.AttachStdin(t.Context(), fakeID)
		must(t, err)
		for range 100 {
			if _, err = w.Write([]byte("x")); err != nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		if !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%v", err)
		}
		must(t, w.Close())
		must(t, w.Close())
	})
	t.Run("Close ends a blocked Write", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on("GET "+pathOf+"/json", answer(pipe))
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		f.on("POST "+pathOf+"/attach", upgrade(func(c net.Conn) { <-release; _ = c.Close() }))
		w, err := f.AttachStdin(t.Context(), fakeID)
		must(t, err)
		wrote := make(chan error, 1)
		go func() { _, err := w.Write(make([]byte, 8<<20)); wrote <- err }()
		time.Sleep(50 * time.Millisecond)
		soon(t, 200*time.Millisecond, "Close", func() {
			must(t, w.Close())
			if err := <-wrote; !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("%v", err)
			}
		})
	})
	t.Run("there is one", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on("GET "+pathOf+"/json", answer(pipe))
		f.on("POST "+pathOf+"/attach", upgrade(func(c net.Conn) { _, _ = io.Copy(io.Discard, c); _ = c.Close() }))
		w, err := f.AttachStdin(t.Context(), fakeID)
		must(t, err)
		defer w.Close()
		_, err = f.AttachStdin(t.Context(), fakeID)
		wantCode(t, err, fault.RecoveryRequired)
	})
	t.Run("none without a pipe or before the start", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on("GET "+pathOf+"/json", answer(inState(running())))
		_, err := f.AttachStdin(t.Context(), fakeID)
		wantCode(t, err, fault.EngineFailure)
		early := pipe
		base := *pipe.ContainerJSONBase
		s := created()
		base.State, early.ContainerJSONBase = &s, &base
		f.on("GET "+pathOf+"/json", answer(early))
		_, err = f.AttachStdin(t.Context(), fakeID)
		wantCode(t, err, fault.EngineFailure)
	})
}

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

func TestEngine_FindIsNotHeldByOneContainer(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	labels := isolation.Labels(fakeOwner.Admission, fakeOwner.Installation)
	f.on("GET /containers/json", answer([]container.Summary{
		{ID: "dead", Names: []string{"/x"}, Labels: labels}, {ID: "gone", Labels: labels}, {ID: string(fakeID), Labels: labels}, {ID: "other"},
	}))
	f.on("GET /containers/dead/json", func(http.ResponseWriter, *http.Request) { <-release })
	f.on("GET "+pathOf+"/json", answer(inState(exited(0))))
	found, err := f.FindOwned(t.Context(), fakeOwner.Installation)
	must(t, err)
	if len(found) != 2 || found[0].State != ports.StateOther || found[0].Name != "x" || found[1].State != ports.StateExited {
		t.Errorf("%+v", found)
	}
}
