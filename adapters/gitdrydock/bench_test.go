//go:build linux

package gitdrydock

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
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
	var drift, status, capture, add sample
	for b.Loop() {
		for range 15 {
			drift.add(func() { y.drift() })
			status.add(func() { mustBench(b, source, nil, "git", "status", "--porcelain") })
		}
		for range 15 {
			edit(y.place.Root)
			capture.add(func() { y.capture() })
			edit(source)
			add.add(gitAdd)
		}
		mustGit(b, source, "checkout", "-q", "--", ".")
		y.capture()
	}
	compare(b, "drift", drift, status)
	compare(b, "capture", capture, add)
}

// compare reports medians and their ratio.
func compare(b *testing.B, what string, ours, gits sample) {
	b.ReportMetric(ms(median(ours.wall)), what+"-ms")
	b.ReportMetric(ms(median(gits.wall)), what+"-git-ms")
	b.ReportMetric(float64(median(ours.wall))/float64(median(gits.wall)), what+"-ratio")
	b.ReportMetric(float64(median(ours.cpu))/float64(median(gits.cpu)), what+"-cpu-ratio")
}

// BenchmarkRewindAgainstGit measures a rewind of 1,000 files of Go's own source
// beside git checkout of the same two states. Ours records a Checkpoint besides
// and has read every file back. The goal is a ratio of medians of at most 1.0.
func BenchmarkRewindAgainstGit(b *testing.B) {
	source := goSource(b)
	y := mustDock(b, source)
	n := 0
	change := func(root string) {
		n = 0
		mustDo(b, filepath.WalkDir(root, func(p string, e os.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && strings.HasSuffix(p, ".go") && n < 1000 {
				n++
				var content []byte
				if content, err = os.ReadFile(p); err == nil {
					err = os.WriteFile(p, append(content, "// changed\n"...), 0o644)
				}
			}
			return err
		}))
	}
	first := y.last
	change(y.place.Root)
	y.capture()
	second := y.last
	mustGit(b, source, "checkout", "-q", "-b", "other")
	change(source)
	mustGit(b, source, "commit", "-q", "-a", "-m", "other")
	branch := mustGit(b, source, "rev-parse", "--verify", "HEAD~1")
	var plan, rewind, checkout sample
	for b.Loop() {
		for i := range 14 {
			target, commit := first, branch
			if i%2 == 1 {
				target, commit = second, "other"
			}
			var o drydock.RewindOrder
			plan.add(func() { o = y.order(target) })
			rewind.add(func() {
				_, err := y.tryRewind(o)
				mustDo(b, err)
			})
			checkout.add(func() { mustBench(b, source, nil, "git", "checkout", "-q", commit) })
		}
	}
	if n != 1000 {
		b.Fatalf("%d files were changed", n)
	}
	compare(b, "rewind", rewind, checkout)
	b.ReportMetric(ms(median(plan.wall)), "plan-ms")
}

// sample collects wall and processor time, children's too: on a busy machine
// only the second says much.
type sample struct{ wall, cpu []time.Duration }

func (s *sample) add(f func()) {
	cpu, start := cpuTime(), time.Now()
	f()
	s.wall, s.cpu = append(s.wall, time.Since(start)), append(s.cpu, cpuTime()-cpu)
}

func cpuTime() time.Duration {
	var sum time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		_ = unix.Getrusage(who, &u)
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
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
	var u0, u1, c0, c1 unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u0)
	_ = unix.Getrusage(unix.RUSAGE_CHILDREN, &c0)
	defer func() {
		_ = unix.Getrusage(unix.RUSAGE_SELF, &u1)
		_ = unix.Getrusage(unix.RUSAGE_CHILDREN, &c1)
		f := func(a, b unix.Rusage) float64 {
			return float64(b.Utime.Nano()+b.Stime.Nano()-a.Utime.Nano()-a.Stime.Nano()) / 1e6
		}
		b.ReportMetric(f(u0, u1)/float64(n), "selfms")
		b.ReportMetric(f(c0, c1)/float64(n), "childms")
	}()
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
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	mustDo(b, err)
	if out, err := exec.Command("cp", "-r", filepath.Join(strings.TrimSpace(string(goroot)), "src"), dir).CombinedOutput(); err != nil {
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
	cmd.Dir, cmd.Env = dir, slices.Concat(env, []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"})
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s %s: %v %s", name, strings.Join(args, " "), err, out)
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// BenchmarkHistory makes a thousand Checkpoints: the last must cost what the
// first cost.
func BenchmarkHistory(b *testing.B) {
	const checkpoints, window = 1000, 100
	y := mustDock(b, mustRepo(b, someFiles))
	var captures, drifts sample
	for b.Loop() {
		for n := range checkpoints {
			mustDo(b, os.WriteFile(y.path("a/b/c.go"), fmt.Appendf(nil, "package c // %d\n", n), 0o644))
			captures.add(func() { y.capture() })
			drifts.add(func() { y.drift() })
		}
	}
	b.ReportMetric(ms(median(captures.cpu[:window])), "first-capture-cpu-ms")
	b.ReportMetric(ms(median(captures.cpu[len(captures.cpu)-window:])), "last-capture-cpu-ms")
	b.ReportMetric(ms(median(captures.wall[:window])), "first-capture-ms")
	b.ReportMetric(ms(median(captures.wall[len(captures.wall)-window:])), "last-capture-ms")
	b.ReportMetric(ms(median(drifts.wall[:window])), "first-drift-ms")
	b.ReportMetric(ms(median(drifts.wall[len(drifts.wall)-window:])), "last-drift-ms")
	u, err := y.d.Usage(b.Context(), y.place.Shadow)
	mustDo(b, err)
	b.ReportMetric(float64(u.Bytes)/1024/float64(checkpoints), "KiB/checkpoint")
}

// BenchmarkCreate measures creation on Go's own source beside git worktree add,
// which filters, writes as one user and proves nothing.
func BenchmarkCreate(b *testing.B) {
	source := goSource(b)
	d := New(Config{Home: filepath.Join(b.TempDir(), "home")})
	var inspect, create, add sample
	n := 0
	for b.Loop() {
		n++
		var src drydock.Source
		var err error
		inspect.add(func() { src, err = d.Inspect(b.Context(), source) })
		mustDo(b, err)
		create.add(func() { _, _, err = d.Create(b.Context(), drydockID(n), checkpointID(1), src) })
		mustDo(b, err)
		tree := filepath.Join(b.TempDir(), "tree")
		add.add(func() { mustBench(b, source, nil, "git", "worktree", "add", "-q", "--detach", tree) })
	}
	b.ReportMetric(ms(median(inspect.wall)), "inspect-ms")
	b.ReportMetric(ms(median(create.wall)), "create-ms")
	b.ReportMetric(ms(median(add.wall)), "worktree-add-ms")
	b.ReportMetric(float64(median(create.cpu))/float64(median(add.cpu)), "create-cpu-ratio")
}
