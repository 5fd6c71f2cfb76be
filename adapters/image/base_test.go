package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/klauspost/compress/zstd"

	"cyberagent/domain/command"
	"cyberagent/domain/fault"
)

// with replaces one base of four good ones.
func with(t *testing.T, e exported) []exported {
	t.Helper()
	all := bases(t, nil)
	i := slices.IndexFunc(all, func(b exported) bool { return b.holds[0] == e.holds[0] })
	all[i] = e
	return all
}

func goItems(more ...item) []item { return slices.Concat(system(), ownItems[command.Go], more) }

func TestABaseThatIsNotWhatItsDigestSaysIsRefused(t *testing.T) {
	good := export(t, imageOf(t, "linux", "amd64", plainLayer(t, goItems()...)), command.Go)
	t.Run("another image", func(t *testing.T) {
		e := good
		e.id = "sha256:" + strings.Repeat("a", 64)
		refused(t, with(t, e), "not sha256:aaaa")
	})
	t.Run("a changed layer", func(t *testing.T) {
		e := good
		e.data = bytes.Replace(e.data, []byte("gofmt\x00\x00"), []byte("gofm7\x00\x00"), 1)
		refused(t, with(t, e), "its config says")
	})
	t.Run("no archive", func(t *testing.T) {
		e := good
		e.data = []byte(strings.Repeat("this is not a tar ", 100))
		refused(t, with(t, e), "not a docker-archive")
	})
	t.Run("a cut archive", func(t *testing.T) {
		e := good
		e.data = e.data[:len(e.data)/2]
		refused(t, with(t, e), "")
	})
	t.Run("nothing", func(t *testing.T) {
		e := good
		e.data = nil
		refused(t, with(t, e), "manifest.json")
	})
}

func refused(t *testing.T, all []exported, want string) {
	t.Helper()
	_, err := try(t, all)
	if fault.CodeOf(err) != fault.BaseIncompatible || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "go base") {
		t.Errorf("got %v, want fixture_base_incompatible with %q", err, want)
	}
}

func TestBasesMustBeOfOneSystem(t *testing.T) {
	layer := func(release string) v1.Layer {
		return plainLayer(t, append(ownItems[command.Go], txt("etc/os-release", release))...)
	}
	for _, c := range []struct {
		name, os, arch, release, want string
	}{
		{"another release", "linux", "amd64", "ID=debian\nVERSION_ID=13\n", "the go base is debian 13"},
		{"another distribution", "linux", "amd64", "ID=\"alpine\"\nVERSION_ID=12\n", "the go base is alpine 12"},
		{"another architecture", "linux", "arm64", "ID=debian\nVERSION_ID=12\n", "the go base for arm64"},
		{"another operating system", "windows", "amd64", "ID=debian\nVERSION_ID=12\n", "windows/amd64"},
		{"no release", "linux", "amd64", "", "no ID"},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused(t, with(t, export(t, imageOf(t, c.os, c.arch, layer(c.release)), command.Go)), c.want)
		})
	}
	t.Run("no release file", func(t *testing.T) {
		refused(t, with(t, export(t, imageOf(t, "linux", "amd64", plainLayer(t, ownItems[command.Go]...)), command.Go)), "no /etc/os-release")
	})
}

func TestSeveralLayersAreFlattened(t *testing.T) {
	img := imageOf(t, "linux", "amd64",
		plainLayer(t, goItems(txt("usr/lib/secret", "x"), txt("usr/lib/old", "1"))...),
		plainLayer(t, txt("usr/lib/.wh.secret", ""), txt("lib/old", "2"), hard("usr/lib/go-link", "usr/local/go/bin/go")))
	o := build(t, with(t, export(t, img, command.Go)))
	o.lacks(t, "/usr/lib/secret", "/usr/lib/.wh.secret")
	o.has(t, "/usr/lib/old", "2")
	if h := o.files["/usr/local/go/bin/go"]; h == nil || h.Linkname != "usr/lib/go-link" {
		t.Errorf("go is %+v", h)
	}
}

func TestCompressedLayersGiveTheSameImage(t *testing.T) {
	plain := tarOf(t, goItems()...)
	want := build(t, with(t, export(t, imageOf(t, "linux", "amd64", plainLayer(t, goItems()...)), command.Go))).config
	var gz, zst bytes.Buffer
	g := gzip.NewWriter(&gz)
	z, _ := zstd.NewWriter(&zst)
	for _, w := range []io.WriteCloser{g, z} {
		w.Write(plain)
		w.Close()
	}
	for _, data := range [][]byte{gz.Bytes(), zst.Bytes()} {
		l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
		if err != nil {
			t.Fatal(err)
		}
		got := build(t, with(t, export(t, imageOf(t, "linux", "amd64", l), command.Go))).config
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// An engine with the containerd store names an image by its manifest or by the
// index above it, and exports an OCI layout.
func TestAnImageIsProvenByItsManifestToo(t *testing.T) {
	img := imageOf(t, "linux", "amd64", plainLayer(t, goItems()...))
	manifest, err := img.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	index := fmt.Appendf(nil, `{"manifests":[{"digest":"sha256:%064d","size":1},{"digest":%q,"size":%d}]}`, 7, sum(manifest), len(manifest))
	e := layout(t, img, manifest, index)
	for name, id := range map[string]string{"manifest": sum(manifest), "index": sum(index)} {
		t.Run(name, func(t *testing.T) {
			e.id = id
			build(t, with(t, e))
		})
	}
	other, err := mutate.Config(img, v1.Config{})
	if err != nil {
		t.Fatal(err)
	}
	otherManifest, _ := other.RawManifest()
	t.Run("not by another image's", func(t *testing.T) {
		e := layout(t, img, manifest, otherManifest)
		e.id = sum(otherManifest)
		refused(t, with(t, e), "not sha256:")
	})
}

// layout packs an image as blobs, with more blobs beside.
func layout(t *testing.T, img v1.Image, blobs ...[]byte) exported {
	t.Helper()
	config, _ := img.RawConfigFile()
	layers, _ := img.Layers()
	r, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	data, _ := io.ReadAll(r)
	list, _ := json.Marshal([]map[string]any{{"Config": blobName(sum(config)), "Layers": []string{"link/layer.tar"}}})
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	put := func(name string, b []byte) {
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(b)), Mode: 0o644})
		w.Write(b)
	}
	put("manifest.json", list)
	for _, b := range append(blobs, config, data) {
		put(blobName(sum(b)), b)
	}
	// As old engines write a layer that repeats.
	w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "link/layer.tar", Linkname: "../" + blobName(sum(data))})
	w.Close()
	return exported{holds: []command.Toolchain{command.Go}, data: buf.Bytes()}
}

func TestAnEndedContextEndsTheWork(t *testing.T) {
	a := assembly(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := bases(t, nil)[0]
	if _, err := a.Add(ctx, b.holds, b.id, bytes.NewReader(b.data)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	o := build(t, bases(t, nil))
	if err := o.Write(ctx, NewTag(), io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAFailingExportIsReported(t *testing.T) {
	a := assembly(t)
	cause := fault.New(fault.EngineFailure, "the engine broke off")
	_, err := a.Add(t.Context(), []command.Toolchain{command.Go}, "sha256:x", io.MultiReader(strings.NewReader("abc"), failing{cause}))
	if fault.CodeOf(err) != fault.EngineFailure {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
