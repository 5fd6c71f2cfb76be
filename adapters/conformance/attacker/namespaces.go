//go:build linux

package main

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func onNamespaces() []attack {
	unshare := func(flags int) func(stage) string {
		return func(stage) string { return word(unix.Unshare(flags)) }
	}
	return []attack{
		{"unshare-user", func(stage) string { // which a program of several threads cannot for itself
			return word(child(&syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWUSER}))
		}},
		{"unshare-mount", unshare(unix.CLONE_NEWNS)},
		{"unshare-pid", unshare(unix.CLONE_NEWPID)},
		{"unshare-net", unshare(unix.CLONE_NEWNET)},
		{"unshare-ipc", unshare(unix.CLONE_NEWIPC)},
		{"unshare-uts", unshare(unix.CLONE_NEWUTS)},
		{"unshare-cgroup", unshare(unix.CLONE_NEWCGROUP)},
		{"unshare-time", unshare(unix.CLONE_NEWTIME)},
		{"clone-user", func(stage) string { return word(child(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER})) }},
		{"clone-pid", func(stage) string { return word(child(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID})) }},
		{"clone3-user", func(stage) string {
			// Flags, and SIGCHLD as the fifth number. The process made ends at once.
			args := [11]uint64{unix.CLONE_NEWUSER, 0, 0, 0, uint64(unix.SIGCHLD)}
			pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
			if errno != 0 {
				return word(errno)
			}
			if pid == 0 {
				_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
			_, _ = unix.Wait4(int(pid), nil, 0, nil)
			return "allowed"
		}},
		{"setns", func(stage) string {
			fd, err := unix.Open("/proc/self/ns/uts", unix.O_RDONLY, 0)
			if err != nil {
				return word(err)
			}
			return word(unix.Setns(fd, 0))
		}},
		{"setns-pidfd", func(s stage) string {
			fd, err := unix.PidfdOpen(s.target, 0)
			if err != nil {
				return word(err)
			}
			return word(unix.Setns(fd, unix.CLONE_NEWUTS))
		}},
		{"hostname", func(stage) string { return word(unix.Sethostname([]byte("attack"))) }},
	}
}

// onMounts change what is mounted.
func onMounts() []attack {
	return []attack{
		{"mount-tmpfs", func(stage) string { return word(unix.Mount("none", "/workspace", "tmpfs", 0, "")) }},
		{"mount-proc", func(stage) string { return word(unix.Mount("none", "/workspace", "proc", 0, "")) }},
		{"mount-bind", func(stage) string { return word(unix.Mount("/standard-code", "/workspace", "", unix.MS_BIND, "")) }},
		{"mount-cgroup", func(stage) string { return word(unix.Mount("none", "/workspace", "cgroup", 0, "none,name=attack")) }},
		{"mount-overlay", func(stage) string {
			const dirs = "lowerdir=/standard-code,upperdir=/standard-code/cache/upper,workdir=/standard-code/cache/work"
			_, _ = os.Mkdir("/standard-code/cache/upper", 0o700), os.Mkdir("/standard-code/cache/work", 0o700)
			return word(unix.Mount("none", "/workspace", "overlay", 0, dirs))
		}},
		{"remount-root", func(stage) string { return word(unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "")) }},
		{"remount-exec", func(stage) string { // /dev/shm without noexec
			return word(unix.Mount("", "/dev/shm", "", unix.MS_REMOUNT, ""))
		}},
		{"remount-cache", func(stage) string { // without its limit
			return word(unix.Mount("", "/standard-code/cache", "tmpfs", unix.MS_REMOUNT, "size=1g"))
		}},
		{"propagate", func(stage) string { return word(unix.Mount("", "/workspace", "", unix.MS_SHARED, "")) }},
		{"unmount-cache", func(stage) string { return word(unix.Unmount("/standard-code/cache", unix.MNT_DETACH)) }},
		{"unmount-proc", func(stage) string { return word(unix.Unmount("/proc", unix.MNT_DETACH)) }},
		{"pivot-root", func(stage) string { return pivot() }},
		{"open-tree", func(stage) string {
			_, err := unix.OpenTree(unix.AT_FDCWD, "/workspace", unix.OPEN_TREE_CLONE)
			return word(err)
		}},
		{"move-mount", func(stage) string {
			return word(unix.MoveMount(unix.AT_FDCWD, "/dev/shm", unix.AT_FDCWD, "/workspace", 0))
		}},
		{"fsopen", func(stage) string { _, err := unix.Fsopen("tmpfs", 0); return word(err) }},
		{"mount-setattr", func(stage) string {
			attr := unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_NOEXEC}
			return word(unix.MountSetattr(unix.AT_FDCWD, "/dev/shm", 0, &attr))
		}},
	}
}

// pivot makes the workspace the root.
func pivot() string {
	if err := unix.Mount("/workspace", "/workspace", "", unix.MS_BIND, ""); err != nil {
		return word(unix.PivotRoot("/workspace", "/workspace"))
	}
	return word(unix.PivotRoot("/workspace", "/workspace"))
}
