//go:build linux

package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"cyberagent/adapters/conformance/internal/finding"
)

var word = finding.Word

// system makes one call.
func system(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func call(number uintptr, args ...uintptr) string { return word(system(number, args...)) }

func minus(n uintptr) uintptr { return -n }

// onRunner are attacks on PID 1, which has the command's own user.
func onRunner() []attack {
	pid := func(s stage) uintptr { return uintptr(s.target) }
	return append([]attack{
		{"ptrace-attach", func(s stage) string { return word(unix.PtraceAttach(s.target)) }},
		{"ptrace-seize", func(s stage) string { return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, pid(s)) }},
		{"vm-readv", func(s stage) string { return vm(unix.SYS_PROCESS_VM_READV, s) }},
		{"vm-writev", func(s stage) string { return vm(unix.SYS_PROCESS_VM_WRITEV, s) }},
		{"proc-mem-read", func(s stage) string { return word(open(path("/proc/%d/mem", s.target), unix.O_RDONLY)) }},
		{"proc-mem-write", func(s stage) string { return word(open(path("/proc/%d/mem", s.target), unix.O_RDWR)) }},
		{"proc-fd-list", func(s stage) string { _, err := os.ReadDir(path("/proc/%d/fd", s.target)); return word(err) }},
		{"proc-fd-stdout", func(s stage) string { return word(open(path("/proc/%d/fd/1", s.target), unix.O_WRONLY)) }},
		{"proc-fd-stderr", func(s stage) string { return word(open(path("/proc/%d/fd/2", s.target), unix.O_WRONLY)) }},
		{"proc-environ", func(s stage) string { return peek(s, "environ") }},
		{"proc-maps", func(s stage) string { return peek(s, "maps") }},
		{"proc-auxv", func(s stage) string { return peek(s, "auxv") }},
		{"proc-root", func(s stage) string { _, err := os.ReadDir(path("/proc/%d/root/", s.target)); return word(err) }},
		{"proc-cwd", func(s stage) string { _, err := os.ReadDir(path("/proc/%d/cwd/", s.target)); return word(err) }},
		{"proc-exe", func(s stage) string { return word(open(path("/proc/%d/exe", s.target), unix.O_RDONLY)) }},
		{"proc-ns", func(s stage) string { return word(open(path("/proc/%d/ns/mnt", s.target), unix.O_RDONLY)) }},
		{"proc-oom-score", func(s stage) string { return poke(s, "oom_score_adj", "1000") }},
		{"proc-autogroup", func(s stage) string { return poke(s, "autogroup", "19") }},
		{"proc-timerslack", func(s stage) string { return poke(s, "timerslack_ns", "4000000000") }},
		{"proc-coredump-filter", func(s stage) string { return poke(s, "coredump_filter", "0x7f") }},
		{"proc-clear-refs", func(s stage) string { return poke(s, "clear_refs", "1") }},
		{"pidfd-getfd", pidfdGetfd},
		{"process-madvise", func(s stage) string { return processMadvise(s) }},
		{"kcmp", func(s stage) string { return call(unix.SYS_KCMP, pid(s), uintptr(os.Getpid()), 1) }},
		{"move-pages", func(s stage) string { return call(unix.SYS_MOVE_PAGES, pid(s)) }},
		{"prlimit-set", func(s stage) string {
			return call(unix.SYS_PRLIMIT64, pid(s), unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&unix.Rlimit{Cur: 3, Max: 3})))
		}},
		{"prlimit-get", func(s stage) string {
			return call(unix.SYS_PRLIMIT64, pid(s), unix.RLIMIT_NOFILE, 0, uintptr(unsafe.Pointer(&unix.Rlimit{})))
		}},
		{"sched-idle", func(s stage) string { return call(unix.SYS_SCHED_SETSCHEDULER, pid(s), 5, zeros()) }},
		{"sched-setparam", func(s stage) string { return call(unix.SYS_SCHED_SETPARAM, pid(s), zeros()) }},
		{"sched-setattr", schedSetattr},
		{"sched-affinity", func(s stage) string {
			mask := [16]uint64{1}
			return call(unix.SYS_SCHED_SETAFFINITY, pid(s), unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
		}},
		{"nice", func(s stage) string { return call(unix.SYS_SETPRIORITY, 0, pid(s), 19) }},
		{"nice-user", func(stage) string { return call(unix.SYS_SETPRIORITY, 2, uintptr(os.Getuid()), 19) }},
		{"nice-group", func(s stage) string { return call(unix.SYS_SETPRIORITY, 1, uintptr(pgid(s.target)), 19) }},
		{"ionice", func(s stage) string { return call(unix.SYS_IOPRIO_SET, 1, pid(s), 3<<13) }},
	}, signals()...)
}

