package containerd

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"cyberagent/domain/admission"
)

const cgroupMount = "/sys/fs/cgroup"

// cgroupNamespaces says whether the kernel has them.
func cgroupNamespaces() bool { return exists("/proc/self/ns/cgroup") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// describeHost fills in what containerd has no answer for: it runs on this very
// kernel, so the kernel is asked.
func describeHost(f *admission.EngineFacts) {
	var fs unix.Statfs_t
	v2 := unix.Statfs(cgroupMount, &fs) == nil && fs.Type == unix.CGROUP2_SUPER_MAGIC
	limit := func(v1, v2name string) bool {
		if !v2 {
			return exists(filepath.Join(cgroupMount, v1))
		}
		// The root of the hierarchy has no limits; any group below it has.
		found, err := filepath.Glob(filepath.Join(cgroupMount, "*", v2name))
		return err == nil && len(found) > 0
	}
	f.CgroupVersion = "1"
	if v2 {
		f.CgroupVersion = "2"
	}
	f.MemoryLimit = limit("memory/memory.limit_in_bytes", "memory.max")
	f.SwapLimit = limit("memory/memory.memsw.limit_in_bytes", "memory.swap.max")
	// v1's root has no limit either, but a file that only this controller has.
	f.PidsLimit = limit("pids/cgroup.procs", "pids.max")
	f.PrivateCgroup = cgroupNamespaces()
	f.Seccomp = exists("/proc/sys/kernel/seccomp")
	if b, err := os.ReadFile("/sys/fs/selinux/enforce"); err == nil {
		f.SELinux = strings.TrimSpace(string(b)) == "1"
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		f.MemoryBytes = int64(info.Totalram) * int64(info.Unit)
	}
}
