package docker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/docker/docker/api/types/image"

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

func TestDemux(t *testing.T) {
	join := func(bs ...[]byte) []byte { return bytes.Join(bs, nil) }
	for name, c := range map[string]struct {
		in       []byte
		out, err string
		bad      bool
	}{
		"nothing":         {},
		"both":            {in: join(frame(1, "a", 1), frame(2, "b", 1), frame(1, "c", 1)), out: "ac", err: "b"},
		"an empty frame":  {in: join(frame(1, "", 0), frame(2, "b", 1)), err: "b"},
		"a large frame":   {in: frame(1, strings.Repeat("x", 100_000), 100_000), out: strings.Repeat("x", 100_000)},
		"cut content":     {in: frame(1, "a", 2), out: "a", bad: true},
		"no content":      {in: frame(1, "", 2), bad: true},
		"a cut header":    {in: []byte{1, 0}, bad: true},
		"an alien stream": {in: frame(3, "x", 1), bad: true},
		"a huge claim":    {in: frame(1, "", 1<<32-1), bad: true},
	} {
		for how, r := range map[string]io.Reader{"whole": bytes.NewReader(c.in), "bytewise": iotest.OneByteReader(bytes.NewReader(c.in))} {
			var out, errs bytes.Buffer
			err := demux(&passing{w: &out}, &passing{w: &errs}, r)
			if out.String() != c.out || errs.String() != c.err || (err != nil) != c.bad {
				t.Errorf("%s, %s: %d and %d bytes, %v", name, how, out.Len(), errs.Len(), err)
			}
		}
	}
	t.Run("a writer that fails does not end the other", func(t *testing.T) {
		r, w := io.Pipe()
		_ = r.Close()
		var errs bytes.Buffer
		if err := demux(&passing{w: w}, &passing{w: &errs}, bytes.NewReader(join(frame(1, "a", 1), frame(2, "b", 1)))); err != nil || errs.String() != "b" {
			t.Errorf("%q %v", errs.String(), err)
		}
	})
}

func TestTranslate(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want fault.Code
	}{
		"nothing":            {context.Background(), nil, ""},
		"a fault stays":      {context.Background(), fault.New(fault.NotFound, "x"), fault.NotFound},
		"a deadline":         {context.Background(), context.DeadlineExceeded, fault.EngineTimeout},
		"an ended context":   {over, io.ErrUnexpectedEOF, fault.EngineTimeout},
		"a cut connection":   {context.Background(), io.ErrUnexpectedEOF, fault.DaemonUnreachable},
		"a reset connection": {context.Background(), syscall.ECONNRESET, fault.DaemonUnreachable},
		"a forbidden socket": {context.Background(), &fs.PathError{Err: syscall.EACCES}, fault.DaemonPermission},
		"something else":     {context.Background(), errors.New("x"), fault.EngineFailure},
	} {
		if got := fault.CodeOf(translate(c.ctx, "x", c.err)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

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
