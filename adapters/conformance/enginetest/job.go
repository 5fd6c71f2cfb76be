package enginetest

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// Job is one admission's container in an adapter's test.
type Job struct {
	Spec  isolation.Spec
	Owner ports.Ownership
	ID    ports.ContainerID
	Props isolation.Properties
	T     testing.TB

	e ports.Engine
}

// NewJob makes a spec on an empty Drydock; do is the test runner's instruction.
// Whatever the test leaves under the admission is removed at its end.
func NewJob(t testing.TB, e ports.Engine, inst id.Installation, image, do string, stdin isolation.Stdin) *Job {
	t.Helper()
	j := &Job{T: t, e: e, Owner: ports.Ownership{Admission: id.Admission(NewID(id.KindAdmission)), Installation: inst}}
	j.Spec = NewSpec(t, j.Owner, image, do, stdin)
	t.Cleanup(func() {
		found, err := e.Find(context.Background(), j.Owner.Admission)
		if err != nil {
			t.Errorf("clean-up: %v", err)
		}
		for _, c := range found {
			if c.Labels[isolation.LabelAdmission] != string(j.Owner.Admission) {
				continue // the test's own business
			}
			if err := e.Remove(context.Background(), c.ID, j.Owner); err != nil {
				t.Errorf("clean-up: %v", err)
			}
		}
	})
	return j
}

// NewSpec is the contract around an empty Drydock.
func NewSpec(t testing.TB, owner ports.Ownership, image, do string, stdin isolation.Stdin) isolation.Spec {
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

// Make creates the container.
func (j *Job) Make() {
	j.T.Helper()
	var err error
	j.ID, j.Props, err = j.e.Create(j.T.Context(), j.Spec)
	must(j.T, err)
}

// Run creates, attaches, starts and waits, and returns both streams and the exit.
func (j *Job) Run() (stdout, stderr string, exit ports.Exit) {
	j.T.Helper()
	j.Make()
	wait := j.Outputs()
	exits := j.Exits()
	must(j.T, j.e.Start(j.T.Context(), j.ID))
	stdout, stderr = wait()
	return stdout, stderr, exits()
}

// Outputs attaches and reads both streams to their end.
func (j *Job) Outputs() func() (stdout, stderr string) {
	j.T.Helper()
	out, err := j.e.Attach(j.T.Context(), j.ID)
	must(j.T, err)
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
		j.T.Helper()
		o, e := <-outs, <-errs
		must(j.T, o.err)
		must(j.T, e.err)
		must(j.T, out.Close())
		return string(o.b), string(e.b)
	}
}

// patience is for a Wait that never answers.
const patience = 2 * time.Minute

// Exits begins to wait at once and returns how to get the exit.
func (j *Job) Exits() func() ports.Exit {
	j.T.Helper()
	type result struct {
		exit ports.Exit
		err  error
	}
	c := make(chan result, 1)
	go func() {
		exit, err := j.e.Wait(j.T.Context(), j.ID)
		c <- result{exit, err}
	}()
	return func() ports.Exit {
		j.T.Helper()
		select {
		case r := <-c:
			must(j.T, r.err)
			return r.exit
		case <-time.After(patience):
			j.T.Fatal("Wait did not answer")
			return ports.Exit{}
		}
	}
}

// soonIs tells a call that has its own end from one that waits for an engine's: a
// call of the engine may take 20 s. It is no measure of speed.
const soonIs = 15 * time.Second

// Soon fails the test when fn waits for something that it must not wait for.
func Soon(t testing.TB, what string, fn func()) {
	t.Helper()
	begin := time.Now()
	fn()
	if took := time.Since(begin); took > soonIs {
		t.Errorf("%s took %v, more than %v", what, took, soonIs)
	}
}
