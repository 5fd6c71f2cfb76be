package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// lab is what every group uses: the built binary, the engines that with-engine.sh
// brought up, and one directory for everything that is made.
type lab struct {
	options
	dir, binary                      string
	docker, dockerImage              string // socket, digest
	containerd, containerdImage, ctr string // address, digest, program
}

// gates are the process gates that execute needs.
var gates = []string{"--enable-permission-control", "--enable-workspace-sandbox", "--enable-docker-execution"}

func newLab(o options) (*lab, error) {
	l := &lab{
		options: o, binary: os.Getenv("CYBERAGENT_BENCH_BINARY"),
		docker: os.Getenv("CYBERAGENT_DOCKER_SOCKET"), dockerImage: os.Getenv("CYBERAGENT_STANDARD_CODE_DOCKER_IMAGE_DIGEST"),
		containerd: os.Getenv("CYBERAGENT_CONTAINERD_ADDRESS"), containerdImage: os.Getenv("CYBERAGENT_STANDARD_CODE_CONTAINERD_IMAGE_DIGEST"),
	}
	for name, v := range map[string]string{
		"CYBERAGENT_BENCH_BINARY": l.binary, "CYBERAGENT_DOCKER_SOCKET": l.docker, "CYBERAGENT_CONTAINERD_ADDRESS": l.containerd,
		"CYBERAGENT_STANDARD_CODE_DOCKER_IMAGE_DIGEST": l.dockerImage, "CYBERAGENT_STANDARD_CODE_CONTAINERD_IMAGE_DIGEST": l.containerdImage,
	} {
		if v == "" {
			return nil, fmt.Errorf("%s is not set; make bench sets it", name)
		}
	}
	var err error
	if l.binary, err = filepath.Abs(l.binary); err != nil {
		return nil, err
	}
	if l.ctr, err = findCtr(); err != nil {
		return nil, err
	}
	if l.dir, err = os.MkdirTemp("", "cyberagent-bench-"); err != nil {
		return nil, err
	}
	// Another uid works in the worktrees below it.
	return l, os.Chmod(l.dir, 0o755) //nolint:gosec // as said
}

func (l *lab) close() error { return os.RemoveAll(l.dir) }

// findCtr prefers the one that testdata/engines/containerd.sh built.
func findCtr() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	if dev := os.Getenv("CYBERAGENT_DEV_HOME"); dev != "" {
		cache = dev
	} else {
		cache = filepath.Join(cache, "cyberagent-dev")
	}
	found, _ := filepath.Glob(filepath.Join(cache, "containerd-bin", "*", "ctr"))
	if len(found) > 0 {
		return slices.Max(found), nil
	}
	return exec.LookPath("ctr")
}

// home is one home directory with one engine.
type home struct {
	*lab
	dir, engine string
}

func (l *lab) home(name, engine string) *home {
	return &home{lab: l, dir: filepath.Join(l.dir, name), engine: engine}
}

// command is the product with arguments, answering JSON.
func (h *home) command(args ...string) *exec.Cmd {
	cmd := exec.Command(h.binary, append([]string{"--output", "json"}, args...)...)
	cmd.Env = append(plain(), "CYBERAGENT_HOME="+h.dir, "CYBERAGENT_ENGINE="+h.engine,
		"CYBERAGENT_DOCKER_SOCKET="+h.docker, "CYBERAGENT_CONTAINERD_ADDRESS="+h.containerd,
		"CYBERAGENT_STANDARD_CODE_DOCKER_IMAGE_DIGEST="+h.dockerImage, "CYBERAGENT_STANDARD_CODE_CONTAINERD_IMAGE_DIGEST="+h.containerdImage)
	return cmd
}

// ask calls the product and decodes its answer into v, which may be nil.
func (h *home) ask(v any, args ...string) error {
	cmd := h.command(args...)
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w %.2000s", failed(cmd, err), out)
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal(out, v)
}

