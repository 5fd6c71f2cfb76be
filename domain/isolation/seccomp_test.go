package isolation_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"cyberagent/domain/canon"
	"cyberagent/domain/isolation"
)

// The profile as an engine reads it. A key that is not here (excludes, minKernel,
// caps) fails the decoding, for this test would not judge it.
type (
	seccompProfile struct {
		DefaultAction   string        `json:"defaultAction"`
		DefaultErrnoRet uint          `json:"defaultErrnoRet"`
		ArchMap         []seccompArch `json:"archMap"`
		Syscalls        []seccompRule `json:"syscalls"`
	}
	seccompArch struct {
		Architecture     string   `json:"architecture"`
		SubArchitectures []string `json:"subArchitectures"`
	}
	seccompRule struct {
		Names    []string     `json:"names"`
		Action   string       `json:"action"`
		ErrnoRet *uint        `json:"errnoRet"`
		Args     []seccompArg `json:"args"`
		Includes *struct {
			Arches []string `json:"arches"`
		} `json:"includes"`
	}
	seccompArg struct {
		Index    int    `json:"index"`
		Value    uint64 `json:"value"`
		ValueTwo uint64 `json:"valueTwo"`
		Op       string `json:"op"`
	}
)

func readProfile(t *testing.T) seccompProfile {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(isolation.SeccompProfile()))
	dec.DisallowUnknownFields()
	var p seccompProfile
	if err := dec.Decode(&p); err != nil {
		t.Fatal(err)
	}
	return p
}

// holds compares as libseccomp does: all 64 bits, unsigned.
func (a seccompArg) holds(t *testing.T, args [6]uint64) bool {
	t.Helper()
	v := args[a.Index]
	switch a.Op {
	case "SCMP_CMP_NE":
		return v != a.Value
	case "SCMP_CMP_LT":
		return v < a.Value
	case "SCMP_CMP_LE":
		return v <= a.Value
	case "SCMP_CMP_EQ":
		return v == a.Value
	case "SCMP_CMP_GE":
		return v >= a.Value
	case "SCMP_CMP_GT":
		return v > a.Value
	case "SCMP_CMP_MASKED_EQ":
		return v&a.Value == a.ValueTwo
	}
	t.Fatalf("operator %q", a.Op)
	return false
}

// allows says whether any rule lets the call through on amd64 or arm64. Rules of
// one call are alternatives; the arguments of one rule must all hold, unless one
// index stands twice: then runc makes each an alternative of its own.
func (p seccompProfile) allows(t *testing.T, name string, args [6]uint64) bool {
	t.Helper()
	for _, r := range p.Syscalls {
		if r.Action != "SCMP_ACT_ALLOW" || !slices.Contains(r.Names, name) {
			continue
		}
		indexes := map[int]bool{}
		all, any := true, false
		for _, a := range r.Args {
			h := a.holds(t, args)
			all, any = all && h, any || h
			indexes[a.Index] = true
		}
		if all || (any && len(indexes) < len(r.Args)) {
			return true
		}
	}
	return false
}

// garbage are upper halves that a caller can put above an int argument; the
// kernel drops them, a filter sees them.
var garbage = []uint64{0, 1, 0x8000_0000, 0xdead_beef, 0xffff_ffff}

func TestSeccompDeniesByDefaultWithEPERM(t *testing.T) {
	t.Parallel()
	p := readProfile(t)
	if p.DefaultAction != "SCMP_ACT_ERRNO" || p.DefaultErrnoRet != 1 {
		t.Errorf("default %s %d", p.DefaultAction, p.DefaultErrnoRet)
	}
	if len(p.ArchMap) != 2 || p.ArchMap[0].Architecture != "SCMP_ARCH_X86_64" || p.ArchMap[1].Architecture != "SCMP_ARCH_AARCH64" {
		t.Errorf("architectures %+v", p.ArchMap)
	}
	for _, a := range p.ArchMap {
		if len(a.SubArchitectures) != 0 {
			t.Errorf("%s lets in %q, whose calls have other numbers and arguments", a.Architecture, a.SubArchitectures)
		}
	}
	for _, r := range p.Syscalls {
		enosys := r.Action == "SCMP_ACT_ERRNO" && r.ErrnoRet != nil && *r.ErrnoRet == 38 && slices.Equal(r.Names, []string{"clone3"})
		unsupported := r.Action == "SCMP_ACT_ERRNO" && r.ErrnoRet != nil && *r.ErrnoRet == 95 && slices.Equal(r.Names, []string{"fallocate"})
		if r.Action != "SCMP_ACT_ALLOW" && !enosys && !unsupported {
			t.Errorf("a rule %+v", r)
		}
	}
}

