//go:build linux

package gitdrydock

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
)

// mustGit runs the real git as a person would, with an identity and without
// anyone's configuration.
func mustGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(out, "\n")
}

func tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", "-c", "core.fsync=none", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, errs.String())
	}
	return out.String(), nil
}

// mustWrite writes files below dir: content by path, directories made.
func mustWrite(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// mustRepo makes a repository with one commit of files.
func mustRepo(t testing.TB, files map[string]string, initArgs ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "source")
	if out, err := exec.Command("cp", "-a", template(t, files, initArgs), dir).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v %s", err, out)
	}
	return dir
}

var templates struct {
	sync.Mutex
	root string
	made map[string]string
}

// template makes each kind of repository once; copies are much cheaper.
func template(t testing.TB, files map[string]string, initArgs []string) string {
	t.Helper()
	key := fmt.Sprintf("%q %q", files, initArgs) // maps print sorted
	templates.Lock()
	defer templates.Unlock()
	if dir := templates.made[key]; dir != "" {
		return dir
	}
	if templates.root == "" {
		root, err := os.MkdirTemp("", "drydock-templates-*")
		mustDo(t, err)
		templates.root, templates.made = root, map[string]string{}
	}
	dir := filepath.Join(templates.root, fmt.Sprint(len(templates.made)))
	mustDo(t, os.Mkdir(dir, 0o755))
	mustGit(t, dir, append([]string{"init", "-q"}, initArgs...)...)
	mustWrite(t, dir, files)
	mustGit(t, dir, "add", "-A")
	mustGit(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	templates.made[key] = dir
	return dir
}

func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var someFiles = map[string]string{
	"README.md": "hello\n", "a/b/c.go": "package c\n", "a/b/d.go": "package c // d\n", "z": "",
}

func drydockID(n int) id.Drydock {
	return id.Drydock(id.Format(id.KindDrydock, fmt.Sprintf("%0*d", id.Len, n)))
}

func checkpointID(n int) id.Checkpoint {
	return id.Checkpoint(id.Format(id.KindCheckpoint, fmt.Sprintf("%0*d", id.Len, n)))
}

// dockyard is one Drydock of one source under test.
type dockyard struct {
	t       testing.TB
	d       *Drydocks
	src     drydock.Source
	place   drydock.Place
	first   drydock.Capture
	last    id.Checkpoint
	counter int
}

// mustDock creates a Drydock from a repository.
func mustDock(t testing.TB, source string) *dockyard {
	t.Helper()
	y := &dockyard{t: t, d: New(Config{Home: filepath.Join(t.TempDir(), "home")}), counter: 1}
	var err error
	if y.src, err = y.d.Inspect(context.Background(), source); err != nil {
		t.Fatalf("Inspect: %v", err)
	}
	y.last = checkpointID(1)
	if y.place, y.first, err = y.d.Create(context.Background(), drydockID(1), y.last, y.src); err != nil {
		t.Fatalf("Create: %v", err)
	}
	return y
}

func (y *dockyard) path(name string) string { return filepath.Join(y.place.Root, name) }

// capture makes the next Checkpoint.
func (y *dockyard) capture() drydock.Capture {
	y.t.Helper()
	c, err := y.tryCapture()
	if err != nil {
		y.t.Fatalf("Capture: %v", err)
	}
	return c
}

func (y *dockyard) tryCapture() (drydock.Capture, error) {
	next := checkpointID(y.counter + 1)
	c, err := y.d.Capture(context.Background(), y.place, y.last, next)
	if err == nil {
		y.counter, y.last = y.counter+1, next
	}
	return c, err
}

func (y *dockyard) drift() []string {
	y.t.Helper()
	list, _, err := y.d.Drift(context.Background(), y.place, y.last, 1000)
	if err != nil {
		y.t.Fatalf("Drift: %v", err)
	}
	return words(list)
}

func (y *dockyard) changes(from, to id.Checkpoint) []string {
	y.t.Helper()
	list, err := y.d.Changes(context.Background(), y.place, from, to)
	if err != nil {
		y.t.Fatalf("Changes: %v", err)
	}
	return words(list)
}

// words writes changes as "A path".
func words(list []drydock.Change) []string {
	out := []string{}
	for _, c := range list {
		out = append(out, strings.ToUpper(string(c.Kind[:1]))+" "+c.Path)
	}
	return out
}

// plan is the preview of a rewind.
func (y *dockyard) plan(target id.Checkpoint) drydock.Plan {
	y.t.Helper()
	p, err := y.d.Plan(context.Background(), y.place, y.last, target, 1000)
	if err != nil {
		y.t.Fatalf("Plan: %v", err)
	}
	return p
}

// order names a rewind with the next two ids.
// unheard is for tests that look at the files alone.
func unheard(drydock.Capture) error { return nil }

func (y *dockyard) order(target id.Checkpoint) drydock.RewindOrder {
	return drydock.RewindOrder{
		Current: y.last, Target: target, Saved: checkpointID(y.counter + 1), Next: checkpointID(y.counter + 2),
		Digest: y.plan(target).Digest,
	}
}

func (y *dockyard) rewind(target id.Checkpoint) drydock.Rewound {
	y.t.Helper()
	w, err := y.tryRewind(y.order(target))
	if err != nil {
		y.t.Fatalf("Rewind: %v", err)
	}
	return w
}

func (y *dockyard) tryRewind(o drydock.RewindOrder) (drydock.Rewound, error) {
	w, err := y.d.Rewind(context.Background(), y.place, o, unheard)
	if err == nil {
		y.counter, y.last = y.counter+2, o.Next
	}
	return w, err
}
