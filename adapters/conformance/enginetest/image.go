// Package enginetest is what the tests of the engines' adapters share with the
// conformance suite: a small image, and one container's life.
package enginetest

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"cyberagent/domain/canon"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
)

// Program builds a package's program as containers need it, static, once a
// process, and returns its bytes.
func Program(pkg string) ([]byte, error) {
	programs.Lock()
	build := programs.built[pkg]
	if build == nil {
		build = sync.OnceValues(func() ([]byte, error) { return compile(pkg) })
		programs.built[pkg] = build
	}
	programs.Unlock()
	return build()
}

var programs = struct {
	sync.Mutex
	built map[string]func() ([]byte, error)
}{built: map[string]func() ([]byte, error){}}

func compile(pkg string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "cyberagent-enginetest-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "program")
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", path, pkg)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w: %s", pkg, err, out)
	}
	return os.ReadFile(path)
}

// File is one regular file of an image.
type File struct {
	Name string // without a leading slash
	Body []byte
	Mode int64
}

// Image is an archive that an engine loads.
type Image struct {
	Tag    string // random, so the image has an id of its own
	Digest string // of the config: the id that every engine knows it by
	Tar    []byte
}

// NewImage makes one with the places that the contract mounts on, and with these
// files. edit may change its config; nil changes nothing.
func NewImage(name, protocol string, files []File, edit func(config map[string]any)) (Image, error) {
	layer := tarball(func(w *tar.Writer) {
		for _, d := range []string{"dev", "proc", "sys", "tmp", "etc", "workspace", "standard-code", "standard-code/bin"} {
			_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: d + "/", Mode: 0o755})
		}
		// Some runtimes give a tmpfs the permission bits of what it covers.
		_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimPrefix(isolation.CacheDir, "/") + "/", Mode: 0o700, Uid: 65532, Gid: 65532})
		for _, f := range files {
			file(w, f)
		}
	})
	config := map[string]any{
		"Entrypoint": []string{isolation.RunnerPath},
		"Labels":     map[string]string{isolation.LabelProtocol: protocol},
	}
	if edit != nil {
		edit(config)
	}
	img := Image{Tag: name + ":" + strings.ToLower(rand.Text())}
	body, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "config": config,
		"history": []any{map[string]string{"comment": img.Tag}},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + canon.SHA256(layer)}},
	})
	if err != nil {
		return img, err
	}
	img.Digest = "sha256:" + canon.SHA256(body)
	inside := canon.SHA256(body) + ".json"
	manifest, err := json.Marshal([]any{map[string]any{"Config": inside, "RepoTags": []string{img.Tag}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return img, err
	}
	img.Tar = Tar(File{inside, body, 0o644}, File{"layer.tar", layer, 0o644}, File{"manifest.json", manifest, 0o644})
	return img, nil
}

// Tar is an archive of files.
func Tar(files ...File) []byte {
	return tarball(func(w *tar.Writer) {
		for _, f := range files {
			file(w, f)
		}
	})
}

func tarball(fill func(*tar.Writer)) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	fill(w)
	_ = w.Close()
	return b.Bytes()
}

func file(w *tar.Writer, f File) {
	_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Mode: f.Mode, Size: int64(len(f.Body))})
	_, _ = w.Write(f.Body)
}

// NewID is a random id of a kind.
func NewID(kind id.Kind) string {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	b := make([]byte, id.Len)
	_, _ = rand.Read(b)
	for i := range b {
		b[i] = alphabet[b[i]%32]
	}
	return id.Format(kind, string(b))
}
