//go:build linux

package main

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/adapters/conformance/internal/finding"
)

// word is finding.Word; every attempt ends with it.
var word = finding.Word

func look(args []string) finding.Findings {
	f := finding.Findings{
		Status: status(), Calls: calls(), Interfaces: interfaces(), Routes: lines("/proc/net/route", 1),
		Addresses6: lines("/proc/net/if_inet6", 0), Hosts: read("/etc/hosts"), Mounts: mounts(),
		Mask: read("/workspace/.git"), MaskAttempts: maskAttempts(),
		Environment: os.Environ(), Args: args, Devices: names("/dev"),
		Connects: map[string]string{"v4": connect("tcp4", "192.0.2.1:80"), "v6": connect("tcp6", "[2001:db8::1]:80")},
		Rooms:    map[string]finding.Room{}, Executes: map[string]string{}, Groups: groups(), First: first(), Rlimits: rlimits(),
	}
	f.Hostname, _ = os.Hostname()
	f.Workdir, _ = os.Getwd()
	for _, s := range []string{"/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"} {
		if _, err := os.Lstat(s); err == nil {
			f.Sockets = append(f.Sockets, s)
		}
	}
	for _, p := range names("/proc") {
		if n, err := strconv.Atoi(p); err == nil {
			f.Pids = append(f.Pids, n)
		}
	}
	slices.Sort(f.Pids)
	f.Descriptors = descriptors()
	for dir, files := range map[string]string{"/standard-code/cache": "/standard-code/cache/tmp", "/dev/shm": "/dev/shm"} {
		f.Rooms[dir], f.Executes[dir] = room(dir), executes(files)
	}
	f.Holes, f.KernelHoles, f.Tried = holes()
	in, _ := io.ReadAll(os.Stdin)
	f.Stdin = string(in)
	return f
}

func read(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return word(err)
	}
	return string(b)
}

// lines leaves out the first skip lines.
func lines(path string, skip int) []string {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	all := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if err != nil || len(all) < skip || string(b) == "" {
		return nil
	}
	return all[skip:]
}

func names(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func status() map[string]string {
	want := []string{"Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"}
	m := map[string]string{}
	for _, l := range lines("/proc/self/status", 0) {
		if k, v, ok := strings.Cut(l, ":"); ok && slices.Contains(want, k) {
			m[k] = strings.Join(strings.Fields(v), " ")
		}
	}
	return m
}

func interfaces() []string {
	var all []string
	for _, l := range lines("/proc/net/dev", 2) {
		name, _, _ := strings.Cut(strings.TrimSpace(l), ":")
		all = append(all, name)
	}
	return all
}

func connect(network, address string) string {
	c, err := net.DialTimeout(network, address, 3*time.Second)
	if err == nil {
		_ = c.Close()
	}
	return word(err)
}

func mounts() []finding.Mount {
	var all []finding.Mount
	for _, l := range lines("/proc/self/mountinfo", 0) {
		left, right, _ := strings.Cut(l, " - ")
		a, b := strings.Fields(left), strings.Fields(right)
		if len(a) < 6 || len(b) < 1 {
			continue
		}
		all = append(all, finding.Mount{Target: a[4], Type: b[0], Options: strings.Split(a[5], ","), Shared: strings.Contains(left, " shared:")})
	}
	return all
}

func room(dir string) finding.Room {
	var s unix.Statfs_t
	var st unix.Stat_t
	if unix.Statfs(dir, &s) != nil || unix.Stat(dir, &st) != nil {
		return finding.Room{}
	}
	return finding.Room{Bytes: int64(s.Blocks) * s.Bsize, Inodes: int64(s.Files), Mode: st.Mode & 0o7777}
}

func rlimits() map[string][2]int64 {
	m := map[string][2]int64{}
	for name, which := range map[string]int{"core": unix.RLIMIT_CORE, "fsize": unix.RLIMIT_FSIZE, "nofile": unix.RLIMIT_NOFILE, "msgqueue": 12} {
		// The Go runtime raises the soft limit of open files for itself, not below
		// the hard one; both are equal here.
		var r unix.Rlimit
		if unix.Getrlimit(which, &r) == nil {
			m[name] = [2]int64{int64(r.Cur), int64(r.Max)}
		}
	}
	return m
}

// groups reads the limits of whichever cgroup version is mounted.
func groups() map[string]string {
	m := map[string]string{}
	for name, files := range map[string][]string{
		"memory": {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"},
		"pids":   {"/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"},
		"quota":  {"/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us"},
	} {
		for _, f := range files {
			if b, err := os.ReadFile(f); err == nil {
				m[name] = strings.TrimSpace(string(b))
				break
			}
		}
	}
	return m
}

// descriptors counts what was inherited: the three, beside the one that lists.
func descriptors() int {
	n := 0
	for fd := range 64 {
		if link, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err == nil && !strings.HasPrefix(link, "anon_inode:") {
			n++
		}
	}
	return n
}

func executes(dir string) string {
	path := filepath.Join(dir, "program")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return word(err)
	}
	if err := os.WriteFile(path, self, 0o700); err != nil {
		return word(err)
	}
	defer func() { _ = os.Remove(path) }()
	p, err := os.StartProcess(path, []string{path, "exit", "0"}, &os.ProcAttr{})
	if err != nil {
		return word(err)
	}
	_, err = p.Wait()
	return word(err)
}
