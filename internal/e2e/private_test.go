package e2e

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// private is an engine of these tests alone, to be killed and stopped. It has its
// own containerd, data and sockets, and an image of a few megabytes: the real
// runner, and a tool that leaves evidence of each start.
var private privateEngine

type privateEngine struct {
	// alone is held by the one test that disturbs it.
	alone  sync.Mutex
	once   sync.Once
	err    error
	state  string // below it lies everything
	socket string
	digest string
	// made is the container that was created last while `upon` listened.
	made string
}

// mustPrivate returns a running private engine that no other test uses until the
// end of this one.
func mustPrivate(t *testing.T) *privateEngine {
	t.Helper()
	private.alone.Lock()
	t.Cleanup(private.alone.Unlock)
	private.once.Do(func() { private.err = private.begin() })
	must(t, private.err)
	must(t, private.up())
	return &private
}

func (e *privateEngine) begin() error {
	home := filepath.Join(lab.dir, "engine")
	e.state = filepath.Join(home, "docker")
	e.socket = filepath.Join(e.state, "run", "docker.sock")
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	if err := e.up(); err != nil {
		return err
	}
	archive, digest, err := smallImage()
	if err != nil {
		return err
	}
	e.digest = digest
	return e.load(archive)
}

// script runs a verb of testdata/engines/docker.sh on this engine.
func (e *privateEngine) script(verb string) error {
	cmd := exec.Command("../../testdata/engines/docker.sh", verb)
	cmd.Env = append(os.Environ(), "CYBERAGENT_DEV_HOME="+filepath.Dir(e.state))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("docker.sh %s: %w\n%s", verb, err, out)
	}
	return nil
}

// up starts what does not run, also after a kill, and waits until it answers.
func (e *privateEngine) up() error { return e.script("up") }

// stop ends it if it was ever started.
func (e *privateEngine) stop() error {
	if e.state == "" {
		return nil
	}
	// A stopped process ends with nothing but KILL.
	if pid, err := e.daemon(); err == nil {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	return e.script("down")
}

// daemon is dockerd's process id, proven by its arguments.
func (e *privateEngine) daemon() (int, error) {
	b, err := os.ReadFile(filepath.Join(e.state, "run", "dockerd.proc"))
	if err != nil {
		return 0, err
	}
	words := strings.Fields(string(b))
	if len(words) != 2 {
		return 0, fmt.Errorf("not a record of a process: %q", b)
	}
	if pid, err := strconv.Atoi(words[0]); err == nil && hasArgument(pid, "--data-root="+filepath.Join(e.state, "data")) {
		return pid, nil
	}
	return 0, errors.New("dockerd does not run")
}

// shims are the processes that hold, make or take down a container of this engine.
func (e *privateEngine) shims(id string) (pids []int) {
	return pidsThat(func(pid int) bool {
		return hasArgument(pid, filepath.Join(e.state, "run", "containerd.sock")) && hasArgument(pid, "moby") && hasArgument(pid, id)
	})
}

// living are the processes in a container's cgroup that have not ended, with what
// each of them runs.
func (e *privateEngine) living(id string) map[int]string {
	found := map[int]string{}
	for _, pid := range pidsThat(func(pid int) bool {
		group, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		return err == nil && bytes.Contains(group, []byte(id))
	}) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		// After the name, which may hold anything: the state.
		if i := bytes.LastIndexByte(stat, ')'); err != nil || i < 0 || bytes.ContainsAny(stat[i:i+3], "ZX") {
			continue
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && len(line) > 0 {
			found[pid] = strings.TrimSuffix(strings.ReplaceAll(string(line), "\x00", " "), " ")
		}
	}
	return found
}

func pidsThat(so func(pid int) bool) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && so(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func hasArgument(pid int, arg string) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.Contains(append([]byte{0}, b...), append(append([]byte{0}, arg...), 0))
}

func (e *privateEngine) load(archive []byte) error {
	resp, err := e.client().Post("http://engine/images/load?quiet=1", "application/x-tar", bytes.NewReader(archive))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || bytes.Contains(b, []byte(`"error"`)) {
		return fmt.Errorf("loading the small image: %s %s %w", resp.Status, b, err)
	}
	return nil
}

func (e *privateEngine) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", e.socket)
	}}}
}

// upon calls do, once, as soon as the engine tells that it did something with a
// container of a home.
func (e *privateEngine) upon(t *testing.T, action string, do func()) (done <-chan struct{}) {
	t.Helper()
	resp, err := e.client().Get(`http://engine/events?filters={"type":["container"]}`)
	must(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	c := make(chan struct{})
	go func() {
		defer close(c)
		for dec := json.NewDecoder(resp.Body); ; {
			var x struct {
				Action string
				Actor  struct{ ID string }
			}
			if dec.Decode(&x) != nil {
				return
			}
			if x.Action == "create" {
				e.made = x.Actor.ID
			}
			if x.Action == action {
				do()
				return
			}
		}
	}()
	return c
}

// smallImage makes a docker-archive of the product's shape and returns the image's
// digest.
func smallImage() ([]byte, string, error) {
	dir, err := os.MkdirTemp(lab.dir, "image-")
	if err != nil {
		return nil, "", err
	}
	programs := map[string]string{"standard-code/runner": "cyberagent/cmd/standard-code-runner", "standard-code/bin/python3": "./testdata/tool"}
	layer := tarball(func(w *tar.Writer) error {
		for _, d := range []struct {
			name string
			mode int64
		}{{"dev", 0o755}, {"proc", 0o755}, {"sys", 0o755}, {"etc", 0o755}, {"tmp", 0o755}, {"workspace", 0o755}, {"standard-code", 0o755}, {"standard-code/bin", 0o755}, {"standard-code/cache", 0o700}} {
			// runc gives a tmpfs the permission bits of the directory that it covers.
			err = errors.Join(err, w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: d.name + "/", Mode: d.mode}))
		}
		for name, pkg := range programs {
			file := filepath.Join(dir, filepath.Base(name))
			build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, pkg)
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, e := build.CombinedOutput(); e != nil {
				return fmt.Errorf("building %s: %w\n%s", pkg, e, out)
			}
			b, e := os.ReadFile(file)
			err = errors.Join(err, e, entry(w, name, b, 0o755))
		}
		return err
	}, &err)
	sum := func(b []byte) string { h := sha256.Sum256(b); return hex.EncodeToString(h[:]) }
	config, e := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{
			"Entrypoint": []string{"/standard-code/runner"},
			"Labels":     map[string]string{"cyberagent.runner-protocol": "standard-code-docker-runner.v2"},
		},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + sum(layer)}},
	})
	const manifest = `[{"Config":"config.json","RepoTags":["cyberagent-e2e:small"],"Layers":["layer.tar"]}]`
	archive := tarball(func(w *tar.Writer) error {
		return errors.Join(entry(w, "config.json", config, 0o644), entry(w, "layer.tar", layer, 0o644), entry(w, "manifest.json", []byte(manifest), 0o644))
	}, &err)
	return archive, "sha256:" + sum(config), errors.Join(err, e)
}

func tarball(fill func(*tar.Writer) error, err *error) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	*err = errors.Join(*err, fill(w), w.Close())
	return b.Bytes()
}

func entry(w *tar.Writer, name string, content []byte, mode int64) error {
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

// stay lets the tool stay for a time.
func stay(d time.Duration) command { return python(strconv.FormatInt(d.Milliseconds(), 10)) }

// starts is how often the tool was started, by its own evidence.
func (f *flow) starts(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(f.path, "starts"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(b), "start\n")
}
