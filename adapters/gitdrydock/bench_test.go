//go:build linux

package gitdrydock

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkAgainstGit measures the two operations that have a goal, each beside
// what git does for the same on Go's own source, in turns, so that both see the
// same machine. The goal is a ratio of medians of at most 0.7.
func BenchmarkAgainstGit(b *testing.B) {
	source := goSource(b)
	y := mustDock(b, source)
	index := filepath.Join(b.TempDir(), "index")
	gitAdd := func() {
		mustBench(b, source, []string{"GIT_INDEX_FILE=" + index}, "git", "add", "-A")
		mustBench(b, source, []string{"GIT_INDEX_FILE=" + index}, "git", "write-tree")
	}
	gitAdd()
	mustBench(b, source, nil, "git", "status", "--porcelain")
	y.drift()
	n := 0
	edit := func(root string) {
		n++
		mustDo(b, os.WriteFile(filepath.Join(root, "net/http/server.go"), fmt.Appendf(nil, "package http // %d\n", n), 0o644))
	}
	var drift, status, capture, add []time.Duration
	clock := func(f func()) time.Duration {
		start := time.Now()
		f()
		return time.Since(start)
	}
	for b.Loop() {
		for range 15 {
			drift = append(drift, clock(func() { y.drift() }))
			status = append(status, clock(func() { mustBench(b, source, nil, "git", "status", "--porcelain") }))
		}
		for range 15 {
			edit(y.place.Root)
			capture = append(capture, clock(func() { y.capture() }))
			edit(source)
			add = append(add, clock(gitAdd))
		}
		mustGit(b, source, "checkout", "-q", "--", ".")
		y.capture()
	}
	b.ReportMetric(ms(median(drift)), "drift-ms")
	b.ReportMetric(ms(median(status)), "status-ms")
	b.ReportMetric(float64(median(drift))/float64(median(status)), "drift/status")
	b.ReportMetric(ms(median(capture)), "capture-ms")
	b.ReportMetric(ms(median(add)), "add-ms")
	b.ReportMetric(float64(median(capture))/float64(median(add)), "capture/add")
}

func BenchmarkDrift(b *testing.B) {
	y := mustDock(b, goSource(b))
	y.drift()
	for b.Loop() {
		y.drift()
	}
}

func BenchmarkCapture(b *testing.B) {
	y := mustDock(b, goSource(b))
	n := 0
	for b.Loop() {
		n++
		mustDo(b, os.WriteFile(y.path("net/http/server.go"), fmt.Appendf(nil, "package http // %d\n", n), 0o644))
		y.capture()
	}
}

// goSource is a repository with Go's own source: some 12,800 entries.
func goSource(b testing.TB) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "go")
	if out, err := exec.Command("cp", "-r", filepath.Join(runtime.GOROOT(), "src"), dir).CombinedOutput(); err != nil {
		b.Fatalf("cp: %v %s", err, out)
	}
	mustGit(b, dir, "init", "-q")
	mustGit(b, dir, "add", "-A")
	mustGit(b, dir, "commit", "-q", "-m", "go")
	return dir
}

// mustBench runs git with nothing of the harness in its environment.
func mustBench(b testing.TB, dir string, env []string, name string, args ...string) {
	b.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(env, "PATH="+os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s %s: %v %s", name, strings.Join(args, " "), err, out)
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
