package conformance

import (
	"archive/tar"
	"bytes"
	"context"
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
	"cyberagent/domain/isolation"
	"cyberagent/domain/runnerproto"
	"cyberagent/domain/toolchain"
)

// programs builds the product's runner and the probe, once a process.
var programs = sync.OnceValues(func() (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "cyberagent-conformance-build-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	built := map[string][]byte{}
	for name, pkg := range map[string]string{"runner": "cyberagent/cmd/standard-code-runner", "probe": "cyberagent/adapters/conformance/probe"} {
		file := filepath.Join(dir, name)
		c := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", file, pkg)
		c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
		if out, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w: %s", pkg, err, out)
		}
		if built[name], err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	return built, nil
})

// image is one that was loaded: its config's digest names it on every engine.
type image struct{ tag, digest string }

// archive makes a docker-archive of a small image. edit may change its config.
func archive(edit func(config Object)) (image, []byte, error) {
	built, err := programs()
	if err != nil {
		return image{}, nil, err
	}
	layer := tarball(func(w *tar.Writer) {
		for _, d := range []string{"dev", "proc", "sys", "tmp", "etc", "workspace", "standard-code", "standard-code/bin"} {
			_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: d + "/", Mode: 0o755})
		}
		// Some runtimes give a tmpfs the permission bits of what it covers.
		_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimPrefix(isolation.CacheDir, "/") + "/", Mode: 0o700, Uid: 65532, Gid: 65532})
		file(w, strings.TrimPrefix(isolation.RunnerPath, "/"), built["runner"], 0o755)
		file(w, strings.TrimPrefix(toolchain.Bin, "/")+"/go", built["probe"], 0o755)
	})
	config := Object{
		"Entrypoint": []string{isolation.RunnerPath},
		"Labels":     map[string]string{isolation.LabelProtocol: runnerproto.Protocol},
	}
	if edit != nil {
		edit(config)
	}
	img := image{tag: "cyberagent-conformance:" + strings.ToLower(rand.Text())}
	body, err := json.Marshal(Object{
		"architecture": runtime.GOARCH, "os": "linux", "config": config,
		"history": []any{Object{"comment": img.tag}}, // a digest of its own
		"rootfs":  Object{"type": "layers", "diff_ids": []string{"sha256:" + canon.SHA256(layer)}},
	})
	if err != nil {
		return img, nil, err
	}
	img.digest = "sha256:" + canon.SHA256(body)
	name := canon.SHA256(body) + ".json"
	manifest, err := json.Marshal([]any{Object{"Config": name, "RepoTags": []string{img.tag}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return img, nil, err
	}
	return img, tarball(func(w *tar.Writer) {
		file(w, name, body, 0o644)
		file(w, "layer.tar", layer, 0o644)
		file(w, "manifest.json", manifest, 0o644)
	}), nil
}

func tarball(fill func(*tar.Writer)) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	fill(w)
	_ = w.Close()
	return b.Bytes()
}

func file(w *tar.Writer, name string, content []byte, mode int64) {
	_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content))})
	_, _ = w.Write(content)
}

// load makes an image present and returns it with how to take its name away.
func load(ctx context.Context, e Engine, edit func(Object)) (image, func() error, error) {
	img, body, err := archive(edit)
	if err != nil {
		return img, nil, err
	}
	if err := e.Load(ctx, bytes.NewReader(body)); err != nil {
		return img, nil, err
	}
	return img, func() error { return e.Untag(context.WithoutCancel(ctx), img.tag) }, nil
}

// load makes a variant of the image present for the check.
func (c *C) load(edit func(Object)) image {
	img, untag, err := load(c.ctx, c.keeper, edit)
	c.must(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	// The last of all: a container that uses it is removed before.
	c.cleanups = append([]func(){func() { c.must(untag()) }}, c.cleanups...)
	return img
}
