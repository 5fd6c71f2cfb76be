//go:build linux

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	git   = "/workspace/.git"
	cache = "/standard-code/cache"
	shm   = "/dev/shm"
)

func open(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func put(path, text string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(text))
	return err
}

// again writes what is there: a file that has nothing to read is asked for alone.
func again(path string) string {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return word(err)
	}
	defer unix.Close(fd)
	b := make([]byte, 4096)
	n, err := unix.Read(fd, b)
	if err != nil || n == 0 {
		return word(err)
	}
	_, err = unix.Pwrite(fd, b[:n], 0)
	return word(err)
}

// onMask are attacks on the mask over git's control file.
func onMask() []attack {
	other := func(then func(path string) error) string {
		const file = "/workspace/other"
		if err := os.WriteFile(file, []byte("gitdir: /elsewhere\n"), 0o600); err != nil {
			return word(err)
		}
		defer func() { _ = os.Remove(file) }()
		return word(then(file))
	}
	return []attack{
		{"mask-write", func(stage) string { return word(open(git, unix.O_WRONLY)) }},
		{"mask-append", func(stage) string { return word(open(git, unix.O_WRONLY|unix.O_APPEND)) }},
		{"mask-truncate", func(stage) string { return word(unix.Truncate(git, 0)) }},
		{"mask-remove", func(stage) string { return word(unix.Unlink(git)) }},
		{"mask-rename-away", func(stage) string { return word(unix.Rename(git, "/workspace/git")) }},
		{"mask-rename-over", func(stage) string {
			return other(func(f string) error { return unix.Rename(f, git) })
		}},
		{"mask-exchange", func(stage) string {
			return other(func(f string) error {
				return unix.Renameat2(unix.AT_FDCWD, f, unix.AT_FDCWD, git, unix.RENAME_EXCHANGE)
			})
		}},
		{"mask-bind-over", func(stage) string {
			return other(func(f string) error { return unix.Mount(f, git, "", unix.MS_BIND, "") })
		}},
		{"mask-link", func(stage) string { return word(unix.Link(git, "/workspace/linked")) }},
		{"mask-chmod", func(stage) string { return word(unix.Chmod(git, 0o777)) }},
		{"mask-chown", func(stage) string { return word(unix.Chown(git, 65532, 65532)) }},
		{"mask-times", func(stage) string { return word(unix.Utimes(git, make([]unix.Timeval, 2))) }},
		{"mask-attribute", func(stage) string { return word(unix.Setxattr(git, "user.attack", []byte("x"), 0)) }},
		{"mask-reopen", func(stage) string { // by its descriptor, for writing
			fd, err := unix.Open(git, unix.O_RDONLY, 0)
			if err != nil {
				return word(err)
			}
			return word(open(path("/proc/self/fd/%d", fd), unix.O_WRONLY))
		}},
		{"mask-unmount", func(stage) string { return word(unix.Unmount(git, unix.MNT_DETACH)) }},
	}
}

