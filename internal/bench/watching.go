package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// build is an honest command, and a program in it that writes down what process 1,
// the runner, and the whole container have used of the processors so far. The host
// reads it from the worktree, whose file `cost` it is.
type build struct {
	what, toolchain string
	arguments       []string
	files           map[string]string
}

// builds are the two kinds that there are: one that computes and leaves nothing in
// the worktree, and one that writes nearly all that the quota allows.
func (l *lab) builds() []build {
	compiled := map[string]string{"go.mod": "module example.invalid/honest\n\ngo 1.26\n", "cost_test.go": goCost}
	for n := range l.size(120, 4) {
		var b strings.Builder
		b.WriteString("package honest\n\nimport \"fmt\"\n")
		for f := range 20 {
			fmt.Fprintf(&b, "\nfunc F%d_%d(a map[string][]int) string {\n\ts := 0\n\tfor k, v := range a {\n\t\ts += len(k) * len(v) << %d\n\t}\n\treturn fmt.Sprint(s, a)\n}\n", n, f, f)
		}
		compiled[fmt.Sprintf("f%d.go", n)] = b.String()
	}
	return []build{
		{"`go test` of 2,400 functions, the runner's setup included", "go", []string{"test", "./..."}, compiled},
		{"3,000 modules compiled by Python, 12 MiB written", "python", []string{"build.py", fmt.Sprint(l.size(3000, 30))}, map[string]string{"build.py": pythonCost}},
	}
}

const goCost = `package honest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCost(t *testing.T) {
	stat, err := os.ReadFile("/proc/1/stat")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var user, system, all int64
	fmt.Sscan(f[11]+" "+f[12], &user, &system)
	for _, p := range []string{"/sys/fs/cgroup/cpuacct/cpuacct.usage", "/sys/fs/cgroup/cpu.stat"} {
		if b, err := os.ReadFile(filepath.FromSlash(p)); err == nil {
			if fmt.Sscanf(string(b), "usage_usec %d", &all); all == 0 {
				fmt.Sscan(string(b), &all)
				all /= 1000
			}
		}
	}
	if err := os.WriteFile("cost", []byte(fmt.Sprintln((user+system)*10, all/1000)), 0o644); err != nil {
		t.Fatal(err)
	}
}
`

const pythonCost = `import marshal, os, sys

def cost():
    f = open("/proc/1/stat").read().rpartition(")")[2].split()
    for p in ("/sys/fs/cgroup/cpuacct/cpuacct.usage", "/sys/fs/cgroup/cpu.stat"):
        if os.path.exists(p):
            t = open(p).read().split()
            break
    return (int(f[11]) + int(f[12])) * 10, int(t[1]) // 1000 if len(t) > 1 else int(t[0]) // 1000000

before = cost()
source = "\n".join("def f%d(a, b):\n    return [a + b * %d for _ in range(a)]" % (n, n) for n in range(24))
for n in range(int(sys.argv[1])):
    d = "out/%d" % (n % 30)
    os.makedirs(d, exist_ok=True)
    with open("%s/m%d.pyc" % (d, n), "wb") as f:
        f.write(marshal.dumps(compile(source, "m%d.py" % n, "exec"))[:4096])
after = cost()
open("cost", "w").write("%d %d\n" % (after[0] - before[0], after[1] - before[1]))
`

// watching measures what an honest command pays for being watched: the runner's part
// of all processor time that its container used.
func watching(_ context.Context, l *lab) ([]Table, error) {
	var lines []Line
	for n, b := range l.builds() {
		src, err := l.source(fmt.Sprintf("source-watching-%d", n), b.files)
		if err != nil {
			return nil, err
		}
		f, err := l.home(fmt.Sprintf("watching-%d", n), "docker").flow(src)
		if err != nil {
			return nil, err
		}
		line := Line{What: b.what, PeerName: "all of its container", MostRatio: 0.03}
		for range max(1, l.rounds/4) {
			runner, all, err := f.cost(b)
			if err != nil {
				return nil, err
			}
			line.Ours, line.Peer = append(line.Ours, runner), append(line.Peer, all)
		}
		lines = append(lines, line)
	}
	return []Table{{Title: "What the runner takes of an honest build", Unit: "ms of processor time", Lines: lines, Notes: []string{
		"The runner's own time is the kernel's, in steps of 10 ms, read inside of the container at the command's end.",
	}}}, nil
}

// cost runs a build once in a worktree without its earlier output.
func (f *flow) cost(b build) (runner, all float64, err error) {
	cmd, err := f.approvedFor(b.toolchain, b.arguments)
	if err != nil {
		return 0, 0, err
	}
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, fmt.Errorf("%w %.2000s", failed(cmd, err), out)
	}
	if _, err := f.follow(out); err != nil {
		return 0, 0, err
	}
	text, err := os.ReadFile(filepath.Join(f.path, "cost"))
	if err != nil {
		return 0, 0, err
	}
	if _, err := fmt.Sscan(string(text), &runner, &all); err != nil {
		return 0, 0, err
	}
	return runner, all, f.back()
}

// back removes what the build made and records that.
func (f *flow) back() error {
	if err := errors.Join(os.RemoveAll(filepath.Join(f.path, "out")), os.Remove(filepath.Join(f.path, "cost"))); err != nil {
		return err
	}
	var c struct {
		ID         string `json:"checkpoint_id"`
		Generation int64  `json:"generation"`
	}
	err := f.ask(&c, "drydock", "checkpoint", f.run)
	f.checkpoint, f.generation = c.ID, c.Generation
	return err
}
