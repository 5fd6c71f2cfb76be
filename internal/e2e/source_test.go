package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// MustSource makes a git repository below the home from files by name.
func (h *home) MustSource(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := h.mustDir(t)
	for name, content := range files {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(content), 0o644))
	}
	h.mustCommit(t, dir)
	return dir
}

// MustProject makes a repository from one of the sample projects.
func (h *home) MustProject(t testing.TB, name string) string {
	t.Helper()
	dir := h.mustDir(t)
	must(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "testdata", "projects", name))))
	h.mustCommit(t, dir)
	return dir
}

// MustScripts makes a repository with test programs of testdata at its root.
func (h *home) MustScripts(t testing.TB, names ...string) string {
	t.Helper()
	files := map[string]string{"README.md": "a test\n"}
	for _, n := range names {
		b, err := os.ReadFile(filepath.Join("testdata", n))
		must(t, err)
		files[n] = string(b)
	}
	return h.MustSource(t, files)
}

func (h *home) mustDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(h.dir, "source-")
	must(t, err)
	return dir
}

func (h *home) mustCommit(t testing.TB, dir string) {
	t.Helper()
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "-A"},
		{"-c", "user.name=e2e", "-c", "user.email=e2e@example.invalid", "commit", "-q", "-m", "the project"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "HOME=" + h.dir}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