func TestSeccompHasNoRuleForTheseCalls(t *testing.T) {
	t.Parallel()
	p := readProfile(t)
	for _, name := range []string{
		// The product's own removals.
		"keyctl", "add_key", "request_key", "io_uring_setup", "io_uring_enter", "io_uring_register", "socketcall", "fallocate",
		// What moby lets in for a capability only.
		"mount", "umount", "umount2", "move_mount", "open_tree", "fsopen", "fsmount", "fsconfig", "fspick", "mount_setattr",
		"pivot_root", "chroot", "unshare", "setns", "sethostname", "setdomainname", "bpf", "perf_event_open", "fanotify_init",
		"open_by_handle_at", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot",
		"swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "vhangup", "iopl", "ioperm", "settimeofday",
		"clock_settime", "stime", "lookup_dcookie", "kcmp", "process_madvise", "set_mempolicy", "mbind", "move_pages",
		// What moby never lets in.
		"userfaultfd", "nfsservctl", "uselib", "ustat", "sysfs", "_sysctl", "create_module", "query_module", "clone3",
	} {
		for _, r := range p.Syscalls {
			if r.Action == "SCMP_ACT_ALLOW" && slices.Contains(r.Names, name) {
				t.Errorf("%s is allowed by %+v", name, r.Args)
			}
		}
	}
}

func TestSeccompDeniesAddressFamiliesWithAnyUpperHalf(t *testing.T) {
	t.Parallel()
	p := readProfile(t)
	for _, high := range garbage {
		for name, family := range map[string]uint64{"AF_ALG": 38, "AF_VSOCK": 40} {
			if p.allows(t, "socket", [6]uint64{high<<32 | family, 1, 0}) {
				t.Errorf("socket(%s) is allowed with the upper half %#x", name, high)
			}
		}
		for family := range uint64(64) {
			if high != 0 && p.allows(t, "socket", [6]uint64{high<<32 | family, 1, 0}) {
				t.Errorf("socket(%d) is allowed with the upper half %#x", family, high)
			}
		}
	}
	for name, family := range map[string]uint64{"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16} {
		if !p.allows(t, "socket", [6]uint64{family, 1, 0}) {
			t.Errorf("socket(%s) is denied; tests use it on the loopback", name)
		}
	}
}

func TestSeccompLetsProcessesChangeThemselvesOnly(t *testing.T) {
	t.Parallel()
	p := readProfile(t)
	for _, name := range []string{"prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"} {
		if !p.allows(t, name, [6]uint64{0, 7, 7, 7}) {
			t.Errorf("%s on the caller is denied", name)
		}
		for _, high := range garbage {
			for _, pid := range []uint64{1, 2, 128, 0xffff_ffff} {
				if p.allows(t, name, [6]uint64{high<<32 | pid, 0, 0, 0}) {
					t.Errorf("%s on pid %d is allowed with the upper half %#x", name, pid, high)
				}
			}
		}
	}
	for _, c := range []struct {
		name       string
		which, who uint64
		want       bool
	}{
		{"setpriority", 0, 0, true},  // the calling process
		{"setpriority", 0, 1, false}, // the runner
		{"setpriority", 1, 0, false}, // a process group
		{"setpriority", 1, 1, false},
		{"setpriority", 2, 0, false}, // everything of this user, so the runner
		{"setpriority", 2, 65532, false},
		{"ioprio_set", 1, 0, true}, // the calling process
		{"ioprio_set", 1, 1, false},
		{"ioprio_set", 2, 0, false},
		{"ioprio_set", 3, 65532, false},
		{"ioprio_set", 0, 0, false},
	} {
		for _, high := range garbage {
			want := c.want && high == 0
			if got := p.allows(t, c.name, [6]uint64{high<<32 | c.which, c.who, 5}); got != want {
				t.Errorf("%s(%d with upper half %#x, %d): allowed %v", c.name, c.which, high, c.who, got)
			}
			if got := p.allows(t, c.name, [6]uint64{c.which, high<<32 | c.who, 5}); got != want {
				t.Errorf("%s(%d, %d with upper half %#x): allowed %v", c.name, c.which, c.who, high, got)
			}
		}
	}
}

