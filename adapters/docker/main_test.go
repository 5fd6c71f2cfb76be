package docker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"cyberagent/adapters/conformance/enginetest"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// The engine's tests make a tiny image of their own and remove it, and every
// container, when they are done. All containers of one test process carry one
// installation id, so tests of others on the same engine are not disturbed.
var lab struct {
	once   sync.Once
	err    error
	engine *Engine
	dir    string
	image  string
	tag    string
	inst   id.Installation
}

func TestMain(m *testing.M) {
	code := m.Run()
	if lab.engine != nil {
		if err := closeLab(); err != nil {
			fmt.Fprintln(os.Stderr, "clean-up:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

func closeLab() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	left, err := lab.engine.FindOwned(ctx, lab.inst)
	if err != nil {
		return err
	}
	for _, c := range left {
		owner := ports.Ownership{Admission: id.Admission(c.Labels[isolation.LabelAdmission]), Installation: lab.inst}
		if err := lab.engine.Remove(ctx, c.ID, owner); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(lab.dir); err != nil {
		return err
	}
	if lab.tag != "" {
		if err := lab.engine.Untag(ctx, lab.tag); err != nil {
			return err
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("%d containers were left behind by a test", len(left))
	}
	return nil
}

// realEngine returns the engine that the environment names, with the test image
// loaded. Without one the test fails: a test that did not run proves nothing.
func realEngine(t testing.TB) *Engine {
	t.Helper()
	lab.once.Do(func() { lab.err = openLab() })
	if lab.err != nil {
		t.Fatalf("no Docker Engine to test with: %v\nremedy: testdata/engines/docker.sh up; export $(testdata/engines/docker.sh env)", lab.err)
	}
	return lab.engine
}

func openLab() error {
	socket := os.Getenv("CYBERAGENT_DOCKER_SOCKET")
	if socket == "" {
		return fmt.Errorf("CYBERAGENT_DOCKER_SOCKET is not set")
	}
	dir, err := os.MkdirTemp("", "cyberagent-docker-test-")
	if err != nil {
		return err
	}
	lab.dir = dir
	e, err := New(Config{Socket: socket, Dir: dir})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if _, err := e.api(ctx); err != nil {
		return err
	}
	lab.engine, lab.inst = e, id.Installation(enginetest.NewID(id.KindInstallation))
	img, err := testImage(nil)
	if err != nil {
		return err
	}
	lab.tag = img.Tag
	if err := e.Load(ctx, bytes.NewReader(img.Tar)); err != nil {
		return err
	}
	lab.image, err = imageID(ctx, e, img.Tag)
	return err
}

func imageID(ctx context.Context, e *Engine, tag string) (string, error) {
	c, err := e.api(ctx)
	if err != nil {
		return "", err
	}
	img, err := c.ImageInspect(ctx, tag)
	return img.ID, err
}

// testImage makes an image with the test runner. edit may change its config.
func testImage(edit func(config map[string]any)) (enginetest.Image, error) {
	runner, err := enginetest.Program("cyberagent/adapters/docker/testdata/runner")
	if err != nil {
		return enginetest.Image{}, err
	}
	return enginetest.NewImage("cyberagent-docker-test", "test", []enginetest.File{{Name: "standard-code/runner", Body: runner, Mode: 0o755}}, edit)
}

// job is one admission's container in a test.
type job struct {
	*Engine
	*enginetest.Job
}

// newJob makes a spec on an empty Drydock; do is the test runner's instruction.
func newJob(t *testing.T, do string, stdin isolation.Stdin) *job {
	t.Helper()
	e := realEngine(t)
	return &job{e, enginetest.NewJob(t, e, lab.inst, lab.image, do, stdin)}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// discard reads to the end, whatever it is.
func discard(r io.Reader) { _, _ = io.Copy(io.Discard, r) }
