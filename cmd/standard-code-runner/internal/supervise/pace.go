//go:build linux

package supervise

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Between two looks at the free space. A command that does not grow is looked at
// less often, and so is one that is far from its quota. Four threads write 5 GiB a
// second into the page cache of a machine that does nothing else: 10 MiB in slowTick.
const (
	tick     = time.Millisecond
	slowTick = 2 * time.Millisecond
	// cacheTick is for the cache's peak, which stops nothing.
	cacheTick = 10 * time.Millisecond
)

// Least falls that count as growing.
const (
	movingBytes  = 128 << 10
	movingInodes = 8
)

// pace says when to look again, and waits in the kernel for it.
//
// The wait is a raw system call: the runtime is not told of it. Told, it hands the
// thread's place on and polls for work every 20 µs for a while after each look, and
// its timers wake several threads: 400 µs of processor time a look, against 20.
// What stops the world interrupts the wait by a signal.
type pace struct {
	wake int // descriptor that ends a wait
	wait time.Duration
	last Space
}

func newPace(free Space) (*pace, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	return &pace{wake: fd, wait: tick, last: free}, nil
}

// saw takes a look's answer, and whether the quota is far.
func (p *pace) saw(free Space, names int64, calm bool) {
	moves := p.last.Bytes-free.Bytes >= movingBytes || p.last.Inodes-free.Inodes >= movingInodes || names > 0
	p.wait = slowTick
	if moves && !calm {
		p.wait = tick
	}
	p.last = free
}

// sleep waits, and says whether end was called.
func (p *pace) sleep() bool {
	fd := unix.PollFd{Fd: int32(p.wake), Events: unix.POLLIN} //nolint:gosec // a descriptor
	ts := unix.NsecToTimespec(p.wait.Nanoseconds())
	n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fd)), 1, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	return errno == 0 && n > 0 // a signal only makes it short
}

// end ends the present wait and all later ones. It may be called from elsewhere.
func (p *pace) end() {
	_, _ = unix.Write(p.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // fails only when it was ended before
}

func (p *pace) close() { _ = unix.Close(p.wake) }
