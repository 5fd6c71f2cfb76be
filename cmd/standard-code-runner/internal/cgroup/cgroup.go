// Package cgroup finds and reads the container's own limits and counters, under
// cgroup v1 (one hierarchy a controller) and v2 (one for all).
package cgroup

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"cyberagent/cmd/standard-code-runner/internal/mountinfo"
)

// Unlimited is the value of a limit that is not set.
const Unlimited = int64(-1)

// v1Unlimited is where cgroup v1 begins to mean "no limit": the largest multiple
// of the page size, whatever the page's size is.
const v1Unlimited = int64(1) << 62

// Group is where the files of this process's cgroup are. A controller without a
// directory cannot be read; every read of it fails.
type Group struct {
	v2   bool
	dirs map[string]string // controller -> directory; "" for v2
}

// Locate finds the directories from the mount table and /proc/self/cgroup's
// text. It fails when no hierarchy is mounted that holds this process.
func Locate(mounts []mountinfo.Mount, self string) (Group, error) {
	paths := map[string]string{} // controller, or "" for v2 -> path in the hierarchy
	for line := range strings.Lines(self) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			return Group{}, fmt.Errorf("cgroup: unreadable line %q", line)
		}
		for c := range strings.SplitSeq(f[1], ",") {
			paths[c] = f[2]
		}
	}
	g := Group{dirs: map[string]string{}}
	for _, m := range mounts {
		switch m.FSType {
		case "cgroup":
			for _, c := range m.SuperOptions {
				if p, ok := paths[c]; ok {
					g.dirs[c] = directory(m, p)
				}
			}
		case "cgroup2":
			if p, ok := paths[""]; ok {
				g.dirs[""] = directory(m, p)
			}
		}
	}
	// A hybrid machine mounts v2 beside v1 without any controller in it.
	_, v1 := g.dirs["memory"]
	_, v2 := g.dirs[""]
	g.v2 = v2 && !v1
	if !v1 && !v2 {
		return Group{}, fmt.Errorf("cgroup: no hierarchy with a memory controller is mounted")
	}
	return g, nil
}

// directory maps a path in the hierarchy through the part of it that is mounted.
func directory(m mountinfo.Mount, p string) string {
	if m.Root == "/" {
		return path.Join(m.Target, p)
	}
	if rel, ok := strings.CutPrefix(p, m.Root); ok {
		return path.Join(m.Target, rel)
	}
	// Mounted from elsewhere in the hierarchy: engines mount exactly the
	// container's own group then.
	return m.Target
}

func (g Group) read(controller, v1, v2 string) (string, error) {
	name, key := v1, controller
	if g.v2 {
		name, key = v2, ""
	}
	dir, ok := g.dirs[key]
	if !ok || name == "" {
		return "", fmt.Errorf("cgroup: no %s", controller)
	}
	b, err := os.ReadFile(path.Join(dir, name))
	return strings.TrimSpace(string(b)), err
}

func (g Group) number(controller, v1, v2 string) (int64, error) {
	s, err := g.read(controller, v1, v2)
	if err != nil {
		return 0, err
	}
	return parseLimit(s)
}

func parseLimit(s string) (int64, error) {
	if s == "max" || s == "-1" {
		return Unlimited, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err == nil && n >= v1Unlimited {
		return Unlimited, nil
	}
	return n, err
}

// Memory is the limit in bytes.
func (g Group) Memory() (int64, error) {
	return g.number("memory", "memory.limit_in_bytes", "memory.max")
}

// MemorySwap is the limit of memory and swap together, in bytes.
func (g Group) MemorySwap() (int64, error) {
	if !g.v2 {
		return g.number("memory", "memory.memsw.limit_in_bytes", "")
	}
	swap, err := g.number("memory", "", "memory.swap.max")
	if err != nil {
		return 0, err
	}
	mem, err := g.Memory()
	if err != nil || swap == Unlimited || mem == Unlimited {
		return Unlimited, err
	}
	return mem + swap, nil
}

// Pids is the limit of tasks.
func (g Group) Pids() (int64, error) { return g.number("pids", "pids.max", "pids.max") }

// MilliCPUs is the bandwidth limit in thousandths of a CPU.
func (g Group) MilliCPUs() (int64, error) {
	if g.v2 {
		s, err := g.read("cpu", "", "cpu.max")
		if err != nil {
			return 0, err
		}
		return parseCPUMax(s)
	}
	quota, err := g.number("cpu", "cpu.cfs_quota_us", "")
	if err != nil {
		return 0, err
	}
	period, err := g.number("cpu", "cpu.cfs_period_us", "")
	if err != nil {
		return 0, err
	}
	return milli(quota, period)
}

func parseCPUMax(s string) (int64, error) {
	f := strings.Fields(s)
	if len(f) != 2 {
		return 0, fmt.Errorf("cgroup: cpu.max %q", s)
	}
	quota, err := parseLimit(f[0])
	if err != nil {
		return 0, err
	}
	period, err := parseLimit(f[1])
	if err != nil {
		return 0, err
	}
	return milli(quota, period)
}

func milli(quota, period int64) (int64, error) {
	switch {
	case quota == Unlimited:
		return Unlimited, nil
	case period <= 0 || quota < 0 || quota > v1Unlimited/1000:
		return 0, fmt.Errorf("cgroup: %d of %d us", quota, period)
	}
	return quota * 1000 / period, nil
}

// Unknown is the value of a counter that this kernel does not have.
const Unknown = int64(-1)

// Counters are what the kernel counted since the container began.
type Counters struct {
	OOMKills   int64
	PidsDenied int64
	PeakMemory int64 // bytes
	PeakPids   int64 // tasks, the runner's threads among them
}

// Counters reads what there is; the rest is Unknown.
func (g Group) Counters() Counters {
	num := func(controller, v1, v2 string) int64 {
		n, err := g.number(controller, v1, v2)
		if err != nil {
			return Unknown
		}
		return n
	}
	key := func(controller, v1, v2, word string) int64 {
		s, err := g.read(controller, v1, v2)
		if err != nil {
			return Unknown
		}
		return keyed(s, word)
	}
	return Counters{
		OOMKills:   key("memory", "memory.oom_control", "memory.events", "oom_kill"),
		PidsDenied: key("pids", "pids.events", "pids.events", "max"),
		PeakMemory: num("memory", "memory.max_usage_in_bytes", "memory.peak"),
		PeakPids:   num("pids", "pids.peak", "pids.peak"),
	}
}

// keyed reads a flat keyed file: a word and a number a line.
func keyed(text, word string) int64 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == word {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil && n >= 0 {
				return n
			}
		}
	}
	return Unknown
}

// ReadOnly says whether every mounted hierarchy is read-only, and that there is
// at least one.
func ReadOnly(mounts []mountinfo.Mount) bool {
	kinds := []string{"cgroup", "cgroup2"}
	found := false
	for _, m := range mounts {
		if !slices.Contains(kinds, m.FSType) {
			continue
		}
		if !m.ReadOnly() {
			return false
		}
		found = true
	}
	return found
}