// source makes a repository with some files.
func (l *lab) source(name string, files map[string]string) (string, error) {
	dir := filepath.Join(l.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // for another uid
		return "", err
	}
	for f, text := range files {
		if err := os.WriteFile(filepath.Join(dir, f), []byte(text), 0o644); err != nil { //nolint:gosec // for another uid
			return "", err
		}
	}
	return dir, commit(dir)
}

func commit(dir string) error {
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "-A"},
		{"-c", "user.name=bench", "-c", "user.email=bench@example.invalid", "commit", "-q", "-m", "the project"},
	} {
		if err := git(dir, nil, args...); err != nil {
			return err
		}
	}
	return nil
}

// git runs git without anybody's configuration.
func git(dir string, env []string, args ...string) error {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, slices.Concat(plain(), env, []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"})
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// flow is one Run with all the authority that a command needs, and its Drydock.
type flow struct {
	*home
	run, checkpoint string
	path            string // of the worktree
	generation      int64
	keys            int
}

func (h *home) flow(source string) (*flow, error) {
	var run struct {
		ID string `json:"run_id"`
	}
	if err := h.ask(&run, "run", "create", "a benchmark", "--workspace", source); err != nil {
		return nil, err
	}
	var src struct {
		Trust string `json:"trust_digest"`
	}
	var dd struct {
		Generation int64  `json:"generation"`
		Checkpoint string `json:"checkpoint_id"`
		Path       string `json:"path"`
	}
	err := errors.Join(
		h.ask(nil, "run", "profile", run.ID, "docker"),
		h.ask(nil, "run", "permission", run.ID, "workspace_access"),
		h.ask(&src, "drydock", "create", run.ID))
	if err != nil {
		return nil, err
	}
	if err := h.ask(&dd, "drydock", "create", run.ID, "--trust", src.Trust); err != nil {
		return nil, err
	}
	return &flow{home: h, run: run.ID, checkpoint: dd.Checkpoint, path: dd.Path, generation: dd.Generation}, nil
}

// trivial is the command that is measured: an interpreter that does nothing.
var trivial = []string{"-c", "pass"}

// approved prepares the trivial command, has it approved, and returns the call that
// executes it.
func (f *flow) approved() (*exec.Cmd, error) { return f.approvedFor("python", trivial) }

// approvedFor does so for any command.
func (f *flow) approvedFor(toolchain string, arguments []string) (*exec.Cmd, error) {
	f.keys++
	args := []string{f.run, "--generation", strconv.FormatInt(f.generation, 10), "--checkpoint", f.checkpoint, "--toolchain", toolchain, "--purpose", "a benchmark"}
	for _, a := range arguments {
		args = append(args, "--arg="+a)
	}
	args = append(args, gates...)
	var p struct {
		ID       string `json:"preparation_id"`
		Approval struct {
			ID string `json:"id"`
		} `json:"approval"`
	}
	call := func(verb string, more ...string) []string {
		return slices.Concat([]string{"run", "standard-code", verb}, args, []string{"--operation-key", verb + strconv.Itoa(f.keys)}, more)
	}
	if err := f.ask(&p, call("prepare")...); err != nil {
		return nil, err
	}
	err := errors.Join(
		f.ask(nil, "run", "sandbox", "request", p.ID),
		f.ask(nil, "run", "sandbox", "review", p.ID, "--decision", "approve", "--operation-key", "review"+strconv.Itoa(f.keys)))
	return f.command(call("execute", "--preparation", p.ID, "--approval", p.Approval.ID, "--stream=false")...), err
}

// ended is what the harness reads of a result.
type ended struct {
	ID         string `json:"execution_id"`
	Status     string `json:"status"`
	Checkpoint struct {
		After      string `json:"after_id"`
		Generation int64  `json:"generation_after"`
	} `json:"checkpoint"`
}

// follow reads the answer of an execution and goes on from its Checkpoint.
func (f *flow) follow(answer []byte) (ended, error) {
	var e ended
	if err := json.Unmarshal(answer, &e); err != nil {
		return e, err
	}
	if e.Status != "succeeded" {
		return e, fmt.Errorf("the command ended %s: %s", e.Status, answer)
	}
	f.checkpoint, f.generation = e.Checkpoint.After, e.Checkpoint.Generation
	return e, nil
}