func TestSeccompDeniesNewNamespacesThroughClone(t *testing.T) {
	t.Parallel()
	p := readProfile(t)
	const thread, sigchld = 0x3d0f00, 17
	for _, flags := range []uint64{thread, sigchld, 0x4000 | 0x100 | sigchld} {
		if !p.allows(t, "clone", [6]uint64{flags}) {
			t.Errorf("clone(%#x) is denied", flags)
		}
	}
	for name, flag := range map[string]uint64{
		"CLONE_NEWNS": 0x20000, "CLONE_NEWCGROUP": 0x2000000, "CLONE_NEWUTS": 0x4000000, "CLONE_NEWIPC": 0x8000000,
		"CLONE_NEWUSER": 0x10000000, "CLONE_NEWPID": 0x20000000, "CLONE_NEWNET": 0x40000000,
	} {
		for _, high := range garbage {
			if p.allows(t, "clone", [6]uint64{high<<32 | flag | sigchld}) {
				t.Errorf("clone(%s) is allowed with the upper half %#x", name, high)
			}
		}
	}
}

func TestSeccompHasNoOtherWayToPreallocate(t *testing.T) {
	t.Parallel()
	p := readProfile(t)
	for _, high := range garbage {
		for name, command := range map[string]uint64{
			"FS_IOC_RESVSP": 0x40305828, "FS_IOC_RESVSP64": 0x4030582a, "FS_IOC_ZERO_RANGE": 0x40305839, "any of that type": 0x5800,
		} {
			if p.allows(t, "ioctl", [6]uint64{3, high<<32 | command}) {
				t.Errorf("ioctl(%s) is allowed with the upper half %#x", name, high)
			}
		}
	}
	for name, command := range map[string]uint64{"TCGETS": 0x5401, "FIONREAD": 0x541b, "FIOCLEX": 0x5451, "FS_IOC_GETFLAGS": 0x80086601, "FICLONE": 0x40049409, "SIOCGIFCONF": 0x8912} {
		if !p.allows(t, "ioctl", [6]uint64{3, command}) {
			t.Errorf("ioctl(%s) is denied", name)
		}
	}
}

// TestProbesAreDeniedByTheProfile ties each of the runner's probes to a call that
// the profile denies.
func TestProbesAreDeniedByTheProfile(t *testing.T) {
	t.Parallel()
	p := readProfile(t)
	calls := map[string]struct {
		name string
		args [6]uint64
	}{
		"keyctl":           {"keyctl", [6]uint64{}},
		"io_uring_setup":   {"io_uring_setup", [6]uint64{1}},
		"socket(AF_VSOCK)": {"socket", [6]uint64{40, 1}},
		"socket(AF_ALG)":   {"socket", [6]uint64{38, 5}},
		"prlimit64(pid 2)": {"prlimit64", [6]uint64{2, 7}},
	}
	if len(isolation.Probes()) != 5 {
		t.Errorf("%d probes, the contract says five", len(isolation.Probes()))
	}
	for _, probe := range isolation.Probes() {
		c, ok := calls[probe]
		if !ok {
			t.Errorf("the probe %q is new: add its call to this test", probe)
			continue
		}
		if p.allows(t, c.name, c.args) {
			t.Errorf("the probe %q is allowed", probe)
		}
	}
}

func TestSeccompAllowsWhatTheRunnerAndTheToolsNeed(t *testing.T) {
	t.Parallel()
	p := readProfile(t)
	for _, name := range []string{
		"read", "write", "openat", "execve", "wait4", "waitid", "kill", "tgkill", "prctl", "rt_sigaction", "fork", "vfork",
		"inotify_init1", "inotify_add_watch", "statfs", "fstatfs", "chmod", "fchmodat", "getdents64", "newfstatat", "statx",
		"setsid", "setrlimit", "getrlimit", "sched_yield", "sched_getaffinity", "futex", "mmap", "mprotect", "epoll_create1",
		"pidfd_open", "pidfd_send_signal", "memfd_create", "link", "symlink", "rename", "renameat2", "utimensat", "flock",
	} {
		if !p.allows(t, name, [6]uint64{}) {
			t.Errorf("%s is denied", name)
		}
	}
}

func TestSeccompSHA256IsThatOfTheBytes(t *testing.T) {
	t.Parallel()
	if got, want := isolation.SeccompSHA256(), canon.SHA256(isolation.SeccompProfile()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
