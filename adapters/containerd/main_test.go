package containerd

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"cyberagent/domain/canon"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// The tests run on every engine that the environment names: containerd of the
// version in go.mod and the distribution's. On each they make a tiny image of
// their own and remove it, and every container, when they are done. All
// containers of one test process carry one installation id, so tests of others on
// the same engine are not disturbed.
type lab struct {
	*Engine
	name  string
	image string
	tag   string
	inst  id.Installation
}

var labs struct {
	once sync.Once
	err  error
	dir  string
	all  []*lab
}

// addresses are the variables that name an engine.
var addresses = []struct{ name, variable, remedy string }{
	{"2.4", "CYBERAGENT_CONTAINERD_ADDRESS", "testdata/engines/containerd.sh up; export $(testdata/engines/containerd.sh env)"},
	{"debian", "CYBERAGENT_TEST_CONTAINERD_DEBIAN_ADDRESS", "testdata/engines/containerd.sh --debian up; export $(testdata/engines/containerd.sh --debian env)"},
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, l := range labs.all {
		if err := l.leave(); err != nil {
			fmt.Fprintln(os.Stderr, "clean-up:", l.name, err)
			code = max(code, 1)
		}
	}
	_ = os.RemoveAll(labs.dir)
	os.Exit(code)
}

func (l *lab) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	left, err := l.FindOwned(ctx, l.inst)
	if err != nil {
		return err
	}
	for _, c := range left {
		owner := ports.Ownership{Admission: id.Admission(c.Labels[isolation.LabelAdmission]), Installation: l.inst}
		if err := l.Remove(ctx, c.ID, owner); err != nil {
			return err
		}
	}
	if err := l.Untag(ctx, l.tag); err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%d containers were left behind by a test", len(left))
	}
	return l.Close()
}

// each runs a test on every engine. Without one the test fails: a test that did
// not run proves nothing.
func each(t *testing.T, fn func(t *testing.T, l *lab)) {
	t.Helper()
	labs.once.Do(func() { labs.err = openLabs() })
	if labs.err != nil {
		t.Fatal(labs.err)
	}
	for _, l := range labs.all {
		t.Run(l.name, func(t *testing.T) { fn(t, l) })
	}
}

