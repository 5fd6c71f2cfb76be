package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"cyberagent/domain/isolation"
)

func TestTheEmbeddedProfileIsCurrent(t *testing.T) {
	t.Parallel()
	made, err := Profile()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made, isolation.SeccompProfile()) {
		t.Error("domain/isolation/seccomp.v2.json is not what this program makes now: " +
			"run `go run ./internal/seccompgen domain/isolation/seccomp.v2.json` and review the difference; " +
			"a changed profile needs another version of its name")
	}
}

func TestTheProfileIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	first, err := Profile()
	if err != nil {
		t.Fatal(err)
	}
	second, err := Profile()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("two profiles differ")
	}
}

func TestGenerateWritesTheProfile(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "profile.json")
	if err := generate(out); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, isolation.SeccompProfile()) {
		t.Error("the file is not the profile")
	}
}
