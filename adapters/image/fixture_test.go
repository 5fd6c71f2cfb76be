package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"cyberagent/domain/command"
	"cyberagent/domain/toolchain"
)

func TestTheImageInheritsNoConfigurationOfItsBases(t *testing.T) {
	o := build(t, bases(t, nil))
	if err := validate.Image(o.img); err != nil {
		t.Error(err)
	}
	raw, err := o.img.RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "history")
	delete(got, "rootfs")
	text, _ := json.Marshal(got)
	want := `{"architecture":"amd64","config":{"Entrypoint":["/standard-code/runner"],` +
		`"Labels":{"cyberagent.runner-protocol":"standard-code-docker-runner.v2"}},"created":"2026-01-01T00:00:00Z","os":"linux"}`
	if string(text) != want {
		t.Errorf("config\n got %s\nwant %s", text, want)
	}
	if sum(raw) != o.config {
		t.Errorf("config digest %s, want %s", o.config, sum(raw))
	}
}

func TestTheArchiveIsAnOCILayoutOfTheSameImage(t *testing.T) {
	o := build(t, bases(t, nil))
	members := map[string][]byte{}
	tr := tar.NewReader(bytes.NewReader(o.archive))
	for h, err := tr.Next(); err == nil; h, err = tr.Next() {
		var b bytes.Buffer
		b.ReadFrom(tr)
		members[h.Name] = b.Bytes()
	}
	var index v1.IndexManifest
	if err := json.Unmarshal(members["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	if len(index.Manifests) != 1 || index.Manifests[0].Digest.String() != o.manifest {
		t.Fatalf("index %+v, want %s", index.Manifests, o.manifest)
	}
	var m v1.Manifest
	if err := json.Unmarshal(members[blobName(o.manifest)], &m); err != nil {
		t.Fatal(err)
	}
	if m.Config.Digest.String() != o.config {
		t.Errorf("config %s, want %s", m.Config.Digest, o.config)
	}
	for _, d := range append(m.Layers, m.Config) {
		if b := members[blobName(d.Digest.String())]; sum(b) != d.Digest.String() || int64(len(b)) != d.Size {
			t.Errorf("blob %s is not what the manifest says", d.Digest)
		}
	}
}

func TestTheProductsOwnFilesAreLaidIn(t *testing.T) {
	// A base that has something in each of these places, as links where it can.
	o := build(t, bases(t, map[command.Toolchain][]item{command.Rust: {
		link("workspace", "usr"), link("sys", "/usr/lib"), folder("dev"), link("dev/fd", "/proc/self/fd"), link("tmp", "var/tmp"),
		txt("standard-code/runner", "not ours"), exe("standard-code/bin/sh", "not ours"),
		link("etc/resolv.conf", "../run/resolv.conf"), txt("etc/hosts", "1.2.3.4 x"), txt("etc/passwd", "root:x"), txt("etc/shadow", "root:$6$"),
	}}))
	for _, d := range []string{"/dev", "/proc", "/sys", "/workspace", "/standard-code/cache", "/tmp"} {
		want := int64(0o755)
		if d == "/standard-code/cache" {
			want = 0o700
		}
		if h := o.files[d]; h == nil || h.Typeflag != tar.TypeDir || h.Mode != want {
			t.Errorf("%s is not a real directory of mode %04o: %+v", d, want, h)
		}
		for p := range o.files {
			if strings.HasPrefix(p, d+"/") {
				t.Errorf("%s is in %s", p, d)
			}
		}
	}
	for _, f := range []string{"/etc/hostname", "/etc/hosts", "/etc/resolv.conf"} {
		o.has(t, f, "")
		if o.files[f].Typeflag != tar.TypeReg {
			t.Errorf("%s is no regular file", f)
		}
	}
	o.has(t, "/standard-code/runner", "runner")
	if o.files["/standard-code/runner"].Mode != 0o555 {
		t.Errorf("runner has mode %o", o.files["/standard-code/runner"].Mode)
	}
	o.has(t, "/etc/passwd", "root:x:0:0:root:/root:/usr/sbin/nologin\n"+
		"standard-code:x:65532:65532:standard-code:/standard-code/cache/home:/usr/sbin/nologin\n")
	o.lacks(t, "/etc/shadow", "/standard-code/bin/sh")
	want := map[string]string{
		"go": "/usr/local/go/bin/go", "gofmt": "/usr/local/go/bin/gofmt", "node": "/usr/local/bin/node",
		"npm": "/usr/local/lib/node_modules/npm/bin/npm-cli.js", "npx": "/usr/local/lib/node_modules/npm/bin/npx-cli.js",
		"python3": "/usr/bin/python3.11", "cargo": "/usr/bin/cargo", "rustc": "/usr/bin/rustc",
	}
	for _, tool := range toolchain.Tools() {
		o.has(t, toolchain.Bin+"/"+tool, want[tool])
	}
	if t.Failed() {
		t.Log("\n" + o.list())
	}
}

func TestNothingInTheImageIsWritableOrPrivileged(t *testing.T) {
	o := build(t, bases(t, map[command.Toolchain][]item{command.Python: {
		{name: "usr/bin/su", mode: 0o6755, text: "su"},
		{name: "usr/lib/open", typ: tar.TypeDir, mode: 0o1777},
		{name: "usr/lib/open/file", mode: 0o666, text: "x"},
		{name: "usr/lib/disk", typ: tar.TypeBlock, mode: 0o666},
		{name: "usr/lib/pipe", typ: tar.TypeFifo, mode: 0o666},
	}}))
	o.has(t, "/usr/bin/su", "su")
	o.has(t, "/usr/lib/open/file", "x")
	o.lacks(t, "/usr/lib/disk", "/usr/lib/pipe")
	for p, h := range o.files {
		if h.Typeflag != tar.TypeSymlink && h.Mode&^0o755 != 0 {
			t.Errorf("%s has mode %o", p, h.Mode)
		}
		if h.Uid != 0 || h.Gid != 0 || len(h.PAXRecords) > 0 || len(h.Xattrs) > 0 { //nolint:staticcheck // both forms
			t.Errorf("%s has owner %d:%d and records %v", p, h.Uid, h.Gid, h.PAXRecords)
		}
		if !slices.Contains([]byte{tar.TypeDir, tar.TypeReg, tar.TypeSymlink, tar.TypeLink}, h.Typeflag) {
			t.Errorf("%s has type %q", p, h.Typeflag)
		}
	}
}

func TestWhatIsDroppedIsGone(t *testing.T) {
	o := build(t, bases(t, map[command.Toolchain][]item{command.Go: {
		txt(".dockerenv", ""), txt("root/.ssh/id_rsa", "key"), txt("root/.netrc", "secret"), txt("home/me/x", "x"), txt("etc/ssh/ssh_host_key", "k"),
		txt("opt/x/.ssh/id", "k"), txt("run/x", "x"), {name: "tmp", typ: tar.TypeDir, mode: 0o1777}, txt("tmp/x", "x"), txt("var/cache/apt/x", "x"),
		txt("var/lib/apt/lists/x", "x"), txt("var/lib/dpkg/status", "x"), txt("var/log/x", "x"), txt("etc/machine-id", "1"),
		txt("usr/share/doc/x/changelog", "x"), txt("usr/share/doc/x/copyright", "c"), txt("usr/share/man/man1/x", "x"), txt("usr/share/locale/de/x", "x"),
		txt("usr/lib/locale/C.utf8/LC_CTYPE", "c"), txt("etc/apt/auth.conf", "secret"), txt("etc/ld.so.cache", "cache"),
	}}))
	for p := range o.files {
		for _, gone := range []string{"/root/", "/home/", "/etc/ssh", "/run/", "/tmp/", "/var/cache/", "/var/lib/apt", "/var/lib/dpkg",
			"/var/log/", "/usr/share/man/", "/usr/share/locale/", "/etc/apt", "/.dockerenv", "/etc/machine-id"} {
			if strings.HasPrefix(p, gone) || strings.Contains(p, ".ssh") {
				t.Errorf("%s is in the image", p)
			}
		}
	}
	o.lacks(t, "/usr/share/doc/x/changelog")
	o.has(t, "/usr/share/doc/x/copyright", "c")
	o.has(t, "/usr/lib/locale/C.utf8/LC_CTYPE", "c")
	o.has(t, "/etc/ld.so.cache", "cache")
}

func TestTheSameInputsGiveTheSameBytes(t *testing.T) {
	all := bases(t, map[command.Toolchain][]item{command.Node: {txt("usr/lib/zz/ü", "x"), hard("usr/lib/aa", "usr/lib/zz/ü")}})
	first := build(t, all)
	slices.Reverse(all) // the order of adding is no input
	second := build(t, all)
	if first.config != second.config || first.manifest != second.manifest || !bytes.Equal(first.archive, second.archive) {
		t.Errorf("digests differ: %s %s, %s %s", first.config, first.manifest, second.config, second.manifest)
	}
	other := build(t, bases(t, map[command.Toolchain][]item{command.Node: {txt("usr/lib/zz/ü", "y")}}))
	if other.config == first.config || other.manifest == first.manifest {
		t.Error("other inputs gave the same digests")
	}
}

func TestTimesOfFilesStayThoseOfTheBase(t *testing.T) {
	o := build(t, bases(t, nil))
	if got := o.files["/usr/bin/cargo"].ModTime; !got.Equal(stamp) {
		t.Errorf("cargo is of %v, want %v: byte code would not match its source", got, stamp)
	}
	if got := o.files["/usr/bin"].ModTime; !got.Equal(created) {
		t.Errorf("a directory is of %v, want %v", got, created)
	}
}
