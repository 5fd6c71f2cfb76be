package docker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"

	"cyberagent/adapters/conformance/enginetest"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

func TestEngine_CreateFaults(t *testing.T) {
	t.Parallel()
	imageID := "sha256:" + strings.Repeat("a", 64)
	name := isolation.ContainerName(fakeOwner.Admission)
	prepare := func(t *testing.T) (*fake, isolation.Spec) {
		f := newFake(t)
		f.on("GET /images/"+imageID+"/json", answer(image.InspectResponse{ID: imageID}))
		f.on("GET "+pathOf+"/json", answer(inState(created())))
		return f, enginetest.NewSpec(t, fakeOwner, imageID, "exit 0", isolation.StdinClosed)
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
		enginetest.Soon(t, "Create", func() {
			c, _, err := f.Create(ctx, spec)
			wantCode(t, err, fault.EngineTimeout)
			if c != fakeID || !errors.Is(err, context.Canceled) {
				t.Errorf("%q %v", c, err)
			}
		})
	})
}

// The tests of this file need a real engine (see realEngine). Names of pitfalls
// refer to the engine's habits: each was seen on 20.10.

func TestCreate_ReadsBack(t *testing.T) {
	for _, stdin := range []isolation.Stdin{isolation.StdinClosed, isolation.StdinPipe} {
		j := newJob(t, "exit 0", stdin)
		j.Make()
		if diffs := isolation.Compare(j.Spec, j.Props); len(diffs) > 0 {
			t.Errorf("%s: %+v", stdin, diffs)
		}
		again, err := j.ReadBack(t.Context(), j.ID)
		must(t, err)
		if diffs := isolation.Compare(j.Spec, again); len(diffs) > 0 {
			t.Errorf("%s: %+v", stdin, diffs)
		}
		if *update && stdin == isolation.StdinPipe {
			_, raw, err := j.inspect(t.Context(), string(j.ID))
			must(t, err)
			record(t, j.negotiated.Load().ClientVersion(), raw, j.Spec)
		}
	}
}

func TestCreate_IsInEffect(t *testing.T) {
	j := newJob(t, "look", isolation.StdinClosed)
	out, _, exit := j.Run()
	if exit != (ports.Exit{}) {
		t.Errorf("%+v: %s", exit, out)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, want := range []string{
		"hostname standard-code", "wd /workspace", "mask gitdir: .standard-code-git-disabled",
		"status NoNewPrivs:\t1", "status Seccomp:\t2", "status CapEff:\t0000000000000000", "status CapBnd:\t0000000000000000",
		"status CapPrm:\t0000000000000000", "status CapInh:\t0000000000000000", "status CapAmb:\t0000000000000000",
		"status Uid:\t65532\t65532\t65532\t65532", "status Gid:\t65532\t65532\t65532\t65532", "status Pid:\t1",
		"statfs /standard-code/cache 134217728 16384 <nil>", "statfs /dev/shm 67108864 4096 <nil>",
		"write /probe false", "write /workspace/probe true", "write /standard-code/cache/probe true", "write /dev/shm/probe true",
		"write /dev/probe false", "write /sys/fs/cgroup/probe false",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}
	for _, l := range lines {
		// HOME is the runtime's own and cannot be taken away.
		if strings.HasPrefix(l, "env ") && l != "env HOME=/" {
			t.Errorf("%q", l)
		}
		if strings.HasPrefix(l, "ns ") {
			kind, _, _ := strings.Cut(strings.TrimPrefix(l, "ns "), ":")
			if host, err := os.Readlink("/proc/self/ns/" + kind); err == nil && "ns "+host == l {
				t.Errorf("%s is the host's", kind)
			}
		}
		if strings.HasPrefix(l, "mount ") && strings.Contains(l, " "+isolation.CacheDir+" ") && (!strings.Contains(l, "nosuid,nodev") || strings.Contains(l, "noexec")) {
			t.Errorf("%q", l)
		}
		if strings.HasPrefix(l, "mount ") && strings.Contains(l, " "+isolation.ShmDir+" ") && !strings.Contains(l, "nosuid,nodev,noexec") {
			t.Errorf("%q", l)
		}
	}
}

func TestCreate_Twice(t *testing.T) {
	j := newJob(t, "exit 0", isolation.StdinClosed)
	j.Make()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			again, p, err := j.Create(t.Context(), j.Spec)
			if err != nil || again != j.ID || len(isolation.Compare(j.Spec, p)) > 0 {
				t.Errorf("%s, want %s: %v", again, j.ID, err)
			}
		})
	}
	wg.Wait()
	found, err := j.Find(t.Context(), j.Owner.Admission)
	must(t, err)
	if len(found) != 1 || found[0].State != ports.StateCreated || !found[0].StartedAt.IsZero() {
		t.Errorf("%+v", found)
	}
}

func TestCreate_AtOnce(t *testing.T) {
	j := newJob(t, "exit 0", isolation.StdinClosed)
	ids := make([]ports.ContainerID, 4)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			var err error
			if ids[i], _, err = j.Create(t.Context(), j.Spec); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(slices.Compact(ids)) != 1 {
		t.Errorf("%q", ids)
	}
}

