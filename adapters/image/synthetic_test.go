package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"cyberagent/domain/command"
	"cyberagent/domain/fault"
)

// item is one entry of a made-up layer. A text is a file unless typ says more.
type item struct {
	name string
	typ  byte // 0 means a file
	mode int64
	text string
	link string
}

func txt(name, text string) item    { return item{name: name, text: text, mode: 0o644} }
func exe(name, text string) item    { return item{name: name, text: text, mode: 0o755} }
func folder(name string) item       { return item{name: name, typ: tar.TypeDir, mode: 0o755} }
func link(name, target string) item { return item{name: name, typ: tar.TypeSymlink, link: target} }
func hard(name, target string) item { return item{name: name, typ: tar.TypeLink, link: target} }

var stamp = time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC)

// tarOf makes a layer's bytes exactly as given, in that order.
func tarOf(t *testing.T, items ...item) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, i := range items {
		h := &tar.Header{Name: i.name, Typeflag: i.typ, Mode: i.mode, Linkname: i.link, ModTime: stamp, Uid: 65532, Gid: 65532,
			PAXRecords: map[string]string{"SCHILY.xattr.security.capability": "forbidden"}}
		if i.typ == 0 {
			h.Typeflag, h.Size = tar.TypeReg, int64(len(i.text))
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, i.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// plainLayer is not compressed, as Docker's classic store exports.
func plainLayer(t *testing.T, items ...item) v1.Layer {
	return static.NewLayer(tarOf(t, items...), types.DockerUncompressedLayer)
}

func imageOf(t *testing.T, os, arch string, layers ...v1.Layer) v1.Image {
	t.Helper()
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: os, Architecture: arch,
		RootFS: v1.RootFS{Type: "layers"}, Config: v1.Config{
			Env: []string{"LD_PRELOAD=/evil.so"}, User: "nobody", WorkingDir: "/x", Cmd: []string{"sh"},
			Volumes: map[string]struct{}{"/v": {}}, ExposedPorts: map[string]struct{}{"80/tcp": {}},
			Labels: map[string]string{"maintainer": "somebody"}, OnBuild: []string{"RUN x"},
			Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "x"}}, StopSignal: "SIGKILL", Shell: []string{"sh"},
		}})
	if err == nil {
		img, err = mutate.AppendLayers(img, layers...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// exported is a base as an engine would hand it out.
type exported struct {
	holds []command.Toolchain
	id    string
	data  []byte
}

func export(t *testing.T, img v1.Image, holds ...command.Toolchain) exported {
	t.Helper()
	tag, err := name.NewTag("base.local/x:y")
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := tarball.Write(tag, img, &buf); err != nil {
		t.Fatal(err)
	}
	id, err := img.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	return exported{holds, id.String(), buf.Bytes()}
}

// system is what every made-up base has: a merged /usr of one release.
func system() []item {
	return []item{
		folder("etc"), folder("usr"), folder("usr/bin"), folder("usr/lib"), link("bin", "usr/bin"), link("lib", "usr/lib"),
		txt("usr/lib/os-release", "ID=debian\nVERSION_ID=\"12\"\n"), link("etc/os-release", "../usr/lib/os-release"),
		exe("usr/bin/env", "env"), txt("usr/lib/libc.so.6", "libc"),
	}
}

// own is what each base adds, complete for the contract.
var ownItems = map[command.Toolchain][]item{
	command.Rust:   {exe("usr/bin/cargo", "cargo"), exe("usr/bin/rustc", "rustc"), exe("usr/bin/gcc", "gcc"), link("usr/bin/cc", "gcc")},
	command.Python: {exe("usr/bin/python3.11", "py"), link("usr/bin/python3", "python3.11"), folder("usr/lib/python3/dist-packages/pytest"), txt("usr/lib/python3/dist-packages/pytest/__init__.py", "")},
	command.Node:   {exe("usr/local/bin/node", "node"), exe("usr/local/lib/node_modules/npm/bin/npm-cli.js", "npm"), exe("usr/local/lib/node_modules/npm/bin/npx-cli.js", "npx")},
	command.Go:     {exe("usr/local/go/bin/go", "go"), exe("usr/local/go/bin/gofmt", "gofmt")},
}

// bases makes the four bases, each with what extra adds to it.
func bases(t *testing.T, extra map[command.Toolchain][]item) []exported {
	t.Helper()
	var all []exported
	for _, tc := range command.Toolchains() {
		items := slices.Concat(system(), ownItems[tc], extra[tc])
		all = append(all, export(t, imageOf(t, "linux", "amd64", plainLayer(t, items...)), tc))
	}
	return all
}

// outcome is a finished assembly with its files read back.
type outcome struct {
	*Assembly
	config, manifest string
	archive          []byte
	img              v1.Image
	files            map[string]*tar.Header
	texts            map[string]string
}

func assembly(t *testing.T) *Assembly {
	t.Helper()
	scratch := t.TempDir()
	a, err := New(Config{Scratch: scratch, Runner: func(string) ([]byte, error) { return []byte("runner"), nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
			t.Errorf("left in the scratch directory: %v %v", left, err)
		}
	})
	return a
}

func TestATemporaryDirectoryThatIsNotThereIsSaidFirst(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Scratch: filepath.Join(t.TempDir(), "absent")})
	if e := fault.From(err); e == nil || e.Code != fault.ConfigInvalid || e.Field != "TMPDIR" || e.Remedy == "" {
		t.Errorf("%+v", e)
	}
}

