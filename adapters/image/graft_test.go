package image

import (
	"bytes"
	"strings"
	"testing"

	"cyberagent/domain/fault"
)

func TestALayerIsGraftedBelowTheProductsDirectory(t *testing.T) {
	all := bases(t, nil)
	files := tarOf(t, folder("."), txt("a/b", "warm"), hard("a/c", "a/b"), link("a/l", "b"), item{name: "s", mode: 0o4777, text: "s"})
	graft := func() *outcome {
		o := build(t, all)
		if err := o.Graft(t.Context(), "go cache", "/standard-code/warm/go", bytes.NewReader(files)); err != nil {
			t.Fatal(err)
		}
		before := o.config
		var err error
		if o.config, o.manifest, err = o.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		if o.config == before {
			t.Error("the digest did not change")
		}
		o.read(t)
		return o
	}
	o := graft()
	o.has(t, "/standard-code/warm/go/a/b", "warm")
	o.has(t, "/standard-code/warm/go/a/l", "b")
	o.has(t, "/standard-code/runner", "runner")
	if h := o.files["/standard-code/warm/go/s"]; h == nil || h.Mode != 0o755 || !h.ModTime.Equal(created) {
		t.Errorf("s is %+v", h)
	}
	if h := o.files["/standard-code/warm/go/a/c"]; h == nil || h.Linkname != "standard-code/warm/go/a/b" {
		t.Errorf("c is %+v", h)
	}
	if again := graft(); again.config != o.config {
		t.Error("the same graft gave another digest")
	}
	layers, err := o.img.Layers()
	if err != nil || len(layers) != 6 {
		t.Errorf("%d layers %v, want 6", len(layers), err)
	}
}

func TestAGraftElsewhereIsRefused(t *testing.T) {
	o := build(t, bases(t, nil))
	good := tarOf(t, txt("a", "1"))
	for at, data := range map[string][]byte{
		"/usr/lib/x":               good,
		"/standard-code/../x":      good,
		"/standard-code/":          good,
		"/standard-code/bin":       good,
		"/standard-code/runner":    good,
		"/standard-code/hostile":   tarOf(t, txt("../a", "1")),
		"/standard-code/escaping":  tarOf(t, link("a", "../../../x")),
		"/standard-code/not-a-tar": []byte(strings.Repeat("x", 2000)),
	} {
		if err := o.Graft(t.Context(), "x", at, bytes.NewReader(data)); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%s: got %v", at, err)
		}
	}
}
