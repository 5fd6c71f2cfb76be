package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"cyberagent/domain/fault"
)

func TestAMissingRunnerSaysWhatToDo(t *testing.T) {
	_, err := fromFS(fstest.MapFS{"bin/.gitignore": {}}, "amd64")
	if f := fault.From(err); fault.CodeOf(err) != fault.Unsupported || f.Remedy != "make build" {
		t.Errorf("got %v, remedy %q", err, f.Remedy)
	}
}

func TestAnUnknownArchitectureIsRefused(t *testing.T) {
	if _, err := Runner("mips"); fault.CodeOf(err) != fault.Unsupported || !strings.Contains(err.Error(), "mips") {
		t.Errorf("got %v", err)
	}
}

func TestOnlyAStaticProgramOfTheArchitectureIsARunner(t *testing.T) {
	src := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(src, []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	bin := src + ".out"
	c := exec.Command("go", "build", "-o", bin, src)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{
		"bin/standard-code-runner-linux-amd64": {Data: program},
		"bin/standard-code-runner-linux-arm64": {Data: program},
	}
	if b, err := fromFS(files, "amd64"); err != nil || len(b) != len(program) {
		t.Errorf("amd64: %d bytes, %v", len(b), err)
	}
	if _, err := fromFS(files, "arm64"); fault.CodeOf(err) != fault.Unsupported {
		t.Errorf("a program for amd64 was taken for arm64: %v", err)
	}
	files["bin/standard-code-runner-linux-amd64"] = &fstest.MapFile{Data: []byte("#!/bin/sh\n")}
	if _, err := fromFS(files, "amd64"); fault.CodeOf(err) != fault.Unsupported {
		t.Errorf("a script was taken for a runner: %v", err)
	}
}
