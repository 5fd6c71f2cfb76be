package containerd

import (
	"strconv"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
)

// What the runtime specification calls what the contract fixes.
const (
	// ociVersion is the oldest that has everything that is asked for: runc and crun
	// of Debian 12 refuse none of it.
	ociVersion = "1.0.2"
	cgroupRoot = "/cyberagent/"
	cpuPeriod  = uint64(100_000) // microseconds
	private    = "private"
	rprivate   = "rprivate"
	rlimitWord = "RLIMIT_"
	rootfs     = "rootfs" // in the bundle, where the shim mounts the snapshot
)

// runtimeSpec is the whole specification. Nothing of the library's default one
// is taken over: that has no seccomp, a writable root, 14 capabilities and no
// limits (pitfall B2). dir is the admission's directory.
func runtimeSpec(s isolation.Spec, dir rundir) (*specs.Spec, error) {
	p := s.Properties()
	seccomp, err := seccompProfile(isolation.SeccompProfile())
	if err != nil {
		return nil, err
	}
	uid, gid, err := ids(p.User)
	if err != nil {
		return nil, err
	}
	return &specs.Spec{
		Version:  ociVersion,
		Hostname: p.Hostname,
		Root:     &specs.Root{Path: rootfs, Readonly: p.ReadOnlyRoot},
		Process: &specs.Process{
			Terminal:        p.TTY,
			User:            specs.User{UID: uid, GID: gid},
			Args:            append(append([]string{}, p.Entrypoint...), p.Args...),
			Env:             p.Env,
			Cwd:             p.WorkingDir,
			Capabilities:    &specs.LinuxCapabilities{},
			Rlimits:         rlimits(p.Rlimits),
			NoNewPrivileges: p.NoNewPrivileges,
			OOMScoreAdj:     new(int), // not the shim's, which is nearly immune
		},
		Mounts: mounts(p, dir),
		Linux: &specs.Linux{
			Namespaces:        namespaces(),
			CgroupsPath:       cgroupRoot + p.Name,
			Resources:         resources(p),
			Seccomp:           seccomp,
			RootfsPropagation: rprivate,
			MaskedPaths:       p.MaskedPaths,
			ReadonlyPaths:     p.ReadonlyPaths,
		},
	}, nil
}

func ids(user string) (uid, gid uint32, err error) {
	u, g, _ := strings.Cut(user, ":")
	a, err := strconv.ParseUint(u, 10, 32)
	if err != nil {
		return 0, 0, err
	}
	b, err := strconv.ParseUint(g, 10, 32)
	return uint32(a), uint32(b), err
}

// namespaces are all new ones. A network namespace without a path gets its
// loopback brought up by the runtime, and nothing else.
func namespaces() []specs.LinuxNamespace {
	var all []specs.LinuxNamespace
	for _, t := range namespaceTypes() {
		all = append(all, specs.LinuxNamespace{Type: t})
	}
	return all
}

func namespaceTypes() []specs.LinuxNamespaceType {
	types := []specs.LinuxNamespaceType{
		specs.PIDNamespace, specs.MountNamespace, specs.IPCNamespace, specs.UTSNamespace, specs.NetworkNamespace,
	}
	if cgroupNamespaces() {
		types = append(types, specs.CgroupNamespace)
	}
	return types
}

func rlimits(list []isolation.Rlimit) []specs.POSIXRlimit {
	var all []specs.POSIXRlimit
	for _, r := range list {
		all = append(all, specs.POSIXRlimit{Type: rlimitWord + strings.ToUpper(r.Name), Soft: uint64(r.Value), Hard: uint64(r.Value)})
	}
	return all
}

// resources are the cgroup's. No device may be used but those that every
// runtime allows by itself (null, zero, full, random, urandom, tty, ptmx, pts).
func resources(p isolation.Properties) *specs.LinuxResources {
	memory, swap, pids, period := p.MemoryBytes, p.MemorySwapBytes, p.Pids, cpuPeriod
	quota := p.NanoCPUs * int64(period) / 1_000_000_000
	return &specs.LinuxResources{
		Devices: noDevices(),
		Memory:  &specs.LinuxMemory{Limit: &memory, Swap: &swap},
		CPU:     &specs.LinuxCPU{Quota: &quota, Period: &period},
		Pids:    &specs.LinuxPids{Limit: &pids},
	}
}

func noDevices() []specs.LinuxDeviceCgroup {
	return []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}}
}

// mounts in their order: the kernel's own filesystems as Docker mounts them, the
// three files of /etc, the two projections, the two tmpfs.
func mounts(p isolation.Properties, dir rundir) []specs.Mount {
	all := kernelMounts()
	for _, f := range etcFiles() {
		all = append(all, etcMount(f, dir))
	}
	for _, m := range p.Mounts {
		all = append(all, bind(m))
	}
	for _, t := range p.Tmpfs {
		all = append(all, specs.Mount{Destination: t.Target, Type: "tmpfs", Source: "tmpfs", Options: t.Options()})
	}
	return all
}

func kernelMounts() []specs.Mount {
	return []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
		{Destination: "/sys/fs/cgroup", Type: "cgroup", Source: "cgroup", Options: []string{"ro", "nosuid", "noexec", "nodev"}},
		{Destination: "/dev/mqueue", Type: "mqueue", Source: "mqueue", Options: []string{"nosuid", "noexec", "nodev"}},
	}
}

// etcMount shows one of our own files. Docker does the same with its own.
func etcMount(f etcFile, dir rundir) specs.Mount {
	return specs.Mount{
		Destination: f.target, Type: "bind", Source: dir.file(f.name),
		Options: []string{"bind", rprivate, "ro", "nosuid", "nodev", "noexec"},
	}
}

// bind is one projection. Not recursive: what is mounted below the source stays
// outside. The runtime refuses a source that is missing.
func bind(m isolation.Mount) specs.Mount {
	mode, propagation := "rw", "shared"
	if m.ReadOnly {
		mode = "ro"
	}
	if m.Private {
		propagation = rprivate
	}
	return specs.Mount{
		Destination: m.Target, Type: "bind", Source: m.Source,
		Options: []string{"bind", propagation, mode, "nosuid", "nodev"},
	}
}

// leaseLife is how long what Create made is kept when nobody comes back: longer
// than any command.
const leaseLife = 2 * limits.MaxTimeout
