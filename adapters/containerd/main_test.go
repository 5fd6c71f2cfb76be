package containerd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"cyberagent/adapters/conformance/enginetest"
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
		l := &lab{Engine: e, name: a.name, inst: id.Installation(enginetest.NewID(id.KindInstallation))}
		if l.image, l.tag, err = l.load(ctx, nil); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		labs.all = append(labs.all, l)
	}
	return nil
}

// load loads a test image and returns its id.
func (l *lab) load(ctx context.Context, edit func(config map[string]any)) (image, tag string, err error) {
	img, err := testImage(edit)
	if err != nil {
		return "", "", err
	}
	return img.Digest, img.Tag, l.Load(ctx, bytes.NewReader(img.Tar))
}

// testImage makes an image with the test runner. edit may change its config.
func testImage(edit func(config map[string]any)) (enginetest.Image, error) {
	runner, err := enginetest.Program("cyberagent/adapters/docker/testdata/runner")
	if err != nil {
		return enginetest.Image{}, err
	}
	return enginetest.NewImage("cyberagent-containerd-test", "test", []enginetest.File{{Name: "standard-code/runner", Body: runner, Mode: 0o755}}, edit)
}

// job is one admission's container in a test.
type job struct {
	*lab
	*enginetest.Job
}

// newJob makes a spec on an empty Drydock; do is the test runner's instruction.
func newJob(t *testing.T, l *lab, do string, stdin isolation.Stdin) *job {
	t.Helper()
	return &job{l, enginetest.NewJob(t, l.Engine, l.inst, l.image, do, stdin)}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// discard reads to the end, whatever it is.
func discard(r io.Reader) { _, _ = io.Copy(io.Discard, r) }
