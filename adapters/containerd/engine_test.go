package containerd

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/errdefs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cyberagent/adapters/conformance/enginetest"
	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

func TestNew_AcceptsLocalPlacesOnly(t *testing.T) {
	for _, c := range []struct {
		cfg Config
		ok  bool
	}{
		{Config{Dir: "/srv"}, true},
		{Config{Address: "unix:///x.sock", Dir: "/srv"}, true},
		{Config{Address: "tcp://10.0.0.1:1", Dir: "/srv"}, false},
		{Config{Address: "x.sock", Dir: "/srv"}, false},
		{Config{}, false},
		{Config{Dir: "srv"}, false},
		{Config{Dir: "/srv/../x"}, false},
	} {
		e, err := New(c.cfg)
		if (err == nil) != c.ok || !c.ok && fault.CodeOf(err) != fault.ConfigInvalid {
			t.Errorf("%+v: %v", c.cfg, err)
		}
		if e != nil {
			must(t, e.Close())
		}
	}
}

func TestTranslate(t *testing.T) {
	e := goldenEngine(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want fault.Code
	}{
		"nothing":                    {t.Context(), nil, ""},
		"a fault":                    {t.Context(), fault.New(fault.ImageUnsafe, "x"), fault.ImageUnsafe},
		"not found":                  {t.Context(), status.Error(codes.NotFound, "x"), fault.NotFound},
		"not found, late":            {over, status.Error(codes.NotFound, "x"), fault.NotFound},
		"not found by the library":   {t.Context(), errdefs.ErrNotFound, fault.NotFound},
		"a refusal":                  {t.Context(), status.Error(codes.FailedPrecondition, "x"), fault.EngineFailure},
		"unknown":                    {t.Context(), status.Error(codes.Unknown, "x"), fault.EngineFailure},
		"the caller gave up":         {over, status.Error(codes.Canceled, "x"), fault.EngineTimeout},
		"the engine was slow":        {t.Context(), status.Error(codes.DeadlineExceeded, "x"), fault.EngineTimeout},
		"nobody listens":             {t.Context(), status.Error(codes.Unavailable, "x"), fault.DaemonUnreachable},
		"an error of another origin": {t.Context(), os.ErrInvalid, fault.EngineFailure},
	} {
		err := e.translate(c.ctx, "do it", c.err)
		if fault.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if err != nil && c.want != fault.ImageUnsafe && !strings.Contains(err.Error(), "do it") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for code, want := range map[codes.Code]bool{
		codes.FailedPrecondition: true, codes.NotFound: true, codes.Unknown: true,
		codes.Unavailable: false, codes.DeadlineExceeded: false, codes.Canceled: false,
	} {
		if refused(status.Error(code, "x")) != want || refused(e.translate(t.Context(), "do it", status.Error(code, "x"))) != want {
			t.Errorf("%s: refused is not %v", code, want)
		}
	}
}

func TestProbe(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		f, err := l.Probe(t.Context())
		must(t, err)
		if f.Engine != isolation.Containerd || f.Reachability != admission.Reachable || !f.APISupported || f.OSType != "linux" ||
			!f.SwapLimit || !f.PidsLimit || !f.MemoryLimit || !f.Seccomp || !f.PrivateCgroup || f.Runtime != DefaultRuntime ||
			f.CPUs < 1 || f.MemoryBytes < 1<<30 || f.Desktop || f.Rootless {
			t.Errorf("%+v", f)
		}
		said, err := exec.Command("runc", "--version").Output()
		must(t, err)
		parts := l.Parts(t.Context(), f)
		if v := parts["runc"]; v == "" || !strings.HasPrefix(string(said), "runc version "+v+"\n") || parts["containerd"] != f.Version {
			t.Errorf("%v, where runc says %s", parts, said)
		}
	})
	for text, want := range map[string][2]string{
		"runc version 1.1.5+ds1\ncommit: x\n": {"runc", "1.1.5+ds1"}, "crun version 1.8.1\ncommit: x\n": {"crun", "1.8.1"},
		"something\n": {"file", ""}, "": {"file", ""},
	} {
		if name, v := versionLine("file", text); name != want[0] || v != want[1] {
			t.Errorf("%q: %q %q", text, name, v)
		}
	}
	for version, want := range map[string]bool{
		"v2.4.2": true, "2.4.2+unknown": true, "1.6.20~ds1": true, "1.7.0": true, "1.5.9": false, "3.0.0": false, "": false, "x": false,
	} {
		if _, ok := supported(version); ok != want {
			t.Errorf("%q: %v", version, ok)
		}
	}
}