// A5: whenever the context ends, what the engine made is found.
func TestCreate_Cancelled(t *testing.T) {
	for i := range 8 {
		j := newJob(t, "exit 0", isolation.StdinClosed)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*4)*time.Millisecond)
		enginetest.Soon(t, "Create", func() {
			c, _, err := j.Create(ctx, j.Spec)
			if err != nil && fault.CodeOf(err) != fault.EngineTimeout {
				t.Errorf("%v", err)
			}
			if c != "" {
				if _, err := j.Inspect(t.Context(), c); err != nil {
					t.Error(err)
				}
			}
		})
		cancel()
		c, p, err := j.Create(t.Context(), j.Spec)
		must(t, err)
		if diffs := isolation.Compare(j.Spec, p); len(diffs) > 0 {
			t.Errorf("%+v", diffs)
		}
		owned, err := j.FindOwned(t.Context(), lab.inst)
		must(t, err)
		n := 0
		for _, o := range owned {
			if o.Name == j.Spec.Name() {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d containers", n)
		}
		must(t, j.Remove(t.Context(), c, j.Owner))
	}
}

func TestCreate_Refusals(t *testing.T) {
	e := realEngine(t)
	t.Run("an absent image", func(t *testing.T) {
		owner := ports.Ownership{Admission: "adm_X", Installation: lab.inst}
		_, _, err := e.Create(t.Context(), enginetest.NewSpec(t, owner, "sha256:"+strings.Repeat("0", 64), "exit 0", isolation.StdinClosed))
		wantCode(t, err, fault.ImageUnavailable)
	})
	t.Run("A13: an absent source is not made", func(t *testing.T) {
		j := newJob(t, "exit 0", isolation.StdinClosed)
		root := j.Spec.Properties().Mounts[0].Source
		must(t, os.RemoveAll(root))
		_, _, err := j.Create(t.Context(), j.Spec)
		wantCode(t, err, fault.EngineFailure)
		if _, err := os.Stat(root); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the engine made the source: %v", err)
		}
		found, err := j.Find(t.Context(), j.Owner.Admission)
		must(t, err)
		if len(found) > 0 {
			t.Errorf("%+v", found)
		}
	})
}

// loadImage loads a variant of the test image.
func loadImage(t *testing.T, edit func(map[string]any)) string {
	t.Helper()
	e := realEngine(t)
	img, err := testImage(edit)
	must(t, err)
	must(t, e.Load(t.Context(), bytes.NewReader(img.Tar)))
	t.Cleanup(func() { must(t, e.Untag(context.Background(), img.Tag)) })
	id, err := imageID(t.Context(), e, img.Tag)
	must(t, err)
	return id
}

// A8: what an image brings along is taken away, or the image is refused.
func TestCreate_HostileImage(t *testing.T) {
	hostile := func(c map[string]any) {
		c["Env"] = []string{"LD_PRELOAD=/evil.so", "A=b=c"}
		c["Cmd"] = []string{"prefix"}
		c["User"] = "root"
		c["WorkingDir"] = "/etc"
		c["StopSignal"] = "SIGUSR1"
		c["Healthcheck"] = map[string]any{"Test": []string{"CMD", "/standard-code/runner", "x", "exit 0"}, "Interval": 1000000}
		c["OnBuild"] = []string{"RUN true"}
	}
	t.Run("taken away", func(t *testing.T) {
		image := loadImage(t, hostile)
		j := newJob(t, "look", isolation.StdinClosed)
		facts, err := j.InspectImage(t.Context(), image)
		must(t, err)
		if !facts.Healthcheck || len(facts.Env) < 2 || len(facts.OnBuild) != 1 || len(facts.Cmd) != 1 {
			t.Errorf("%+v", facts)
		}
		j.Spec = enginetest.NewSpec(t, j.Owner, image, "look", isolation.StdinClosed)
		out, _, _ := j.Run()
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "env ") && line != "env HOME=/\n" {
				t.Errorf("inherited: %s", line)
			}
		}
		if diffs := isolation.Compare(j.Spec, j.Props); len(diffs) > 0 {
			t.Errorf("%+v", diffs)
		}
	})
	t.Run("refused", func(t *testing.T) {
		image := loadImage(t, func(c map[string]any) {
			c["Volumes"] = map[string]any{"/leak": map[string]any{}}
			c["ExposedPorts"] = map[string]any{"80/tcp": map[string]any{}}
			c["Labels"] = map[string]string{"theirs": "yes"}
		})
		j := newJob(t, "exit 0", isolation.StdinClosed)
		facts, err := j.InspectImage(t.Context(), image)
		must(t, err)
		if len(facts.Volumes) != 1 || len(facts.Ports) != 1 || facts.Labels["theirs"] != "yes" {
			t.Errorf("%+v", facts)
		}
		_, _, err = j.Create(t.Context(), enginetest.NewSpec(t, j.Owner, image, "exit 0", isolation.StdinClosed))
		wantCode(t, err, fault.ImageUnsafe)
		found, err := j.Find(t.Context(), j.Owner.Admission)
		must(t, err)
		if len(found) > 0 {
			t.Errorf("%+v", found)
		}
	})
}
