package doctor

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"cyberagent/domain/limits"
)

// testedGit is the oldest version that the product's tests ran with.
const testedGit = "v2.39.0"

func (s *Service) host(ctx context.Context, r *Report) {
	f := s.Machine.Facts(ctx)
	system := strings.TrimSpace(f.OS + " " + f.Kernel + " " + f.Arch)
	if f.OS != "linux" {
		r.add("host", Failure, system+": commands run on Linux hosts only", "use a Linux machine with a local engine")
		return
	}
	r.add("host", OK, system, "")

	switch {
	case f.Git == "":
		r.add("git", Failure, "git was not found", "apt-get install git")
	case semver.Compare("v"+f.Git, testedGit) < 0:
		r.add("git", Warning, "git "+f.Git+" is older than any that the product was tested with", "install git "+testedGit[1:]+" or newer")
	default:
		r.add("git", OK, "git "+f.Git, "")
	}

	var missing []string
	for _, c := range []string{"memory", "pids", "cpu"} {
		if !slices.Contains(f.Controllers, c) {
			missing = append(missing, c)
		}
	}
	switch {
	case f.CgroupVersion == "":
		r.add("cgroup", Failure, "no cgroup hierarchy is mounted at /sys/fs/cgroup", "mount it: mount -t cgroup2 none /sys/fs/cgroup")
	case len(missing) > 0:
		r.add("cgroup", Failure, "cgroup v"+f.CgroupVersion+" without the controllers "+strings.Join(missing, ", "),
			"enable them: add cgroup_enable=memory to the kernel's command line, or delegate them to the engine's unit")
	default:
		r.add("cgroup", OK, "cgroup v"+f.CgroupVersion+" with memory, pids and cpu", "")
	}

	if f.Seccomp {
		r.add("seccomp", OK, "the kernel filters system calls", "")
	} else {
		r.add("seccomp", Failure, "the kernel has no seccomp filters", "use a kernel with CONFIG_SECCOMP_FILTER")
	}
	switch {
	case f.SELinux:
		r.add("lsm", Warning, "SELinux is enforcing; readiness refuses an engine that applies it, for the Drydock is not relabelled",
			"run the engine without --selinux-enabled, or use a host without SELinux")
	case f.AppArmor:
		r.add("lsm", OK, "AppArmor is on; the engine's own profile applies on top of the fixed isolation", "")
	default:
		r.add("lsm", OK, "neither AppArmor nor SELinux is on; the fixed isolation does not need them", "")
	}
}

func (s *Service) storage(ctx context.Context, r *Report) {
	f, err := s.Storage.Storage(ctx, s.Home)
	if err != nil {
		r.add("storage", Failure, err.Error(), "set CYBERAGENT_HOME to a directory on a local disk")
		return
	}
	where := f.Path + " (" + f.Filesystem + ")"
	switch {
	case f.Network:
		r.add("storage", Failure, where+" is on a file system that other machines or another kernel serve",
			"set CYBERAGENT_HOME to a directory on a local disk")
	case !f.Writable:
		r.add("storage", Failure, where+" is not writable for this user", "set CYBERAGENT_HOME to a directory of your own")
	case f.Free.Bytes < limits.HeadroomBytes:
		r.add("storage", Failure, where+" has "+mib(f.Free.Bytes)+" free; a run needs "+mib(limits.HeadroomBytes),
			"free space there, or move CYBERAGENT_HOME")
	case f.Free.InodesKnown && f.Free.Inodes < limits.HeadroomInodes:
		r.add("storage", Failure, where+" has too few free inodes for a run", "remove small files there, or move CYBERAGENT_HOME")
	default:
		r.add("storage", OK, where+" has "+mib(f.Free.Bytes)+" free", "")
	}
	if f.AccessError != "" {
		r.add("access", Failure, f.AccessError, "put CYBERAGENT_HOME on ext4, xfs or btrfs with ACLs, or run as root")
	} else if f.Access != "" {
		r.add("access", OK, "the container's user is let into a Drydock by "+string(f.Access), "")
	}
}