// What is copied has errors of its own, which TMPDIR has no part in.
func TestAFileThatCannotBeReadIsNotTakenForTheTemporaryDirectory(t *testing.T) {
	t.Parallel()
	a := assembly(t)
	for _, cause := range []error{os.ErrPermission, os.ErrNotExist} {
		unreadable := fault.Wrap(fault.InvalidArgument, cause, "it cannot be read").At("project")
		if _, _, err := a.scratch.spool(t.Context(), iotest.ErrReader(unreadable)); fault.CodeOf(err) != fault.InvalidArgument || fault.From(err).Field != "project" {
			t.Errorf("%v became %v", unreadable, err)
		}
	}
}

// try adds the bases and finishes.
func try(t *testing.T, all []exported) (*outcome, error) {
	t.Helper()
	o := &outcome{Assembly: assembly(t)}
	for _, b := range all {
		if _, err := o.Add(t.Context(), b.holds, b.id, bytes.NewReader(b.data)); err != nil {
			return nil, err
		}
	}
	var err error
	if o.config, o.manifest, err = o.Finish(t.Context()); err != nil {
		return nil, err
	}
	o.read(t)
	return o, nil
}

func build(t *testing.T, all []exported) *outcome {
	t.Helper()
	o, err := try(t, all)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// read writes the archive and reads it back with another reader than ours.
func (o *outcome) read(t *testing.T) {
	t.Helper()
	// A build that is killed now leaves nothing.
	if left, err := os.ReadDir(o.scratch.dir); runtime.GOOS == "linux" && (err != nil || len(left) > 0) {
		t.Errorf("temporary files have names: %v %v", left, err)
	}
	var buf bytes.Buffer
	if err := o.Write(t.Context(), "cyberagent.local/standard-code-fixture:build-test", &buf); err != nil {
		t.Fatal(err)
	}
	o.archive = buf.Bytes()
	img, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(o.archive)), nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.img, o.files, o.texts = img, map[string]*tar.Header{}, map[string]string{}
	r := mutate.Extract(img)
	defer r.Close()
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		n := "/" + string(bytes.TrimSuffix([]byte(h.Name), []byte("/")))
		o.files[n], o.texts[n] = h, string(b)
	}
}

// has compares a file's text.
func (o *outcome) has(t *testing.T, p, text string) {
	t.Helper()
	if h := o.files[p]; h == nil {
		t.Errorf("%s is missing", p)
	} else if h.Typeflag == tar.TypeSymlink && h.Linkname != text || h.Typeflag != tar.TypeSymlink && o.texts[p] != text {
		t.Errorf("%s is %q %q, want %q", p, o.texts[p], h.Linkname, text)
	}
}

func (o *outcome) lacks(t *testing.T, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if o.files[p] != nil {
			t.Errorf("%s is in the image", p)
		}
	}
}

// list prints the image's files for a failing test.
func (o *outcome) list() string {
	s := ""
	for _, p := range slices.Sorted(maps.Keys(o.files)) {
		s += fmt.Sprintf("%c %04o %s %s\n", o.files[p].Typeflag, o.files[p].Mode, p, o.files[p].Linkname)
	}
	return s
}