// A socket that is not there, one that nobody may use, and one behind which
// nobody answers.
func TestUnreachable(t *testing.T) {
	dir := t.TempDir()
	silent := filepath.Join(dir, "silent.sock")
	s, err := net.Listen("unix", silent)
	must(t, err)
	defer s.Close()
	for _, address := range []string{filepath.Join(dir, "none.sock"), silent} {
		e, err := New(Config{Address: address, Dir: dir})
		must(t, err)
		defer func() { _ = e.Close() }()
		enginetest.Soon(t, "Probe", func() {
			if f, err := e.Probe(t.Context()); err != nil || f.Reachability != admission.Unreachable || f.Detail == "" {
				t.Errorf("%+v %v", f, err)
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		owner := ports.Ownership{Admission: goldenAdm, Installation: goldenInst}
		c := ports.ContainerID(isolation.ContainerName(goldenAdm))
		for name, fn := range map[string]func() error{
			"Find":    func() error { _, err := e.Find(ctx, goldenAdm); return err },
			"Inspect": func() error { _, err := e.Inspect(ctx, c); return err },
			"Create":  func() error { _, _, err := e.Create(ctx, goldenSpec(t, isolation.StdinClosed)); return err },
			"Start":   func() error { return e.Start(ctx, c) },
			"Kill":    func() error { return e.Kill(ctx, c) },
			"Remove":  func() error { return e.Remove(ctx, c, owner) },
			"Wait":    func() error { _, err := e.Wait(ctx, c); return err },
		} {
			enginetest.Soon(t, name, func() {
				if err := fn(); fault.CodeOf(err) != fault.DaemonUnreachable && fault.CodeOf(err) != fault.EngineTimeout {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "inst_*")); err != nil || len(left) > 0 {
		t.Errorf("an engine that is not there left %v", left)
	}
}

// A cancelled Create leaves nothing that FindOwned does not find.
func TestCreate_CutOffAnywhere(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		for d := time.Millisecond; d < 200*time.Millisecond; d = d * 3 / 2 {
			j := newJob(t, l, "exit 0", isolation.StdinPipe)
			ctx, cancel := context.WithTimeout(t.Context(), d)
			_, _, err := l.Create(ctx, j.Spec)
			cancel()
			found, findErr := l.FindOwned(t.Context(), l.inst)
			must(t, findErr)
			for _, c := range found {
				if c.Name != j.Spec.Name() {
					t.Errorf("after %v: %+v", d, c)
				}
			}
			if err == nil && len(found) != 1 {
				t.Errorf("after %v: made and not found", d)
			}
			must(t, l.Remove(t.Context(), ports.ContainerID(j.Spec.Name()), j.Owner))
			if left, err := l.FindOwned(t.Context(), l.inst); err != nil || len(left) > 0 {
				t.Errorf("after %v: %+v %v", d, left, err)
			}
		}
	})
}

// another is a second process's adapter of the same engine.
func (l *lab) another(t *testing.T) *Engine {
	t.Helper()
	e, err := New(l.cfg)
	must(t, err)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// relabel writes on an image's manifest which config it has; an empty one takes the label away.
func (l *lab) relabel(t *testing.T, img image, config string) {
	t.Helper()
	_, err := l.client.ContentStore().Update(t.Context(), content.Info{Digest: img.Target.Digest, Labels: map[string]string{configLabel: config}}, "labels."+configLabel)
	must(t, err)
}

func TestImages(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		f, err := l.InspectImage(t.Context(), l.image)
		must(t, err)
		if !f.Present || f.ID != l.image || f.OS != "linux" || len(f.Entrypoint) != 1 || f.Entrypoint[0] != isolation.RunnerPath ||
			f.Labels[isolation.LabelProtocol] != "test" || f.SizeBytes < 1000 || f.Healthcheck {
			t.Errorf("%+v", f)
		}
		img, present, err := l.imageBy(t.Context(), l.image)
		if err != nil || !present {
			t.Fatalf("%v %v", present, err)
		}
		// By the engine's labels, without a look at any other image; and when there are
		// none, or they lie.
		fresh := l.another(t)
		if got, present, err := fresh.labelled(t.Context(), l.image); err != nil || !present || got.Name != img.Name {
			t.Errorf("by its label: %s %v %v", got.Name, present, err)
		}
		for _, label := range []string{"", goldenImage} {
			l.relabel(t, img, label)
			if _, present, err := fresh.labelled(t.Context(), goldenImage); err != nil || present {
				t.Errorf("a label of %q was believed: %v", label, err)
			}
			if got, present, err := l.another(t).imageBy(t.Context(), l.image); err != nil || !present || got.Name != img.Name {
				t.Errorf("without its label: %s %v %v", got.Name, present, err)
			}
		}
		l.relabel(t, img, l.image)
		byManifest, err := l.InspectImage(t.Context(), img.Target.Digest.String())
		if err != nil || byManifest.ID != l.image {
			t.Errorf("by the manifest's digest: %+v %v", byManifest, err)
		}
		for _, digest := range []string{goldenImage, "", "sha256:x", l.tag} {
			if f, err := l.InspectImage(t.Context(), digest); err != nil || f.Present {
				t.Errorf("%q: %+v %v", digest, f, err)
			}
		}
		evil, tag, err := l.load(t.Context(), func(c map[string]any) {
			c["Healthcheck"] = map[string]any{"Test": []string{"CMD", "x"}}
			c["OnBuild"] = []string{"RUN x"}
			c["ExposedPorts"] = map[string]any{"80/tcp": struct{}{}}
			c["Env"] = []string{"LD_PRELOAD=/x"}
		})
		must(t, err)
		f, err = l.InspectImage(t.Context(), evil)
		if err != nil || !f.Healthcheck || len(f.OnBuild) != 1 || len(f.Ports) != 1 || len(f.Env) != 1 {
			t.Errorf("%+v %v", f, err)
		}
		for _, bad := range []string{evil, "name", "name@" + evil} {
			if err := l.Untag(t.Context(), bad); fault.CodeOf(err) != fault.InvalidArgument {
				t.Errorf("untag %q: %v", bad, err)
			}
		}
		must(t, l.Untag(t.Context(), tag))
		must(t, l.Untag(t.Context(), tag))
		if f, err := l.InspectImage(t.Context(), evil); err != nil || f.Present {
			t.Errorf("after untag: %+v %v", f, err)
		}
	})
}

func TestBases(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		name, _, _ := strings.Cut(l.tag, ":")
		id, err := l.ResolveBase(t.Context(), name+"@"+l.image)
		if err != nil || id != l.image {
			t.Fatalf("%s %v", id, err)
		}
		for ref, want := range map[string]fault.Code{
			"other@" + l.image: fault.BaseAbsent, name + "@" + goldenImage: fault.BaseAbsent, l.tag: fault.BaseUnpinned, "@": fault.BaseUnpinned,
		} {
			if _, err := l.ResolveBase(t.Context(), ref); fault.CodeOf(err) != want {
				t.Errorf("%s: %v", ref, err)
			}
		}
		r, err := l.Export(t.Context(), id)
		must(t, err)
		must(t, l.Load(t.Context(), r)) // what it exports it also loads
		must(t, r.Close())
		if _, err := l.Export(t.Context(), goldenImage); fault.CodeOf(err) != fault.ImageUnavailable {
			t.Errorf("%v", err)
		}
		if err := l.Load(t.Context(), strings.NewReader("no archive")); fault.CodeOf(err) != fault.EngineFailure {
			t.Errorf("%v", err)
		}
	})
}
