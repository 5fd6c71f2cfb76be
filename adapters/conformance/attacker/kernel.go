//go:build linux

package main

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// onKernel are attacks on the kernel's own interfaces and on privileges. Those
// that would change the machine outside of a container go no further than the
// kernel's question whether the caller may: what they hand over is invalid, or is
// what holds already.
func onKernel() []attack {
	cstring := func(s string) uintptr { return uintptr(unsafe.Pointer(&append([]byte(s), 0)[0])) }
	return []attack{
		{"keyctl", func(stage) string { return call(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, minus(4), 1) }},
		{"add-key", func(stage) string {
			return call(unix.SYS_ADD_KEY, cstring("user"), cstring("attack"), cstring("x"), 1, minus(2))
		}},
		{"request-key", func(stage) string {
			word := call(unix.SYS_REQUEST_KEY, cstring("user"), cstring("attack"), 0, minus(2))
			if word == "ENOKEY" { // it was asked for
				return "allowed"
			}
			return word
		}},
		{"bpf-map", func(stage) string {
			attr := [8]uint32{2, 4, 4, 1} // an array of one element
			return call(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
		}},
		{"bpf-program", func(stage) string { // "return 0", as a filter of a socket
			code := [2]uint64{0xb7, 0x95}
			license := [4]byte{'G', 'P', 'L'}
			attr := struct {
				kind, count   uint32
				code, license uintptr
				rest          [12]uint64
			}{1, 2, uintptr(unsafe.Pointer(&code)), uintptr(unsafe.Pointer(&license)), [12]uint64{}}
			return call(unix.SYS_BPF, 5, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
		}},
		{"io-uring", func(stage) string { return call(unix.SYS_IO_URING_SETUP, 1, zeros()) }},
		{"perf", func(stage) string {
			attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: unix.PERF_COUNT_SW_TASK_CLOCK}
			_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
			return word(err)
		}},
		{"userfaultfd", func(stage) string { return call(unix.SYS_USERFAULTFD, 0) }},
		{"fanotify", func(stage) string { return call(unix.SYS_FANOTIFY_INIT, 0, 0) }},
		{"open-by-handle", byHandle},
		{"module-init", func(stage) string { return call(unix.SYS_INIT_MODULE, zeros(), 64, cstring("")) }},
		{"module-file", func(stage) string {
			fd, err := unix.Open(self, unix.O_RDONLY, 0)
			if err != nil {
				return word(err)
			}
			return call(unix.SYS_FINIT_MODULE, uintptr(fd), cstring(""), 0)
		}},
		{"module-delete", func(stage) string { return call(unix.SYS_DELETE_MODULE, cstring("attack_none"), unix.O_NONBLOCK) }},
		{"kexec", func(stage) string { return call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0xffff) }},
		{"reboot", func(stage) string { return call(unix.SYS_REBOOT, 1, 2, 3, 0) }},
		{"swapoff", func(stage) string { return call(unix.SYS_SWAPOFF, cstring("/attack-none")) }},
		{"acct", func(stage) string { return call(unix.SYS_ACCT, cstring("/attack-none")) }},
		{"syslog", func(stage) string {
			b := make([]byte, 64)
			return call(unix.SYS_SYSLOG, 3, uintptr(unsafe.Pointer(&b[0])), 64)
		}},
		{"clock", clock},
		{"time-zone", func(stage) string { // the kernel's, to what it is: none
			return call(unix.SYS_SETTIMEOFDAY, 0, uintptr(unsafe.Pointer(new([2]int32))))
		}},
		{"vhangup", func(stage) string { return call(unix.SYS_VHANGUP) }},
		{"mempolicy", func(stage) string { return call(unix.SYS_SET_MEMPOLICY, 0, 0, 0) }},
		{"personality", func(stage) string { return call(unix.SYS_PERSONALITY, 0x0040000) }}, // ADDR_NO_RANDOMIZE
		{"setuid", func(stage) string { return call(unix.SYS_SETRESUID, 0, 0, 0) }},
		{"setgid", func(stage) string { return call(unix.SYS_SETRESGID, 0, 0, 0) }},
		{"setgroups", func(stage) string { return word(unix.Setgroups([]int{0})) }},
		{"capset", capset},
		{"securebits", func(stage) string { return word(unix.Prctl(unix.PR_SET_SECUREBITS, 1, 0, 0, 0)) }},
		{"file-capability", fileCapability},
		{"chroot", func(stage) string { return word(unix.Chroot("/workspace")) }},
		{"realtime", func(stage) string {
			return call(unix.SYS_SCHED_SETSCHEDULER, 0, 1, uintptr(unsafe.Pointer(&[1]int32{1})))
		}},
		{"nice-lower", func(stage) string { return call(unix.SYS_SETPRIORITY, 0, 0, minus(5)) }},
		{"rlimit-raise", func(stage) string { // of the size of a file
			return word(unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}))
		}},
		{"fallocate", func(stage) string { return reserve(func(fd int) error { return unix.Fallocate(fd, 0, 0, 1<<20) }) }},
		{"fallocate-ioctl", func(stage) string { // FS_IOC_RESVSP64
			return reserve(func(fd int) error {
				room := [6]uint64{1: 0, 2: 1 << 20} // from the beginning, 1 MiB
				return system(unix.SYS_IOCTL, uintptr(fd), 0x4030582a, uintptr(unsafe.Pointer(&room)))
			})
		}},
		{"message-queue", func(stage) string {
			return call(unix.SYS_MQ_OPEN, cstring("attack"), unix.O_CREAT|unix.O_RDWR, 0o600, 0)
		}},
		{"core-limit", func(stage) string { // so that a fault would write one
			return word(unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}))
		}},
	}
}

// reserve takes room for a file without writing.
func reserve(how func(fd int) error) string {
	fd, err := unix.Open("/workspace/reserved", unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return word(err)
	}
	defer unix.Close(fd)
	defer func() { _ = unix.Unlink("/workspace/reserved") }()
	return word(how(fd))
}

// byHandle opens a file by its handle, past every mount, as "shocker" did.
func byHandle(stage) string {
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/workspace", 0)
	if err != nil {
		return word(err)
	}
	at, err := unix.Open("/workspace", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return word(err)
	}
	_, err = unix.OpenByHandleAt(at, h, unix.O_RDONLY)
	return word(err)
}

// clock sets the clock's status to what it is.
func clock(stage) string {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return word(err)
	}
	t.Modes = unix.ADJ_STATUS
	_, err := unix.Adjtimex(&t)
	return word(err)
}

func capset(stage) string {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	const admin = 1 << unix.CAP_SYS_ADMIN
	d := [2]unix.CapUserData{{Effective: admin, Permitted: admin}}
	return word(unix.Capset(&h, &d[0]))
}

func fileCapability(stage) string {
	const file = "/standard-code/cache/capable"
	if err := os.WriteFile(file, nil, 0o700); err != nil {
		return word(err)
	}
	// Version 2, effective, CAP_SYS_ADMIN.
	value := []byte{1, 0, 0, 2, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	return word(unix.Setxattr(file, "security.capability", value, 0))
}
