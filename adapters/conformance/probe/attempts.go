//go:build linux

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// system tries one call with harmless arguments.
func system(number uintptr, args ...uintptr) string {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno == 0 {
		return word(nil)
	}
	return word(errno)
}

func socket(family, kind int) string {
	fd, err := unix.Socket(family, kind, 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	return word(err)
}

func minus(n uintptr) uintptr { return -n }

// calls are those that the profile or the missing capabilities deny: each must
// be EPERM.
func calls() map[string]string {
	return map[string]string{
		"keyctl": system(unix.SYS_KEYCTL, 0, minus(3), 0), "add_key": system(unix.SYS_ADD_KEY),
		"io_uring_setup": system(unix.SYS_IO_URING_SETUP, 1, 0), "prlimit64(1)": system(unix.SYS_PRLIMIT64, 1, 7, 0, 0),
		"socket(AF_VSOCK)": socket(unix.AF_VSOCK, unix.SOCK_STREAM), "socket(AF_ALG)": socket(unix.AF_ALG, unix.SOCK_SEQPACKET),
		"socket(AF_PACKET)": socket(unix.AF_PACKET, unix.SOCK_RAW),
		"mount":             system(unix.SYS_MOUNT), "unshare(NEWUSER)": system(unix.SYS_UNSHARE, unix.CLONE_NEWUSER),
		"unshare(NEWNS)": system(unix.SYS_UNSHARE, unix.CLONE_NEWNS), "setns": system(unix.SYS_SETNS, 0, 0),
		"bpf": system(unix.SYS_BPF), "perf_event_open": system(unix.SYS_PERF_EVENT_OPEN, 0, 0, minus(1), minus(1), 0),
		"init_module": system(unix.SYS_INIT_MODULE), "chroot": word(unix.Chroot("/workspace")), "setuid(0)": system(unix.SYS_SETUID, 0),
		"mknod": word(unix.Mknod("/standard-code/cache/tmp/device", unix.S_IFBLK|0o600, int(unix.Mkdev(8, 0)))),
	}
}

func open(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

// first is what can be read of the runner.
func first() map[string]string {
	m := map[string]string{}
	for _, f := range []string{"environ", "mem", "maps"} {
		b, err := os.Open("/proc/1/" + f)
		if err == nil {
			_, err = b.Read(make([]byte, 1))
			_ = b.Close()
		}
		m[f] = word(err)
	}
	_, err := os.ReadDir("/proc/1/fd")
	m["fd"] = word(err)
	return m
}

func maskAttempts() map[string]string {
	const git, other = "/workspace/.git", "/workspace/other"
	over := func() error {
		if err := os.WriteFile(other, nil, 0o600); err != nil {
			return nil // that would be another finding
		}
		defer func() { _ = os.Remove(other) }()
		return unix.Rename(other, git)
	}
	return map[string]string{
		"write": word(open(git, unix.O_WRONLY)), "append": word(open(git, unix.O_WRONLY|unix.O_APPEND)),
		"truncate": word(unix.Truncate(git, 0)), "unlink": word(unix.Unlink(git)), "rename": word(unix.Rename(git, "/workspace/git")),
		"chmod": word(unix.Chmod(git, 0o777)), "over": word(over()), "mkdir": word(unix.Mkdir(git+"/x", 0o700)),
		"utimes": word(unix.Utimes(git, make([]unix.Timeval, 2))),
	}
}

// writable are the only places where something may be made.
var writable = []string{"/workspace", "/standard-code/cache", "/dev/shm"}

// holes tries to make something in every directory and to write every file, and
// returns those that let it: of the image, and of the kernel's filesystems.
func holes() (image, kernel []string, tried int) {
	try := func(root string, found *[]string, skip ...string) {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil
			case d.IsDir() && slices.Contains(skip, path):
				return fs.SkipDir
			case d.Type()&fs.ModeSymlink != 0:
				return nil
			}
			tried++
			if d.IsDir() {
				probe := filepath.Join(path, ".probe")
				if open(probe, unix.O_CREAT|unix.O_WRONLY|unix.O_EXCL) == nil {
					*found = append(*found, path)
					_ = unix.Unlink(probe)
				}
			} else if open(path, unix.O_WRONLY) == nil {
				*found = append(*found, path)
			}
			return nil
		})
	}
	try("/", &image, append(slices.Clone(writable), "/proc", "/sys")...)
	for _, root := range []string{"/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs", "/sys"} {
		try(root, &kernel)
	}
	for _, f := range []string{"/proc/sysrq-trigger", "/proc/kcore", "/proc/1/mem", "/proc/acpi", "/proc/keys", "/proc/timer_list"} {
		if err := open(f, unix.O_RDWR); err == nil && !null(f) {
			kernel = append(kernel, f)
		}
	}
	return image, kernel, tried
}

// null says whether a path is the null device, with which files are masked.
func null(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && strings.HasPrefix(path, "/proc/") &&
		unix.Major(uint64(st.Rdev)) == 1 && unix.Minor(uint64(st.Rdev)) == 3
}
