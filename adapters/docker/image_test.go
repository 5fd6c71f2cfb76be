package docker

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/docker/docker/api/types/image"

	"cyberagent/adapters/conformance/enginetest"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
)

func TestEngine_ImageIdentity(t *testing.T) {
	config, manifest := "sha256:"+strings.Repeat("c", 64), "sha256:"+strings.Repeat("d", 64)
	facts := func(t *testing.T, f *fake, digest string) (string, bool, error) {
		t.Helper()
		i, err := f.InspectImage(t.Context(), digest)
		if i.Configured != digest {
			t.Errorf("configured %q", i.Configured)
		}
		return i.ID, i.Present, err
	}
	t.Run("the engine's own store", func(t *testing.T) {
		f := newFake(t)
		f.on("GET /images/"+config+"/json", answer(image.InspectResponse{ID: config}))
		f.on("GET /images/json", answer([]image.Summary{{ID: config, RepoDigests: []string{"reg.example/x@" + manifest, "y@" + manifest}}}))
		for _, digest := range []string{config, manifest} {
			if id, present, err := facts(t, f, digest); id != config || !present || err != nil {
				t.Errorf("%s: %q %v %v", digest, id, present, err)
			}
		}
	})
	t.Run("containerd's store", func(t *testing.T) {
		f := newFake(t)
		f.on("GET /images/"+manifest+"/json", answer(image.InspectResponse{ID: manifest}))
		f.on("GET /images/json", answer([]image.Summary{}))
		if id, present, err := facts(t, f, manifest); id != manifest || !present || err != nil {
			t.Errorf("%q %v %v", id, present, err)
		}
		if _, present, err := facts(t, f, config); present || err != nil {
			t.Errorf("%v %v", present, err)
		}
	})
	t.Run("an id is matched whole", func(t *testing.T) {
		f := newFake(t)
		f.on("GET /images/"+config+"/json", answer(image.InspectResponse{ID: manifest}))
		f.on("GET /images/json", answer([]image.Summary{}))
		if _, present, err := facts(t, f, config); present || err != nil {
			t.Errorf("%v %v", present, err)
		}
	})
	t.Run("two images of one manifest are none", func(t *testing.T) {
		f := newFake(t)
		f.on("GET /images/json", answer([]image.Summary{
			{ID: config, RepoDigests: []string{"x@" + manifest}}, {ID: "sha256:" + strings.Repeat("e", 64), RepoDigests: []string{"y@" + manifest}},
		}))
		_, present, err := facts(t, f, manifest)
		wantCode(t, err, fault.ImageUnavailable)
		if present {
			t.Error("present")
		}
	})
	t.Run("what is no digest is not looked for", func(t *testing.T) {
		f := newFake(t)
		for _, d := range []string{"", "x", "sha256:abc", config + "0", strings.ToUpper(config), "x@" + config} {
			if _, present, err := facts(t, f, d); present || err != nil {
				t.Errorf("%q: %v %v", d, present, err)
			}
		}
		if len(f.asked) > 0 {
			t.Errorf("%v", f.asked)
		}
	})
}

func TestEngine_ResolveBase(t *testing.T) {
	a, b, m := "sha256:"+strings.Repeat("a", 64), "sha256:"+strings.Repeat("b", 64), "sha256:"+strings.Repeat("d", 64)
	f := newFake(t)
	f.on("GET /images/json", answer([]image.Summary{
		{ID: a, RepoTags: []string{"go-base:1", "localhost:5000/team/base:2"}, RepoDigests: []string{"debian@" + m}},
		{ID: b, RepoTags: []string{"node:1"}},
		{ID: "sha256:" + strings.Repeat("c", 64), RepoDigests: []string{"<none>@<none>"}, RepoTags: []string{"<none>:<none>"}},
	}))
	for ref, want := range map[string]string{
		"go-base@" + a: a, "docker.io/library/go-base@" + a: a, "localhost:5000/team/base@" + a: a, "debian@" + m: a, "docker.io/library/debian@" + m: a, "node@" + b: b,
		"go-base@" + b: "", "node@" + m: "", "other@" + a: "",
	} {
		id, err := f.ResolveBase(t.Context(), ref)
		if id != want || (want == "") != (fault.CodeOf(err) == fault.BaseAbsent) {
			t.Errorf("%s: %q %v", ref, id, err)
		}
	}
	for _, ref := range []string{"", "go-base", "go-base:1", a, "go-base:1@" + a, "go-base@sha256:abc", "go-base@sha512:" + strings.Repeat("a", 128), "Go@" + a, "-x@" + a} {
		_, err := f.ResolveBase(t.Context(), ref)
		if fault.CodeOf(err) != fault.BaseUnpinned {
			t.Errorf("%q: %v", ref, err)
		}
	}
}

func TestImages(t *testing.T) {
	e := realEngine(t)
	facts, err := e.InspectImage(t.Context(), lab.image)
	must(t, err)
	if !facts.Present || facts.ID != lab.image || facts.OS != "linux" || facts.Arch != runtime.GOARCH || !slices.Equal(facts.Entrypoint, []string{isolation.RunnerPath}) ||
		len(facts.Cmd)+len(facts.Env)+len(facts.Volumes)+len(facts.Ports)+len(facts.OnBuild) > 0 || facts.Healthcheck || facts.SizeBytes == 0 || facts.Labels[isolation.LabelProtocol] != "test" {
		t.Errorf("%+v", facts)
	}
	absent, err := e.InspectImage(t.Context(), "sha256:"+strings.Repeat("0", 64))
	must(t, err)
	if absent.Present {
		t.Errorf("%+v", absent)
	}
	name, _, _ := strings.Cut(lab.tag, ":")
	id, err := e.ResolveBase(t.Context(), name+"@"+lab.image)
	must(t, err)
	if id != lab.image {
		t.Errorf("%q", id)
	}
	_, err = e.ResolveBase(t.Context(), "other@"+lab.image)
	wantCode(t, err, fault.BaseAbsent)

	r, err := e.Export(t.Context(), lab.image)
	must(t, err)
	archive, err := io.ReadAll(r)
	must(t, err)
	must(t, r.Close())
	if !bytes.Contains(archive, []byte("manifest.json")) {
		t.Errorf("%d bytes without a manifest", len(archive))
	}
	must(t, e.Load(t.Context(), bytes.NewReader(archive)))
	_, err = e.Export(t.Context(), "sha256:"+strings.Repeat("0", 64))
	if fault.CodeOf(err) != fault.NotFound && fault.CodeOf(err) != fault.EngineFailure {
		t.Errorf("%v", err)
	}

	wantCode(t, e.Load(t.Context(), iotest.ErrReader(errors.New("broken disk"))), fault.Internal)
	for name, bad := range map[string][]byte{"no archive": []byte("nonsense"), "nothing": nil, "no manifest": enginetest.Tar(enginetest.File{Name: "x", Mode: 0o644})} {
		if err := e.Load(t.Context(), bytes.NewReader(bad)); err == nil {
			t.Errorf("%s is loaded", name)
		}
	}
	for _, bad := range []string{lab.image, "", "name", "name@" + lab.image, strings.TrimPrefix(lab.image, "sha256:")} {
		wantCode(t, e.Untag(t.Context(), bad), fault.InvalidArgument)
	}
	must(t, e.Untag(t.Context(), "cyberagent-docker-test:absent"))
}
