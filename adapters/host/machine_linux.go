package host

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"cyberagent/ports"
)

// kernelFacts reads what the kernel says in /proc and /sys.
func kernelFacts(f *ports.HostFacts) {
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		f.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	f.CgroupVersion, f.Controllers = cgroups("/")
	f.Seccomp = strings.Contains(word("/proc/sys/kernel/seccomp/actions_avail"), "errno")
	f.AppArmor = word("/sys/module/apparmor/parameters/enabled") == "Y"
	f.SELinux = word("/sys/fs/selinux/enforce") == "1"
}

// cgroups finds the version that governs containers below a root directory, and
// the controllers that are switched on. A machine with both hierarchies is
// version 1: its controllers are there.
func cgroups(root string) (version string, controllers []string) {
	if all := word(root + "/sys/fs/cgroup/cgroup.controllers"); all != "" {
		return "2", strings.Fields(all)
	}
	b, err := os.ReadFile(root + "/proc/cgroups")
	if err != nil {
		return "", nil
	}
	for line := range strings.Lines(string(b)) {
		// subsys_name hierarchy num_cgroups enabled
		if f := strings.Fields(line); len(f) == 4 && f[3] == "1" && f[1] != "0" {
			controllers = append(controllers, f[0])
		}
	}
	if len(controllers) == 0 {
		return "", nil
	}
	return "1", controllers
}

func word(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
