package main_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cyberagent/app/approvals"
	"cyberagent/app/drydocks"
	"cyberagent/app/runs"
	"cyberagent/app/standardcode"
	"cyberagent/cmd/cyberagent/internal/wiring"
	"cyberagent/config"
	"cyberagent/domain/admission"
	"cyberagent/domain/approval"
	"cyberagent/domain/command"
	"cyberagent/domain/run"
)

// product is the whole product on the real engine inside this process, so that a
// test can put itself between its parts.
type product struct {
	wiring.App

	t    *testing.T
	cfg  config.Config
	run  runs.View
	dry  drydocks.View
	keys int
}

// mustProduct opens one in a home of its own.
func mustProduct(t *testing.T, env ...string) *product {
	t.Helper()
	all := map[string]string{}
	for _, kv := range append(append(mustEngine(t), "CYBERAGENT_HOME="+filepath.Join(mustDisk(t), "home")), env...) {
		k, v, _ := strings.Cut(kv, "=")
		all[k] = v
	}
	cfg, err := config.Load(config.Input{Lookup: func(k string) (string, bool) { v, ok := all[k]; return v, ok }})
	must(t, err)
	return (&product{t: t, cfg: cfg}).another()
}

// mustDisk mounts a filesystem with the headroom that the product demands: on a
// shared one, what other programs write can be taken for the command's growth.
func mustDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	image, at := filepath.Join(dir, "image"), filepath.Join(dir, "disk")
	must(t, os.Mkdir(at, 0o755))
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, 6<<30))
	for _, args := range [][]string{
		{"mkfs.ext4", "-q", "-F", "-m", "0", "-i", "4096", "-E", "lazy_itable_init=1,lazy_journal_init=1", image},
		{"mount", "-o", "loop,noinit_itable", image, at},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s; remedy: make test needs root", args, err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", at).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return at
}

// another opens the same home once more, as another process does.
func (l *product) another() *product {
	l.t.Helper()
	c := *l
	app, stop, err := wiring.Open(l.t.Context(), l.cfg, nil)
	must(l.t, err)
	l.t.Cleanup(stop)
	c.App = app
	return &c
}

// mustRun makes a Run with all the authority that it needs, and its Drydock.
func (l *product) mustRun() {
	t := l.t
	t.Helper()
	source := t.TempDir()
	must(t, os.WriteFile(filepath.Join(source, "README"), []byte("a source\n"), 0o600))
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = source
		must(t, cmd.Run())
	}
	var err error
	l.run, err = l.Runs.Create(t.Context(), runs.CreateInput{Title: "t", Workspace: source, OperationKey: l.key()})
	must(t, err)
	_, err = l.Runs.SetProfile(t.Context(), l.run.RunID, run.ProfileDocker, l.key())
	must(t, err)
	_, err = l.Runs.SetPermission(t.Context(), l.run.RunID, run.WorkspaceAccess, l.key())
	must(t, err)
	src, err := l.Drydocks.Inspect(t.Context(), l.run.RunID)
	must(t, err)
	l.dry, err = l.Drydocks.Create(t.Context(), drydocks.CreateInput{Run: l.run.RunID, TrustDigest: src.TrustDigest, OperationKey: l.key()})
	must(t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (l *product) key() string {
	l.keys++
	return "key-" + strconv.Itoa(l.keys)
}

// approved is a command that leaves one line for each start, then goes on with
// code.
func (l *product) approved(code string) standardcode.ExecuteInput {
	l.t.Helper()
	in := standardcode.ExecuteInput{
		Request: standardcode.Request{
			Run: l.run.RunID, Generation: l.dry.Generation, Checkpoint: l.dry.CheckpointID,
			Gates: admission.AllGates(),
			Command: command.Input{
				Toolchain: "python", Args: []string{"-c", "f=open('starts','a'); f.write('start\\n'); f.close(); " + code}, Timeout: time.Minute, Purpose: "t",
			},
		},
		OperationKey: l.key(),
	}
	p, err := l.StandardCode.Prepare(l.t.Context(), in.Request, l.key())
	must(l.t, err)
	in.Preparation, in.Approval = p.PreparationID, p.Approval.ID
	_, err = l.Approvals.Review(l.t.Context(), approvals.ReviewInput{Preparation: in.Preparation, Decision: approval.Approve, Reviewer: "t", OperationKey: l.key()})
	must(l.t, err)
	return in
}

func (l *product) starts() int {
	l.t.Helper()
	b, err := os.ReadFile(filepath.Join(l.dry.Path, "starts"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		l.t.Fatal(err)
	}
	return strings.Count(string(b), "start\n")
}

// write makes an empty file in the worktree.
func (l *product) write(name string) {
	l.t.Helper()
	must(l.t, os.WriteFile(filepath.Join(l.dry.Path, name), nil, 0o644))
}
