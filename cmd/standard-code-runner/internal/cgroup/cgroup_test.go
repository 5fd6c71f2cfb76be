package cgroup

import (
	"os"
	"path/filepath"
	"testing"

	"cyberagent/cmd/standard-code-runner/internal/mountinfo"
)

// files writes a tree of control files and returns its root.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func mount(fstype, root, target string, super ...string) mountinfo.Mount {
	return mountinfo.Mount{FSType: fstype, Root: root, Target: target, SuperOptions: super, Options: []string{"ro"}}
}

func TestV1IsReadThroughTheMountedGroup(t *testing.T) {
	dir := files(t, map[string]string{
		"memory/memory.limit_in_bytes": "2147483648\n", "memory/memory.memsw.limit_in_bytes": "2147483648\n",
		"pids/pids.max": "128\n", "pids/pids.events": "max 7\n", "memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
		"memory/memory.max_usage_in_bytes": "4096\n", "cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n",
	})
	mounts := []mountinfo.Mount{
		mount("cgroup", "/docker/x", dir+"/memory", "rw", "memory"), mount("cgroup", "/docker/x", dir+"/pids", "rw", "pids"),
		mount("cgroup", "/docker/x", dir+"/cpu", "rw", "cpu", "cpuacct"),
	}
	g, err := Locate(mounts, "4:memory:/docker/x\n8:pids:/docker/x\n1:cpu,cpuacct:/docker/x\n0::/docker/x\n")
	if err != nil {
		t.Fatal(err)
	}
	check(t, g, 2147483648, 2147483648, 128, 2000)
	if c := g.Counters(); c != (Counters{OOMKills: 2, PidsDenied: 7, PeakMemory: 4096, PeakPids: Unknown}) {
		t.Errorf("%+v", c)
	}
}

func TestV2IsReadWithAndWithoutItsOwnNamespace(t *testing.T) {
	group := map[string]string{
		"memory.max": "2147483648\n", "memory.swap.max": "0\n", "pids.max": "128\n", "cpu.max": "200000 100000\n",
		"memory.events": "low 0\noom 1\noom_kill 1\noom_group_kill 0\n", "pids.events": "max 0\n", "memory.peak": "10\n", "pids.peak": "3\n",
	}
	for root, self := range map[string]string{"/": "0::/\n", "/system.slice/docker-x.scope": "0::/system.slice/docker-x.scope\n"} {
		g, err := Locate([]mountinfo.Mount{mount("cgroup2", root, files(t, group), "rw")}, self)
		if err != nil {
			t.Fatal(err)
		}
		check(t, g, 2147483648, 2147483648, 128, 2000)
		if c := g.Counters(); c != (Counters{OOMKills: 1, PidsDenied: 0, PeakMemory: 10, PeakPids: 3}) {
			t.Errorf("%+v", c)
		}
	}
}

func check(t *testing.T, g Group, want ...int64) {
	t.Helper()
	for i, read := range []func() (int64, error){g.Memory, g.MemorySwap, g.Pids, g.MilliCPUs} {
		if n, err := read(); err != nil || n != want[i] {
			t.Errorf("limit %d: %d %v, want %d", i, n, err, want[i])
		}
	}
}

func TestNoLimitIsNotANumber(t *testing.T) {
	v1 := files(t, map[string]string{"memory.limit_in_bytes": "9223372036854771712\n", "cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n", "pids.max": "max\n"})
	g, err := Locate([]mountinfo.Mount{mount("cgroup", "/", v1, "memory", "cpu", "pids")}, "1:memory,cpu,pids:/\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, read := range []func() (int64, error){g.Memory, g.Pids, g.MilliCPUs} {
		if n, err := read(); err != nil || n != Unlimited {
			t.Errorf("%d %v", n, err)
		}
	}
	if _, err := g.MemorySwap(); err == nil {
		t.Error("a kernel without swap accounting has no such limit")
	}
}

func TestAHybridMachinesEmptyV2IsNotUsed(t *testing.T) {
	dir := files(t, map[string]string{"memory.limit_in_bytes": "5\n"})
	g, err := Locate([]mountinfo.Mount{mount("cgroup", "/", dir, "memory"), mount("cgroup2", "/", t.TempDir())}, "4:memory:/\n0::/\n")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := g.Memory(); n != 5 || err != nil {
		t.Errorf("%d %v", n, err)
	}
}

func TestNoHierarchyIsAnError(t *testing.T) {
	for _, self := range []string{"", "0::/\n", "nonsense\n"} {
		if g, err := Locate(nil, self); err == nil {
			t.Errorf("%q: %+v", self, g)
		}
	}
}

func TestReadOnlyWantsEveryHierarchy(t *testing.T) {
	rw := mountinfo.Mount{FSType: "cgroup", Options: []string{"rw"}, SuperOptions: []string{"rw"}}
	ro := mountinfo.Mount{FSType: "cgroup", Options: []string{"ro"}, SuperOptions: []string{"rw"}}
	for _, c := range []struct {
		mounts []mountinfo.Mount
		want   bool
	}{{nil, false}, {[]mountinfo.Mount{ro}, true}, {[]mountinfo.Mount{ro, rw}, false}} {
		if got := ReadOnly(c.mounts); got != c.want {
			t.Errorf("%v: %v", c.mounts, got)
		}
	}
}
