package conformance

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
)

func mountChecks() []Check {
	return topic("mounts and mask",
		Check{Name: "every fact is the contract's, with the contract's digest", Holds: "contract: measurement", Kernel: true, run: equalFacts},
		Check{Name: "from the host come the Drydock and the mask alone", Holds: "contract: mounts", Kernel: true, run: fromHost},
		Check{Name: "no mount propagates", Holds: "contract: mounts", Kernel: true, run: noPropagation},
		Check{Name: "the mask hides git's file and cannot be changed", Holds: "contract: mask", Kernel: true, run: maskHolds},
		Check{Name: "nothing but the workspace, the cache and shm can be written", Holds: "contract: root filesystem", Kernel: true, run: noHoles},
		Check{Name: "masked paths show nothing and read-only paths cannot be written", Holds: "contract: masked paths", Kernel: true, run: maskedPaths},
		Check{Name: "what is written in the workspace is the host's, owned by the user", Holds: "contract: mounts", Kernel: true, run: workspaceIsHosts},
	)
}

func equalFacts(c *C) {
	r, _ := c.look()
	c.contract(r)
	if got, want := isolation.FactsSHA256(r.Facts), isolation.FactsSHA256(isolation.Expected()); got != want {
		c.Errorf("the facts' digest is %s, want %s", got, want)
	}
	if !r.MaskIntact || !r.WorkspaceIntact {
		c.Errorf("at the end: mask %t, workspace %t", r.MaskIntact, r.WorkspaceIntact)
	}
}

// kernelTypes are filesystems that show nothing of the host's disks.
var kernelTypes = []string{"proc", "sysfs", "tmpfs", "devpts", "mqueue", "cgroup", "cgroup2"}

func fromHost(c *C) {
	_, p := c.look()
	engines := []string{"/etc/hostname", "/etc/hosts", "/etc/resolv.conf"}
	var ours []string
	for _, m := range p.Mounts {
		switch {
		case m.Target == "/" || slices.Contains(kernelTypes, m.Type):
		case slices.Contains(engines, m.Target):
			if !slices.Contains(m.Options, "ro") {
				c.Errorf("%s can be written", m.Target)
			}
		default:
			ours = append(ours, m.Target)
		}
	}
	slices.Sort(ours)
	if !slices.Equal(ours, []string{isolation.Workspace, isolation.GitTarget}) {
		c.Errorf("%v", ours)
	}
	if len(p.Sockets) > 0 {
		c.Errorf("an engine's socket is inside: %v", p.Sockets)
	}
	c.measured("mounts.unknown", "workspace", "root")
}

func noPropagation(c *C) {
	_, p := c.look()
	if len(p.Mounts) < 10 {
		c.Errorf("only %d mounts were seen", len(p.Mounts))
	}
	for _, m := range p.Mounts {
		if m.Shared {
			c.Errorf("%s propagates", m.Target)
		}
	}
}

func maskHolds(c *C) {
	_, p := c.look()
	if p.Mask != "gitdir: .standard-code-git-disabled\n" {
		c.Errorf("it says %q", p.Mask)
	}
	if len(p.MaskAttempts) != 9 {
		c.Errorf("%d attempts", len(p.MaskAttempts))
	}
	c.denied("on the mask,", p.MaskAttempts, "EROFS", "EBUSY", "EPERM", "EACCES", "ENOTDIR", "EXDEV")
	c.measured("mask", "mask.sha256")
}

func noHoles(c *C) {
	_, p := c.look()
	// Devices without storage, and message queues, of which the limit allows none.
	allowed := []string{
		"/dev/full", "/dev/mqueue", "/dev/null", "/dev/pts/ptmx", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero",
	}
	for _, h := range p.Holes {
		if !slices.Contains(allowed, h) {
			c.Errorf("%s can be written", h)
		}
	}
	if p.Tried < 1000 {
		c.Errorf("only %d places were tried", p.Tried)
	}
	devices := []string{"core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"}
	for _, d := range p.Devices {
		if !slices.Contains(devices, d) {
			c.Errorf("there is a device %s", d)
		}
	}
	c.measured("mounts.writable", "root", "cgroup.readonly")
}

func maskedPaths(c *C) {
	_, p := c.look()
	if len(p.KernelHoles) > 0 {
		c.Errorf("of the kernel's, %v can be written", p.KernelHoles)
	}
	c.measured("paths.masked", "paths.readonly")
}

func workspaceIsHosts(c *C) {
	j := c.job("count")
	j.run()
	j.ran(1)
	var st syscall.Stat_t
	c.must(syscall.Lstat(filepath.Join(j.root, "count"), &st))
	if st.Uid != limits.UID || st.Gid != limits.GID {
		c.Errorf("owned by %d:%d", st.Uid, st.Gid)
	}
	for path, want := range map[string]string{filepath.Join(j.root, ".git"): "gitdir: /elsewhere\n", j.mask: isolation.MaskContent} {
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			c.Errorf("on the host %s says %q, %v", strings.TrimPrefix(path, j.c.dir), b, err)
		}
	}
}