// signals are the ways to send them. What counts is what became of the target.
func signals() []attack {
	each := func(send func(s stage, sig syscall.Signal)) func(stage) string {
		return func(s stage) string {
			for sig := syscall.Signal(1); sig <= 64; sig++ {
				if sig != unix.SIGTERM { // an order to end; it has an attack of its own
					send(s, sig)
				}
			}
			return after(s.target)
		}
	}
	return []attack{
		{"signal-kill", func(s stage) string { _ = unix.Kill(s.target, unix.SIGKILL); return after(s.target) }},
		{"signal-stop", func(s stage) string { _ = unix.Kill(s.target, unix.SIGSTOP); return after(s.target) }},
		{"signal-all", each(func(s stage, sig syscall.Signal) { _ = unix.Kill(s.target, sig) })},
		{"signal-thread", each(func(s stage, sig syscall.Signal) { _ = unix.Tgkill(s.target, s.target, sig) })},
		{"signal-queue", each(func(s stage, sig syscall.Signal) { queue(unix.SYS_RT_SIGQUEUEINFO, sig, uintptr(s.target)) })},
		{"signal-queue-thread", each(func(s stage, sig syscall.Signal) {
			queue(unix.SYS_RT_TGSIGQUEUEINFO, sig, uintptr(s.target), uintptr(s.target))
		})},
		{"signal-pidfd", func(s stage) string {
			fd, err := unix.PidfdOpen(s.target, 0)
			if err != nil {
				return word(err)
			}
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			return after(s.target)
		}},
		{"signal-owner", each(owner)},
	}
}

// owner lets the kernel send a signal on our behalf, when a socket gets data.
func owner(s stage, sig syscall.Signal) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	_, _ = unix.FcntlInt(uintptr(p[0]), unix.F_SETOWN, s.target)
	_, _ = unix.FcntlInt(uintptr(p[0]), unix.F_SETSIG, int(sig))
	_, _ = unix.FcntlInt(uintptr(p[0]), unix.F_SETFL, unix.O_ASYNC|unix.O_NONBLOCK)
	_, _ = unix.Write(p[1], []byte{0})
}

// queue sends a signal as sigqueue(3) does, which some programs take for a fault
// of their own.
func queue(number uintptr, sig syscall.Signal, ids ...uintptr) {
	var info [128]byte
	*(*int32)(unsafe.Pointer(&info[0])) = int32(sig)
	*(*int32)(unsafe.Pointer(&info[8])) = -1 // SI_QUEUE
	_ = system(number, append(ids, uintptr(sig), uintptr(unsafe.Pointer(&info)))...)
}

func vm(number uintptr, s stage) string {
	at, ok := mapped(s.target)
	if !ok {
		at = 0x400000 // where a static program begins
	}
	b := make([]byte, 1)
	local := unix.Iovec{Base: &b[0], Len: 1}
	remote := [2]uintptr{at, 1}
	return call(number, uintptr(s.target), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1)
}

// mapped finds a writable page of another process, where that is allowed.
func mapped(pid int) (uintptr, bool) {
	b, err := os.ReadFile(path("/proc/%d/maps", pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, " rw-p ") {
			from, _, _ := strings.Cut(line, "-")
			at, err := strconv.ParseUint(from, 16, 64)
			return uintptr(at), err == nil
		}
	}
	return 0, false
}

func peek(s stage, file string) string {
	f, err := os.Open(path("/proc/%d/%s", s.target, file))
	if err != nil {
		return word(err)
	}
	defer f.Close()
	_, err = f.Read(make([]byte, 8))
	return word(err)
}

func poke(s stage, file, text string) string {
	return word(put(path("/proc/%d/%s", s.target, file), text))
}

func pidfdGetfd(s stage) string {
	fd, err := unix.PidfdOpen(s.target, 0)
	if err != nil {
		return word(err)
	}
	_, err = unix.PidfdGetfd(fd, 1, 0)
	return word(err)
}

func processMadvise(s stage) string {
	fd, err := unix.PidfdOpen(s.target, 0)
	if err != nil {
		return word(err)
	}
	at, _ := mapped(s.target)
	remote := [2]uintptr{at, uintptr(os.Getpagesize())}
	return call(unix.SYS_PROCESS_MADVISE, uintptr(fd), uintptr(unsafe.Pointer(&remote)), 1, unix.MADV_COLD)
}

func schedSetattr(s stage) string {
	a := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: 5}
	return call(unix.SYS_SCHED_SETATTR, uintptr(s.target), uintptr(unsafe.Pointer(&a)))
}

func pgid(pid int) int {
	g, err := unix.Getpgid(pid)
	if err != nil {
		return pid
	}
	return g
}

func zeros() uintptr { return uintptr(unsafe.Pointer(new([256]byte))) }
