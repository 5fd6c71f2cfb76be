package isolation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cyberagent/domain/canon"
	"cyberagent/domain/limits"
)

// Fact is one measured property. Names are stable; values are text in which
// what differs by nature between engines, hosts or runs is already normalised
// (see Expected), so that the same command has the same facts on every engine.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Host is what the runner cannot know by itself and the host recorded for it.
type Host struct {
	Workspace FileID `json:"workspace"`
	Mask      FileID `json:"mask"`
	// Namespaces are the inode numbers of the host's own namespaces by name
	// (cgroup, ipc, mnt, net, pid, uts); the container's must differ.
	Namespaces map[string]uint64 `json:"namespaces"`
	// PrivateCgroup is false where the kernel or the engine has no cgroup
	// namespace for containers (cgroup v1 on older engines).
	PrivateCgroup bool `json:"private_cgroup"`
}

// Probes are the system calls that the runner tries to prove that the seccomp
// profile is the product's: each must fail with EPERM. Each of them works, or
// fails otherwise, without that profile.
func Probes() []string {
	return []string{"keyctl", "io_uring_setup", "socket(AF_VSOCK)", "socket(AF_ALG)", "prlimit64(pid 2)"}
}

// Value words used by measurement and expectation.
const (
	Yes         = "yes"
	None        = "none"
	Own         = "own"
	Matches     = "matches"
	Unreadable  = "unreadable"
	DeniedEPERM = "EPERM"
)

// Expected returns the fact list that a command's container must show, sorted by name.
//
// Normalised, with the reason: device and inode numbers become "matches" (they
// differ by host and run); namespaces become "own" (numbers differ by run); the
// engine's own read-only files in /etc and the kernel's masked paths that do not
// exist become part of one verdict (kernels and engines differ in them); limits
// are read from cgroup v1 or v2 and given in bytes, counts and milli-CPUs;
// namespace.cgroup is "own" also where no such namespace exists (cgroup v1);
// user.groups and environment leave out what an engine adds by itself (Groups,
// Environment).
func Expected() []Fact { return expected(Rlimits()) }

// ExpectedInOven returns the fact list that a container of NewOvenSpec must show.
func ExpectedInOven() []Fact { return expected(rlimits(limits.ProjectFileBytes)) }

func expected(process []Rlimit) []Fact {
	ids := func(n int) string { return strings.TrimSpace(strings.Repeat(strconv.Itoa(n)+" ", 4)) }
	facts := []Fact{
		{"contract", Contract},
		{"process.pid", "1"},
		{"user.uids", ids(limits.UID)}, // real, effective, saved, filesystem
		{"user.gids", ids(limits.GID)},
		{"user.groups", None},
		{"capabilities.inheritable", strings.Repeat("0", 16)},
		{"capabilities.permitted", strings.Repeat("0", 16)},
		{"capabilities.effective", strings.Repeat("0", 16)},
		{"capabilities.bounding", strings.Repeat("0", 16)},
		{"capabilities.ambient", strings.Repeat("0", 16)},
		{"no_new_privileges", "1"},
		{"seccomp.mode", "2"},
		{"network.interfaces", "lo"},
		{"network.routes", None},          // beyond the loopback's own
		{"network.ipv6", "loopback only"}, // no address but ::1, or no IPv6 at all
		{"hostname", Hostname},
		{"environment", None},
		{"stdin.tty", "no"},
		{"root", "ro"},
		{"workspace", "rw " + Matches},
		{"mask", "ro " + Matches},
		{"mask.sha256", MaskSHA256()},
		{"mounts.writable", "none beyond the contract"},
		{"mounts.unknown", None},
		{"paths.masked", Yes},
		{"paths.readonly", Yes},
		{"cgroup.readonly", Yes},
		{"cgroup.memory_bytes", strconv.FormatInt(limits.MemoryBytes, 10)},
		{"cgroup.memory_swap_bytes", strconv.FormatInt(limits.MemoryBytes, 10)},
		{"cgroup.pids", strconv.FormatInt(limits.Pids, 10)},
		{"cgroup.milli_cpus", strconv.FormatInt(limits.CPUs*1000, 10)},
	}
	for _, n := range Namespaces() {
		facts = append(facts, Fact{"namespace." + n, Own})
	}
	for _, p := range Probes() {
		facts = append(facts, Fact{"seccomp." + p, DeniedEPERM})
	}
	for _, t := range Tmpfses() {
		facts = append(facts, Fact{"tmpfs." + t.Target, t.Fact()})
	}
	for _, r := range process {
		facts = append(facts, Fact{"rlimit." + r.Name, strconv.FormatInt(r.Value, 10)})
	}
	return SortFacts(facts)
}

