//go:build linux

// Package measure finds out what isolation is in effect, from inside, as the
// facts of isolation.Expected. It changes nothing. What cannot be read becomes
// the fact "unreadable", which is a mismatch.
package measure

import (
	"os"
	"strconv"

	"cyberagent/cmd/standard-code-runner/internal/cgroup"
	"cyberagent/cmd/standard-code-runner/internal/mountinfo"
	"cyberagent/domain/isolation"
)

// maxFact bounds a fact's text, in bytes, so that a hostile mount table cannot
// make the report larger than the host reads.
const maxFact = 1024

type facts []isolation.Fact

func (f *facts) set(name, value string) {
	if len(value) > maxFact {
		value = value[:maxFact] + "..."
	}
	*f = append(*f, isolation.Fact{Name: name, Value: value})
}

func (f *facts) try(name string, value string, err error) {
	if err != nil {
		value = isolation.Unreadable
	}
	f.set(name, value)
}

func (f *facts) number(name string, n int64, err error) {
	value := strconv.FormatInt(n, 10)
	if n == cgroup.Unlimited {
		value = "unlimited"
	}
	f.try(name, value, err)
}

// Mounts reads the kernel's mount table of this process.
func Mounts() ([]mountinfo.Mount, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return mountinfo.Parse(string(table))
}

// Group locates the container's cgroup.
func Group(mounts []mountinfo.Mount) (cgroup.Group, error) {
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return cgroup.Group{}, err
	}
	return cgroup.Locate(mounts, string(self))
}

// Collect measures everything. The list is sorted by name.
func Collect(h isolation.Host) []isolation.Fact {
	var f facts
	f.set("contract", isolation.Contract)
	f.process()
	f.network()
	mounts, err := Mounts()
	f.mounts(mounts, err, h)
	f.limits(mounts)
	for name, value := range namespaces(h) {
		f.set("namespace."+name, value)
	}
	for _, p := range isolation.Probes() {
		f.set("seccomp."+p, probe(p))
	}
	return isolation.SortFacts(f)
}

func (f *facts) process() {
	text, err := os.ReadFile("/proc/self/status")
	st := status(string(text))
	key := func(name, key string) {
		v, ok := st[key]
		if !ok {
			v = isolation.Unreadable
		}
		f.try(name, v, err)
	}
	f.set("process.pid", strconv.Itoa(os.Getpid()))
	key("user.uids", "Uid")
	key("user.gids", "Gid")
	g, gerr := groups(st["Groups"])
	if _, ok := st["Groups"]; !ok {
		g = isolation.Unreadable
	}
	f.try("user.groups", g, gerr)
	for _, c := range []struct{ name, key string }{
		{"inheritable", "CapInh"}, {"permitted", "CapPrm"}, {"effective", "CapEff"},
		{"bounding", "CapBnd"}, {"ambient", "CapAmb"},
	} {
		key("capabilities."+c.name, c.key)
	}
	key("no_new_privileges", "NoNewPrivs")
	key("seccomp.mode", "Seccomp")
	host, err := os.Hostname()
	f.try("hostname", host, err)
	f.set("environment", environment())
	f.set("stdin.tty", tty())
}

func (f *facts) network() {
	dev, err := os.ReadFile("/proc/self/net/dev")
	f.try("network.interfaces", interfaces(string(dev)), err)
	v4, err4 := os.ReadFile("/proc/self/net/route")
	v6, err6 := optional("/proc/self/net/ipv6_route")
	if err4 == nil {
		err4 = err6
	}
	f.try("network.routes", routes(string(v4), v6), err4)
	inet6, err := optional("/proc/self/net/if_inet6")
	f.try("network.ipv6", ipv6(inet6), err)
}

func (f *facts) mounts(mounts []mountinfo.Mount, err error, h isolation.Host) {
	root := isolation.Unreadable
	if m, ok := mountinfo.Only(mounts, "/"); ok {
		root = mode(m)
	}
	f.try("root", root, err)
	f.try("workspace", projection(mounts, isolation.Workspace, h.Workspace, true), err)
	f.try("mask", projection(mounts, isolation.GitTarget, h.Mask, false), err)
	sum, sumErr := maskSHA256()
	f.try("mask.sha256", sum, sumErr)
	f.try("mounts.writable", writableMounts(mounts, disk{}), err)
	f.try("mounts.unknown", unknownMounts(mounts), err)
	f.try("paths.masked", maskedPaths(mounts, disk{}), err)
	f.try("paths.readonly", readonlyPaths(mounts, disk{}), err)
	for _, t := range isolation.Tmpfses() {
		f.try("tmpfs."+t.Target, tmpfs(mounts, t.Target), err)
	}
}

func (f *facts) limits(mounts []mountinfo.Mount) {
	ro := isolation.Yes
	if !cgroup.ReadOnly(mounts) {
		ro = "no"
	}
	f.set("cgroup.readonly", ro)
	g, err := Group(mounts)
	for _, l := range []struct {
		name string
		read func() (int64, error)
	}{
		{"memory_bytes", g.Memory}, {"memory_swap_bytes", g.MemorySwap},
		{"pids", g.Pids}, {"milli_cpus", g.MilliCPUs},
	} {
		n, readErr := l.read()
		if err != nil {
			readErr = err
		}
		f.number("cgroup."+l.name, n, readErr)
	}
	for _, r := range isolation.Rlimits() {
		v, err := rlimit(r.Name)
		f.try("rlimit."+r.Name, v, err)
	}
}

// Intact measures the two projections again and reports for each whether it is
// still what the host recorded.
func Intact(h isolation.Host) (workspace, mask bool) {
	mounts, err := Mounts()
	if err != nil {
		return false, false
	}
	sum, err := maskSHA256()
	workspace = projection(mounts, isolation.Workspace, h.Workspace, true) == "rw "+isolation.Matches
	mask = projection(mounts, isolation.GitTarget, h.Mask, false) == "ro "+isolation.Matches &&
		err == nil && sum == isolation.MaskSHA256()
	return workspace, mask
}
