package conformance

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// watched are files of the host that tell what the machine is set to. Those that
// change by themselves are left out.
var watched = []string{
	"/proc/sys/kernel/*", "/proc/sys/vm/*", "/proc/sys/net/core/*", "/proc/sys/net/ipv4/ip_forward", "/proc/modules", "/proc/swaps",
	"/sys/fs/cgroup/*/release_agent", "/sys/fs/cgroup/*/notify_on_release", "/sys/kernel/uevent_helper", "/sys/kernel/mm/transparent_hugepage/enabled",
	"/etc/passwd", "/etc/hosts",
}

var restless = []string{
	"/proc/sys/kernel/ns_last_pid", "/proc/sys/kernel/pty/nr", "/proc/sys/kernel/random", "/proc/sys/kernel/sched_domain", "/proc/sys/vm/stat_refresh",
}

// snapshot is what the host is set to, and what the neighbour's process is.
func (b *bait) snapshot() map[string]string {
	seen := map[string]string{}
	for _, pattern := range watched {
		files, _ := filepath.Glob(pattern)
		for _, f := range files {
			if st, err := os.Stat(f); err != nil || !st.Mode().IsRegular() || slices.Contains(restless, f) {
				continue
			}
			if content, err := os.ReadFile(f); err == nil {
				seen[f] = string(content)
			}
		}
	}
	seen["host name"], _ = os.Hostname()
	for _, f := range []string{"secret", "beside"} {
		content, _ := os.ReadFile(b.facts[f])
		seen[f] = string(content)
	}
	maps.Copy(seen, process(b.neighbour.Process.Pid))
	return seen
}

// process is what others may have changed of one.
func process(pid int) map[string]string {
	at := fmt.Sprintf("/proc/%d/", pid)
	m := map[string]string{}
	for _, f := range []string{"limits", "oom_score_adj", "timerslack_ns", "coredump_filter", "autogroup", "cgroup"} {
		content, _ := os.ReadFile(at + f)
		m["neighbour's "+f] = string(content)
	}
	status, _ := os.ReadFile(at + "status")
	for line := range bytes.Lines(status) {
		for _, key := range []string{"Name:", "State:", "TracerPid:", "Uid:", "Cpus_allowed:"} {
			if k, v, _ := strings.Cut(string(line), "\t"); k == key {
				// Whether it sleeps or runs is its own business; whether it is stopped is not.
				m["neighbour's "+key] = strings.NewReplacer("R (running)", "S (sleeping)", "D (disk sleep)", "S (sleeping)").Replace(strings.TrimSpace(v))
			}
		}
	}
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	m["neighbour's nice"] = fmt.Sprint(nice, err)
	return m
}

// changed names what is not as it was.
func changed(before, after map[string]string) []string {
	var all []string
	for k, v := range before {
		if after[k] != v {
			all = append(all, fmt.Sprintf("%s was %q and is %q", k, v, after[k]))
		}
	}
	slices.Sort(all)
	return all
}