// Namespaces returns the kinds of namespaces that a container has of its own.
func Namespaces() []string { return []string{"cgroup", "ipc", "mnt", "net", "pid", "uts"} }

// Groups is the fact user.groups for measured supplementary groups. The user's
// own primary group is left out: Docker since 20.10.18 repeats it in that list
// (so that files denied to the group stay denied), containerd need not, and it
// grants nothing that the gid does not.
func Groups(gids []int) string {
	var rest []string
	for _, g := range gids {
		if g != limits.GID {
			rest = append(rest, strconv.Itoa(g))
		}
	}
	return listed(rest)
}

// EngineVariables are what engines set in every container's environment, also
// when it is configured empty: Docker sets PATH (its own constant) and HOSTNAME
// (the fixed one), runc and crun set HOME (from the image's passwd, or /).
// containerd sets none. None of them comes from the operator or the host, and
// the runner hands none of them on.
func EngineVariables() []string { return []string{"HOME", "HOSTNAME", "PATH"} }

// Environment is the fact environment for the names in the runner's own
// environment: EngineVariables are left out, any other is named. Values are
// never part of it, for they might be secrets.
func Environment(names []string) string {
	rest := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(EngineVariables(), n) })
	slices.Sort(rest)
	return listed(rest)
}

func listed(items []string) string {
	if len(items) == 0 {
		return None
	}
	return strings.Join(items, " ")
}

// Fact is how a measured tmpfs is written.
func (t Tmpfs) Fact() string {
	exec := "noexec"
	if t.Exec {
		exec = "exec"
	}
	return fmt.Sprintf("rw,nosuid,nodev,%s,bytes=%d,inodes=%d,mode=%04o,uid=%d,gid=%d", exec, t.Bytes, t.Inodes, t.Mode, t.UID, t.GID)
}

// SortFacts orders facts by name.
func SortFacts(f []Fact) []Fact {
	slices.SortFunc(f, func(a, b Fact) int { return strings.Compare(a.Name, b.Name) })
	return f
}

// Mismatches returns every difference between what was measured and what must
// hold (Expected, ExpectedInOven): a missing, an additional, a repeated and a different
// fact are all one.
func Mismatches(measured, expected []Fact) []Difference {
	want := map[string]string{}
	for _, f := range expected {
		want[f.Name] = f.Value
	}
	var diffs []Difference
	seen := map[string]bool{}
	for _, f := range measured {
		w, known := want[f.Name]
		switch {
		case !known:
			diffs = append(diffs, Difference{Property: f.Name, Want: "absent", Got: f.Value})
		case seen[f.Name]:
			diffs = append(diffs, Difference{Property: f.Name, Want: "once", Got: "twice"})
		case f.Value != w:
			diffs = append(diffs, Difference{Property: f.Name, Want: w, Got: f.Value})
		}
		seen[f.Name] = true
	}
	for _, f := range expected {
		if !seen[f.Name] {
			diffs = append(diffs, Difference{Property: f.Name, Want: f.Value, Got: "not measured"})
		}
	}
	return diffs
}

// FactsSHA256 is the digest of a fact list: equal on both engines for the same
// command.
func FactsSHA256(f []Fact) string {
	return canon.Digest(SortFacts(slices.Clone(f)))
}