func openLabs() error {
	var err error
	if labs.dir, err = os.MkdirTemp("", "cyberagent-containerd-test-"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for _, a := range addresses {
		address := os.Getenv(a.variable)
		if address == "" {
			return fmt.Errorf("no containerd to test with: %s is not set\nremedy: %s", a.variable, a.remedy)
		}
		e, err := New(Config{Address: address, Namespace: "cyberagent-test", Dir: filepath.Join(labs.dir, a.name)})
		if err != nil {
			return err
		}
		l := &lab{Engine: e, name: a.name, inst: id.Installation("inst_" + base32())}
		if l.image, l.tag, err = l.load(ctx, nil); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		labs.all = append(labs.all, l)
	}
	return nil
}

// load loads a test image and returns its id.
func (l *lab) load(ctx context.Context, edit func(config map[string]any)) (image, tag string, err error) {
	archive, tag, err := testImage(labs.dir, edit)
	if err != nil {
		return "", "", err
	}
	if err := l.Load(ctx, bytes.NewReader(archive)); err != nil {
		return "", tag, err
	}
	all, err := l.images(ctx)
	for _, i := range all {
		if strings.HasSuffix(i.Name, tag) {
			return i.id, tag, err
		}
	}
	return "", tag, fmt.Errorf("no image %s: %w", tag, err)
}

// testImage returns a docker-archive with the test runner, and its random tag.
// edit may change the image's config.
func testImage(dir string, edit func(config map[string]any)) ([]byte, string, error) {
	runner := filepath.Join(dir, "runner")
	if _, err := os.Stat(runner); err != nil {
		build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", runner, "../docker/testdata/runner")
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
		if out, err := build.CombinedOutput(); err != nil {
			return nil, "", fmt.Errorf("build the test runner: %w: %s", err, out)
		}
	}
	program, err := os.ReadFile(runner)
	if err != nil {
		return nil, "", err
	}
	layer := tarball(func(w *tar.Writer) {
		for _, d := range []string{"dev", "proc", "sys", "tmp", "etc", "workspace", "standard-code", "standard-code/cache"} {
			_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: d + "/", Mode: 0o755})
		}
		file(w, "standard-code/runner", program, 0o755)
	})
	config := map[string]any{
		"Entrypoint": []string{isolation.RunnerPath},
		"Labels":     map[string]string{isolation.LabelProtocol: "test"},
	}
	if edit != nil {
		edit(config)
	}
	tag := "cyberagent-containerd-test:" + strings.ToLower(rand.Text())
	image, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "config": config,
		"history": []any{map[string]string{"comment": tag}}, // an id of its own
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + canon.SHA256(layer)}},
	})
	if err != nil {
		return nil, "", err
	}
	manifest, err := json.Marshal([]any{map[string]any{"Config": "config.json", "RepoTags": []string{tag}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return nil, "", err
	}
	return tarball(func(w *tar.Writer) {
		file(w, "config.json", image, 0o644)
		file(w, "layer.tar", layer, 0o644)
		file(w, "manifest.json", manifest, 0o644)
	}), tag, nil
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

func base32() string {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	b := make([]byte, id.Len)
	_, _ = rand.Read(b)
	for i := range b {
		b[i] = alphabet[b[i]%32]
	}
	return string(b)
}

// job is one admission's container in a test.
type job struct {
	*lab
	t     *testing.T
	spec  isolation.Spec
	owner ports.Ownership
	id    ports.ContainerID
	props isolation.Properties
}

// newJob makes a spec on an empty Drydock; do is the test runner's instruction.
func newJob(t *testing.T, l *lab, do string, stdin isolation.Stdin) *job {
	t.Helper()
	j := &job{lab: l, t: t, owner: ports.Ownership{Admission: id.Admission("adm_" + base32()), Installation: l.inst}}
	j.spec = newSpec(t, j.owner, l.image, do, stdin)
	t.Cleanup(func() {
		found, err := l.Find(context.Background(), j.owner.Admission)
		if err != nil {
			t.Errorf("clean-up: %v", err)
		}
		for _, c := range found {
			if c.Labels[isolation.LabelAdmission] != string(j.owner.Admission) {
				continue // the test's own business
			}
			if err := l.Remove(context.Background(), c.ID, j.owner); err != nil {
				t.Errorf("clean-up: %v", err)
			}
		}
	})
	return j
}

func newSpec(t *testing.T, owner ports.Ownership, image, do string, stdin isolation.Stdin) isolation.Spec {
	t.Helper()
	root, mask := t.TempDir(), filepath.Join(t.TempDir(), "mask")
	must(t, os.WriteFile(filepath.Join(root, ".git"), []byte("gitdir: /elsewhere\n"), 0o644))
	must(t, os.Chmod(root, 0o777))
	must(t, os.WriteFile(mask, []byte(isolation.MaskContent), isolation.MaskMode))
	spec, err := isolation.NewSpec(owner.Admission, owner.Installation, image, root, isolation.MaskFacts{
		Path: mask, Kind: isolation.Regular, Links: 1, Mode: isolation.MaskMode, Content: []byte(isolation.MaskContent),
	}, "test", []byte(do), stdin)
	must(t, err)
	return spec
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (j *job) create() {
	j.t.Helper()
	var err error
	j.id, j.props, err = j.Create(j.t.Context(), j.spec)
	must(j.t, err)
}

// run creates, attaches, starts and waits, and returns both streams and the exit.
func (j *job) run() (stdout, stderr string, exit ports.Exit) {
	j.t.Helper()
	j.create()
	wait := j.outputs()
	exits := j.waits()
	must(j.t, j.Start(j.t.Context(), j.id))
	stdout, stderr = wait()
	return stdout, stderr, exits()
}

// outputs attaches and reads both streams to their end.
func (j *job) outputs() func() (string, string) {
	j.t.Helper()
	out, err := j.Attach(j.t.Context(), j.id)
	must(j.t, err)
	type read struct {
		b   []byte
		err error
	}
	outs, errs := make(chan read, 1), make(chan read, 1)
	for r, c := range map[io.Reader]chan read{out.Stdout: outs, out.Stderr: errs} {
		go func() {
			b, err := io.ReadAll(r)
			c <- read{b, err}
		}()
	}
	return func() (string, string) {
		j.t.Helper()
		o, e := <-outs, <-errs
		must(j.t, o.err)
		must(j.t, e.err)
		must(j.t, out.Close())
		return string(o.b), string(e.b)
	}
}

// waits begins to wait at once and returns how to get the exit.
func (j *job) waits() func() ports.Exit {
	j.t.Helper()
	type result struct {
		exit ports.Exit
		err  error
	}
	c := make(chan result, 1)
	go func() {
		exit, err := j.Wait(j.t.Context(), j.id)
		c <- result{exit, err}
	}()
	return func() ports.Exit {
		j.t.Helper()
		select {
		case r := <-c:
			must(j.t, r.err)
			return r.exit
		case <-time.After(30 * time.Second):
			j.t.Fatal("Wait did not answer")
			return ports.Exit{}
		}
	}
}

// discard reads to the end, whatever it is.
func discard(r io.Reader) { _, _ = io.Copy(io.Discard, r) }

// soon fails the test when fn takes longer than d.
func soon(t *testing.T, d time.Duration, what string, fn func()) {
	t.Helper()
	begin := time.Now()
	fn()
	if took := time.Since(begin); took > d {
		t.Errorf("%s took %v, at most %v is right", what, took, d)
	}
}
