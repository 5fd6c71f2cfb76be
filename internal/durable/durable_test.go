package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// As on file systems that cannot move a file in one step.
func TestMove_NothingIsReplacedInOneStepOrInTwo(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(from, to string) error{"one": Move, "two": byLink} {
		dir := t.TempDir()
		from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
		holds := func(path, want string) {
			t.Helper()
			if got, err := os.ReadFile(path); err != nil || string(got) != want {
				t.Errorf("%s: %s holds %q, want %q: %v", name, path, got, want, err)
			}
		}
		if err := errors.Join(os.WriteFile(from, []byte("new"), 0o600), os.WriteFile(to, []byte("old"), 0o600)); err != nil {
			t.Fatal(err)
		}
		if err := move(from, to); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
		holds(to, "old")
		holds(from, "new")
		if err := errors.Join(os.Remove(to), move(from, to)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		holds(to, "new")
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("%s: left are %v, %v", name, left, err)
		}
	}
}

func TestSync_OnlyADirectoryThatIsThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := Sync(dir); err != nil {
		t.Error(err)
	}
	if err := Sync(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of an absent directory: %v", err)
	}
}
