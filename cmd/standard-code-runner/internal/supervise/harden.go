//go:build linux

// Package supervise runs one command as PID 1 of a container: it protects the
// runner from the command, which has the same uid, starts it, watches what it
// writes, ends it, and reaps everything.
package supervise

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// atOnce is how many goroutines run at once: two streams, the watcher, the
	// rest. More would only make more threads.
	atOnce = 4
	// threads are made before the command starts. At the pids limit a new thread
	// cannot be made, and the Go runtime ends the program when it needs one. At
	// most eleven goroutines are in blocking calls at once (reaper, signals, four of
	// a scan, watcher, two streams, main).
	threads = 16
	// maxThreads ends a runner that makes threads all the same.
	maxThreads = 64
)

// Runner is the hardened process.
type Runner struct {
	oom   *os.File // /proc/self/oom_score_adj, or nil
	term  chan os.Signal
	ready chan struct{} // closed when the threads are made
}

// Harden protects this process from the command before anything else is done: it
// must be called once, first. Afterwards no process of the same uid can trace it
// or read its memory, descriptors or environment, and no signal ends it.
func Harden() (*Runner, error) {
	// Opened first: the files in /proc/self are root's as soon as the process
	// cannot be dumped. Nothing else runs in the container yet.
	oom, err := os.OpenFile("/proc/self/oom_score_adj", os.O_RDWR, 0)
	if err != nil {
		oom = nil
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("prctl: %w", err)
	}
	if err := keepDescriptors(); err != nil {
		return nil, err
	}
	runtime.GOMAXPROCS(atOnce)
	debug.SetMaxThreads(maxThreads)
	r := &Runner{oom: oom, term: make(chan os.Signal, 1), ready: make(chan struct{})}
	// While the isolation is measured; Start waits for it.
	go func() {
		makeThreads(threads)
		close(r.ready)
	}()
	signal.Notify(r.term, unix.SIGTERM)
	if os.Getpid() == 1 {
		if err := ignoreSignals(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// keepDescriptors makes sure that no program that is started later gets any
// descriptor of this process but the three it is given.
func keepDescriptors() error {
	if unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	// Kernels before 5.11 do not know the flag.
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("descriptors: %w", err)
	}
	for _, e := range list {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// makeThreads lets n goroutines hold a thread each at the same time. The runtime
// keeps threads for later use; it never ends one.
func makeThreads(n int) {
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	ready.Add(n)
	done.Add(n)
	for range n {
		go func() {
			runtime.LockOSThread()
			ready.Done()
			<-release
			runtime.UnlockOSThread()
			done.Done()
		}()
	}
	ready.Wait()
	close(release)
	done.Wait()
}

// ignoreSignals gives every signal but two its default action, past the Go
// runtime. For PID 1 the kernel discards a signal with the default action that
// comes from inside its own pid namespace, also SIGSEGV and its like, which a Go
// program takes for a fault of its own and ends when sigqueue(3) sent them. A
// true fault still ends the runner, and then there is no report.
//
// The exceptions: TERM asks to stop, and URG is how the Go runtime interrupts its
// own threads.
func ignoreSignals() error {
	const last = 64
	var action [32]byte // struct kernel_sigaction, all zero: SIG_DFL
	for s := unix.Signal(1); s <= last; s++ {
		switch s {
		case unix.SIGKILL, unix.SIGSTOP, unix.SIGTERM, unix.SIGURG:
			continue
		default:
		}
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
		if errno != 0 {
			return fmt.Errorf("rt_sigaction %d: %w", s, errno)
		}
	}
	return nil
}

// Term receives when TERM came, from the host or forged by the command.
func (r *Runner) Term() <-chan os.Signal { return r.term }

// adjustOOM writes the own score; children inherit it. It returns the value that
// was there.
func (r *Runner) adjustOOM(value string) (string, bool) {
	if r.oom == nil {
		return "", false
	}
	var old [16]byte
	n, err := r.oom.ReadAt(old[:], 0)
	if err != nil && n == 0 {
		return "", false
	}
	if _, err := r.oom.WriteAt([]byte(value), 0); err != nil {
		return "", false
	}
	return string(old[:n]), true
}
