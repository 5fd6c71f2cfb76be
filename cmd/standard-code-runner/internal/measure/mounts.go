//go:build linux

package measure

import (
	"slices"
	"strings"

	"cyberagent/cmd/standard-code-runner/internal/mountinfo"
	"cyberagent/domain/isolation"
)

// looker is what the verdicts about mounts ask of the filesystem. Tests answer
// with a table.
type looker interface {
	// kind says what is at a path, without following a link.
	kind(path string) pathKind
	// writable says whether this process may create in or write to a path.
	writable(path string) bool
}

type pathKind int

const (
	absent pathKind = iota
	emptyDir
	otherDir
	nullDevice
	otherFile
)

// kernel are the mounts that an engine makes from the kernel's own filesystems:
// target, filesystem, and why a writable mount of it adds no place to write.
// Every one may be missing.
var kernel = map[string]struct{ fstype, why string }{
	"/proc":          {"proc", "its files are the kernel's; the dangerous ones are facts of their own (paths.*)"},
	"/dev":           {"tmpfs", "root's, mode 0755: the user can create nothing in it (asked of the kernel)"},
	"/dev/pts":       {"devpts", "holds terminals only, no data at rest"},
	"/dev/mqueue":    {"mqueue", "RLIMIT_MSGQUEUE is 0 (fact rlimit.msgqueue): no queue can be made"},
	"/sys":           {"sysfs", "must be read-only"},
	"/sys/fs/cgroup": {"tmpfs or cgroup2", "v1's tmpfs is root's and runc leaves it rw; the hierarchies are the fact cgroup.readonly"},
}

// engineFiles are the engine's own read-only files.
var engineFiles = []string{"/etc/hostname", "/etc/hosts", "/etc/resolv.conf"}

// unknownMounts lists the mounts that the contract has no word for: any target
// that is not known, a known one with another filesystem, and a second mount on
// one target, which hides the first.
func unknownMounts(mounts []mountinfo.Mount) string {
	var unknown []string
	seen := map[string]bool{}
	for _, m := range mounts {
		if !known(m) || seen[m.Target] {
			unknown = append(unknown, m.Target+"("+m.FSType+")")
		}
		seen[m.Target] = true
	}
	return verdict(unknown, isolation.None)
}

func known(m mountinfo.Mount) bool {
	switch t := m.Target; {
	case t == "/", t == isolation.Workspace, t == isolation.GitTarget:
		return true
	case t == isolation.CacheDir, t == isolation.ShmDir:
		return m.FSType == "tmpfs"
	case t == "/sys/fs/cgroup":
		return m.FSType == "tmpfs" || m.FSType == "cgroup2"
	case strings.HasPrefix(t, "/sys/fs/cgroup/"):
		return m.FSType == "cgroup" || m.FSType == "cgroup2"
	case slices.Contains(engineFiles, t):
		return true
	case slices.Contains(isolation.MaskedPaths(), t):
		return true
	case slices.Contains(isolation.ReadonlyPaths(), t):
		return m.FSType == "proc"
	}
	k, ok := kernel[m.Target]
	return ok && k.fstype == m.FSType
}

// writableMounts lists the mounts through which the user could write although
// the contract names no such place. A target that a second mount covers is the
// fact mounts.unknown.
func writableMounts(mounts []mountinfo.Mount, look looker) string {
	var open []string
	for _, m := range mounts {
		if m.ReadOnly() || allowedWritable(m, look) {
			continue
		}
		open = append(open, m.Target+"("+m.FSType+")")
	}
	return verdict(open, "none beyond the contract")
}

func allowedWritable(m mountinfo.Mount, look looker) bool {
	switch m.Target {
	case isolation.Workspace:
		return true
	case isolation.CacheDir, isolation.ShmDir:
		return m.FSType == "tmpfs"
	case "/proc":
		return m.FSType == "proc"
	case "/dev/pts":
		return m.FSType == "devpts"
	case "/dev/mqueue":
		return m.FSType == "mqueue"
	case "/dev", "/sys/fs/cgroup":
		return m.FSType == "tmpfs" && !look.writable(m.Target)
	}
	// A masked file is a bind of /dev/null, which swallows what is written.
	return slices.Contains(isolation.MaskedPaths(), m.Target) && look.kind(m.Target) == nullDevice
}

// maskedPaths says yes when every masked path is either not there on this kernel
// or covered by a mount that shows nothing: an empty read-only directory, or the
// null device. Otherwise it lists the others.
func maskedPaths(mounts []mountinfo.Mount, look looker) string {
	var open []string
	for _, p := range isolation.MaskedPaths() {
		kind := look.kind(p)
		m, mounted := mountinfo.Only(mounts, p)
		switch {
		case kind == absent:
		case mounted && kind == nullDevice:
		case mounted && kind == emptyDir && m.ReadOnly():
		default:
			open = append(open, p)
		}
	}
	return verdict(open, isolation.Yes)
}

// readonlyPaths says yes when every such path is not there on this kernel or is
// a read-only mount. Otherwise it lists the others.
func readonlyPaths(mounts []mountinfo.Mount, look looker) string {
	var open []string
	for _, p := range isolation.ReadonlyPaths() {
		if look.kind(p) == absent {
			continue
		}
		if m, ok := mountinfo.Only(mounts, p); !ok || !m.ReadOnly() {
			open = append(open, p)
		}
	}
	return verdict(open, isolation.Yes)
}

func verdict(faults []string, good string) string {
	if len(faults) == 0 {
		return good
	}
	return strings.Join(faults, " ")
}
