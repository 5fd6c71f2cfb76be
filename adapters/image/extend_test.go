package image

import (
	"bytes"
	"strings"
	"testing"

	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
)

// extended begins with the fixture of made-up bases.
func extended(t *testing.T, plain *outcome) *outcome {
	t.Helper()
	o := &outcome{Assembly: assembly(t)}
	if err := o.Extend(t.Context(), plain.config, bytes.NewReader(plain.archive)); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *outcome) finish(t *testing.T) {
	t.Helper()
	var err error
	if o.config, o.manifest, err = o.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestExtend_KeepsTheImageAndAddsLayers(t *testing.T) {
	plain := build(t, bases(t, nil))
	again := extended(t, plain)
	again.finish(t)
	if again.config != plain.config || again.manifest != plain.manifest {
		t.Errorf("without a graft it is %s %s, want %s %s", again.config, again.manifest, plain.config, plain.manifest)
	}
	project := func() *outcome {
		o := extended(t, plain)
		for at, files := range map[string][]byte{
			"/standard-code/deps/node/node_modules": tarOf(t, folder("."), txt("a/index.js", "1"), link("own", "/workspace/own")),
		} {
			if err := o.Graft(t.Context(), "node dependencies", at, bytes.NewReader(files)); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.LinkNode(); err != nil {
			t.Fatal(err)
		}
		if err := o.Graft(t.Context(), "go", "/standard-code/deps/go/mod", bytes.NewReader(tarOf(t, txt("m@v1.0.0/m.go", "package m")))); err != nil {
			t.Fatal(err)
		}
		o.Label(isolation.LabelProject, "record")
		o.finish(t)
		o.read(t)
		return o
	}
	o := project()
	o.has(t, "/standard-code/deps/node/node_modules/a/index.js", "1")
	o.has(t, "/standard-code/deps/node/node_modules/own", "/workspace/own")
	o.has(t, "/node_modules", "/standard-code/deps/node/node_modules")
	o.has(t, "/standard-code/deps/go/mod/m@v1.0.0/m.go", "package m")
	o.has(t, "/standard-code/runner", "runner")
	for p := range plain.files {
		if o.files[p] == nil {
			t.Errorf("%s is gone", p)
		}
	}
	if h := o.files["/standard-code/cache"]; h == nil || h.Mode != plain.files["/standard-code/cache"].Mode {
		t.Errorf("the cache's directory is %+v", h)
	}
	cfg, err := o.img.ConfigFile()
	if err != nil || len(cfg.Config.Labels) != 2 || cfg.Config.Labels[isolation.LabelProject] != "record" || len(cfg.Config.Env) > 0 {
		t.Errorf("%+v %v", cfg, err)
	}
	if twin := project(); twin.config != o.config {
		t.Error("the same inputs gave another digest")
	}
}

func TestExtend_RefusesAnImageThatIsNotTheOneOrAProjectsAlready(t *testing.T) {
	plain := build(t, bases(t, nil))
	o := &outcome{Assembly: assembly(t)}
	if err := o.Extend(t.Context(), "sha256:"+strings.Repeat("0", 64), bytes.NewReader(plain.archive)); fault.CodeOf(err) != fault.ImageUnsafe {
		t.Errorf("another image: %v", err)
	}
	project := extended(t, plain)
	project.Label(isolation.LabelProject, "record")
	project.finish(t)
	project.read(t)
	o = &outcome{Assembly: assembly(t)}
	if err := o.Extend(t.Context(), project.config, bytes.NewReader(project.archive)); fault.CodeOf(err) != fault.ImageUnsafe {
		t.Errorf("a project's image: %v", err)
	}
	o = &outcome{Assembly: assembly(t)}
	b := bases(t, nil)[0]
	if _, err := o.Add(t.Context(), []command.Toolchain{command.Go}, b.id, bytes.NewReader(b.data)); err != nil {
		t.Fatal(err)
	}
	if err := o.Extend(t.Context(), plain.config, bytes.NewReader(plain.archive)); fault.CodeOf(err) != fault.Internal {
		t.Errorf("after a base: %v", err)
	}
}

func TestWriteNew_LeavesOutWhatTheEngineHas(t *testing.T) {
	plain := build(t, bases(t, nil))
	o := extended(t, plain)
	if err := o.Graft(t.Context(), "go", "/standard-code/deps/go/mod", bytes.NewReader(tarOf(t, txt("m.go", "package m")))); err != nil {
		t.Fatal(err)
	}
	o.finish(t)
	var all, fresh bytes.Buffer
	if err := o.WriteNew(t.Context(), "x:y", &fresh); err != nil {
		t.Fatal(err)
	}
	if err := o.Write(t.Context(), "x:y", &all); err != nil {
		t.Fatal(err)
	}
	layers, err := o.image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range layers {
		d, err := l.Digest()
		if err != nil {
			t.Fatal(err)
		}
		name := []byte("blobs/sha256/" + d.Hex + "\x00")
		if !bytes.Contains(all.Bytes(), name) || bytes.Contains(fresh.Bytes(), name) != (i == len(layers)-1) {
			t.Errorf("layer %d of %d is in the wrong archive", i+1, len(layers))
		}
	}
	if !o.Has("/standard-code/deps/go/mod/m.go") || o.Has("/standard-code/deps/go/warm") || !plain.Has("/standard-code/runner") {
		t.Error("what an image has is wrong")
	}
}