// onFiles reach for what is outside of the three writable places.
func onFiles() []attack {
	list := []attack{
		{"root-create", func(stage) string { return word(open("/attack", unix.O_CREAT|unix.O_WRONLY)) }},
		{"runner-replace", func(stage) string { return word(unix.Rename("/standard-code/bin/go", "/standard-code/runner")) }},
		{"runner-write", func(stage) string { return word(open("/standard-code/runner", unix.O_WRONLY)) }},
		{"tool-write", func(stage) string { return word(open("/standard-code/bin/go", unix.O_WRONLY)) }},
		{"passwd-write", func(stage) string { return word(open("/etc/passwd", unix.O_CREAT|unix.O_WRONLY)) }},
		{"hosts-write", func(stage) string { return word(open("/etc/hosts", unix.O_WRONLY|unix.O_APPEND)) }},
		{"device-block", func(s stage) string { // the disk that the workspace is on
			return node(unix.S_IFBLK, uint32(s.number("disk_major")), uint32(s.number("disk_minor")), true)
		}},
		{"device-memory", func(stage) string { return node(unix.S_IFCHR, 1, 1, false) }},
		{"device-open", func(s stage) string { return word(open(s.facts["disk"], unix.O_RDONLY)) }},
		{"device-kmsg", func(stage) string { return word(open("/dev/kmsg", unix.O_RDONLY)) }},
		{"device-fuse", func(stage) string { return word(open("/dev/fuse", unix.O_RDWR)) }},
		{"device-tun", func(stage) string { return word(open("/dev/net/tun", unix.O_RDWR)) }},
		{"device-kvm", func(stage) string { return word(open("/dev/kvm", unix.O_RDWR)) }},
		{"device-console", func(stage) string { return word(open("/dev/console", unix.O_WRONLY|unix.O_NOCTTY)) }},
		{"shm-execute", func(stage) string { return execute(shm + "/program") }},
	}
	for name, file := range map[string]string{
		"sysctl-core-pattern": "kernel/core_pattern", "sysctl-modprobe": "kernel/modprobe", "sysctl-hostname": "kernel/hostname",
		"sysctl-panic": "kernel/panic", "sysctl-pid-max": "kernel/pid_max", "sysctl-overcommit": "vm/overcommit_memory",
		"sysctl-forward": "net/ipv4/ip_forward", "sysctl-file-max": "fs/file-max",
		"sysctl-shmmax": "kernel/shmmax", "sysctl-aslr": "kernel/randomize_va_space",
	} {
		list = append(list, attack{name, func(stage) string { return again("/proc/sys/" + file) }})
	}
	for name, file := range map[string]string{
		"sysrq": "/proc/sysrq-trigger", "uevent-helper": "/sys/kernel/uevent_helper", "power-state": "/sys/power/state",
		"irq": "/proc/irq/default_smp_affinity", "hugepages": "/sys/kernel/mm/transparent_hugepage/enabled",
	} {
		list = append(list, attack{name, func(stage) string { return word(open(file, unix.O_WRONLY)) }})
	}
	for name, file := range map[string]string{
		"read-kcore": "/proc/kcore", "read-keys": "/proc/keys", "read-timers": "/proc/timer_list", "read-kallsyms": "/proc/kallsyms",
		"read-interrupts": "/proc/interrupts",
	} {
		list = append(list, attack{name, func(stage) string { return content(file) }})
	}
	return list
}

// node makes a device, and opens it where there is one for sure.
func node(kind, major, minor uint32, there bool) string {
	const file = cache + "/device"
	_ = os.Remove(file)
	if err := unix.Mknod(file, kind|0o600, int(unix.Mkdev(major, minor))); err != nil {
		return word(err)
	}
	defer func() { _ = os.Remove(file) }()
	if !there {
		return "allowed"
	}
	return word(open(file, unix.O_RDONLY))
}

// content is whether a file says something.
func content(file string) string {
	b, err := readSome(file)
	if err != nil {
		return word(err)
	}
	switch {
	case len(b) == 0:
		return "empty"
	case strings.HasPrefix(string(b), "0000000000000000 "):
		return "zeros" // addresses that tell nothing
	}
	return "shown"
}

func readSome(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, 64)
	n, err := f.Read(b)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n], err
}

func execute(file string) string {
	b, err := os.ReadFile(self)
	if err != nil {
		return word(err)
	}
	if err := os.WriteFile(file, b, 0o700); err != nil {
		return word(err)
	}
	defer func() { _ = os.Remove(file) }()
	p, err := os.StartProcess(file, []string{file, "list"}, &os.ProcAttr{})
	if err != nil {
		return word(err)
	}
	_, err = p.Wait()
	return word(err)
}

// onGroups reach for the control group: its limits, and what runs when it is
// empty.
func onGroups() []attack {
	files := func(names ...string) string {
		for _, n := range names {
			for _, pattern := range []string{"/sys/fs/cgroup/" + n, "/sys/fs/cgroup/*/" + n} {
				if found, _ := filepath.Glob(pattern); len(found) > 0 {
					return found[0]
				}
			}
		}
		return "/sys/fs/cgroup/" + names[0]
	}
	group := func() string { return filepath.Dir(files("cgroup.procs")) }
	return []attack{
		{"group-release-agent", func(stage) string { return word(open(files("release_agent"), unix.O_WRONLY)) }},
		{"group-notify", func(stage) string { return again(files("notify_on_release", "cgroup.type")) }},
		{"group-memory", func(stage) string { return again(files("memory.limit_in_bytes", "memory.max")) }},
		{"group-pids", func(stage) string { return again(files("pids.max")) }},
		{"group-procs", func(stage) string { return word(put(files("cgroup.procs"), "0")) }},
		{"group-freeze", func(stage) string { return word(open(files("freezer.state", "cgroup.freeze"), unix.O_WRONLY)) }},
		{"group-make", func(stage) string {
			dir := group() + "/attack"
			defer func() { _ = os.Remove(dir) }()
			return word(os.Mkdir(dir, 0o700))
		}},
	}
}
