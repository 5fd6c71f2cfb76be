package image

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/command"
	"cyberagent/domain/limits"
	"cyberagent/domain/toolchain"
)

// engine is the Docker Engine that the tests of this repository run against,
// reached by the client program: what the assembly makes must be right for any
// client.
type engine struct {
	t              *testing.T
	socket, config string
}

func realEngine(t *testing.T) engine {
	t.Helper()
	socket := os.Getenv("CYBERAGENT_DOCKER_SOCKET")
	if socket == "" {
		t.Fatal("CYBERAGENT_DOCKER_SOCKET is not set; see testdata/engines/docker.sh")
	}
	return engine{t, socket, t.TempDir()}
}

func (e engine) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "docker", append([]string{"-H", "unix://" + e.socket}, args...)...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "DOCKER_CONFIG=" + e.config}
	return c
}

func (e engine) run(args ...string) (string, error) {
	out, err := e.command(e.t.Context(), args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (e engine) must(args ...string) string {
	e.t.Helper()
	out, err := e.run(args...)
	if err != nil {
		e.t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// export streams an image out of the engine.
func (e engine) export(id string, to func(io.Reader) error) {
	e.t.Helper()
	c := e.command(e.t.Context(), "save", id)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	if err != nil {
		e.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		e.t.Fatal(err)
	}
	readErr := to(out)
	if err := c.Wait(); err != nil {
		e.t.Fatalf("docker save: %v\n%s", err, stderr.String())
	}
	if readErr != nil {
		e.t.Fatal(readErr)
	}
}

// sandbox runs a script as the contract's user: no network, read-only root, the
// cache as the only place to write.
func (e engine) sandbox(image string, t command.Toolchain, script string) (string, error) {
	args := []string{"run", "--rm", "--network", "none", "--read-only", "--cap-drop", "ALL", "--user", "65532:65532",
		"--security-opt", "no-new-privileges", "--memory", "2g", "--pids-limit", "128", "--ulimit", fmt.Sprintf("fsize=%d", limits.FileBytes),
		"--tmpfs", "/standard-code/cache:rw,exec,nosuid,nodev,size=134217728,nr_inodes=16384,mode=0700,uid=65532,gid=65532",
		"--workdir", "/standard-code/cache", "--entrypoint", "/bin/sh"}
	for _, v := range toolchain.Environment(t, toolchain.Carried{}) {
		args = append(args, "--env", v)
	}
	dirs := "mkdir -p " + strings.Join(toolchain.Dirs(t), " ") + " && "
	return e.run(append(args, image, "-ec", dirs+script)...)
}

func TestTheRealBasesBecomeOneWorkingFixture(t *testing.T) {
	e := realEngine(t)
	start := time.Now()
	step := func(what string) { t.Logf("%6.1f s  %s", time.Since(start).Seconds(), what) }
	runner := buildStub(t)
	a, err := New(Config{Scratch: t.TempDir(), Runner: func(string) ([]byte, error) { return runner, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, tc := range order {
		variable := "CYBERAGENT_STANDARD_CODE_" + strings.ToUpper(string(tc)) + "_IMAGE_DIGEST"
		ref := os.Getenv(variable)
		_, id, ok := strings.Cut(ref, "@")
		if !ok {
			t.Fatalf("%s=%q is not name@sha256:…; see testdata/standard-code-docker/make-bases.sh", variable, ref)
		}
		e.export(id, func(r io.Reader) error {
			n, err := a.Add(t.Context(), []command.Toolchain{tc}, id, r)
			step(fmt.Sprintf("exported %s base, %d MB", tc, n/1_000_000))
			return err
		})
	}
	config, manifest, err := a.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	step("assembled " + config + " " + manifest)
	for _, l := range a.layers {
		t.Logf("  %-12s %4d MB %6d entries %s", l.name, l.size/1_000_000, len(l.members), l.hash)
	}
	tag := NewTag()
	load := e.command(t.Context(), "load", "--quiet")
	r, w := io.Pipe()
	go func() { w.CloseWithError(a.Write(t.Context(), tag, w)) }()
	load.Stdin = r
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("docker load: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := e.command(context.Background(), "image", "rm", tag).CombinedOutput(); err != nil {
			t.Errorf("docker image rm: %v\n%s", err, out)
		}
	})
	step("loaded " + tag)
	if id := e.must("image", "inspect", "--format", "{{.Id}}", tag); id != config && id != manifest {
		t.Fatalf("the engine calls it %s, want %s or %s", id, config, manifest)
	}
	for tc, script := range smoke {
		began := time.Now()
		out, err := e.sandbox(tag, tc, script)
		if err != nil {
			t.Errorf("%s: %v\n%s", tc, err, out)
		}
		t.Logf("%s (%.1f s):\n%s", tc, time.Since(began).Seconds(), out)
	}
	// Asked of a writable root, where only owners and modes speak.
	loose := e.must("run", "--rm", "--network", "none", "--user", "65532:65532", "--entrypoint", "/bin/sh", tag, "-c",
		`find / -xdev ! -type l \( -writable -o -perm /7022 -o ! -user 0 -o -nogroup \) 2>/dev/null; true`)
	if loose != "" {
		t.Errorf("the container's user can write, or other owners or bits are left:\n%s", loose)
	}
	step("tools ran")
}

// smoke asks each toolchain for its versions and lets it compile something: for
// Go a package and one with assembler, not a program, whose cold standard library
// alone would take longer than the rest of the test.
var smoke = map[command.Toolchain]string{
	command.Go: `go version; gofmt -l /usr/local/go/src/errors
mkdir m; cd m; go mod init m >/dev/null 2>&1
printf 'package m\nimport "math/bits"\nvar X = bits.Len(7)\n' >m.go; go build . internal/bytealg && echo compiled by go`,
	command.Node: `node --version; npm --version; npx --version
printf 'console.log("run by node", [1,2].map(x=>x*2))' >m.js; node m.js`,
	command.Python: `python3 --version; python3 -m pytest --version
printf 'def test_it():\n    assert 1 + 1 == 2\n' >test_m.py; python3 -m pytest -q test_m.py; python3 -m unittest --help >/dev/null`,
	command.Rust: `cargo --version; rustc --version
mkdir -p m/src; cd m; printf '[package]\nname = "m"\nversion = "0.1.0"\nedition = "2021"\n' >Cargo.toml
printf 'fn main() { println!("compiled by rust"); }\n' >src/main.rs; cargo run --quiet`,
}

// buildStub makes a static program to stand in the runner's place.
func buildStub(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "main.go"), filepath.Join(dir, "stub")
	if err := os.WriteFile(src, []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w -buildid=", "-o", bin, src)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
