//go:build linux

package supervise

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// all means every process of the pid namespace but PID 1. The kernel walks its
// list under a lock that forks take too, so none slips through.
const all = -1

// Terminate asks everything to end. Stopped processes are woken, or they would
// not notice.
func Terminate() {
	_ = unix.Kill(all, unix.SIGTERM)
	_ = unix.Kill(all, unix.SIGCONT)
}

// Kill ends everything.
func Kill() { _ = unix.Kill(all, unix.SIGKILL) }

// KillUntilGone ends everything and waits until it is reaped. It returns false
// when something is still there after the limit (a process in the kernel).
func KillUntilGone(r *Reaper, limit time.Duration) bool {
	deadline := time.After(limit)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		Kill()
		select {
		case <-r.Gone():
			return true
		case <-again.C:
		case <-deadline:
			return false
		}
	}
}

// settleMost bounds the wait for everything to stand still. A thread may wait in the
// kernel for long: a parent that has lent its memory to a child waits until that runs
// another program.
const settleMost = 2 * time.Second

// freeze stops everything and returns what continues it. Processes that were
// stopped before stay stopped afterwards.
//
// Nothing is continued before all of it stands still. A signal that comes in the
// middle of a fork is the child's too, once that exists; but the kernel keeps only the
// stopping one for it when the other one has no handler. The child would be born
// stopped after everything was continued, and nobody would wake it.
func freeze() (thaw func()) {
	before := stopped()
	_ = unix.Kill(all, unix.SIGSTOP)
	return func() {
		settle(before)
		if len(before) == 0 {
			_ = unix.Kill(all, unix.SIGCONT)
			return
		}
		for _, pid := range pids() {
			if !before[pid] {
				_ = unix.Kill(pid, unix.SIGCONT)
			}
		}
	}
}

// settle waits until every thread is stopped, or waits in the kernel, which it may
// for as long as its child is stopped: that is believed after some looks.
func settle(before map[int]bool) {
	const looks = 20
	deadline := time.Now().Add(settleMost)
	for waiting := 0; time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		moving, inKernel := false, false
		for _, pid := range pids() {
			if before[pid] {
				continue
			}
			for _, state := range states(pid) {
				moving = moving || strings.IndexByte("TtZXD", state) < 0
				inKernel = inKernel || state == 'D'
			}
		}
		if moving {
			waiting = 0
			continue
		}
		if waiting++; !inKernel || waiting > looks {
			return
		}
	}
}

// states are those of a process's threads.
func states(pid int) []byte {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	var all []byte
	for _, tid := range numbers(dir) {
		if s, ok := state(dir + "/" + strconv.Itoa(tid)); ok {
			all = append(all, s)
		}
	}
	return all
}

// pids are the processes but PID 1.
func pids() []int {
	return slices.DeleteFunc(numbers("/proc"), func(pid int) bool { return pid == 1 })
}

// numbers are the names in a directory that are some.
func numbers(path string) []int {
	dir, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var list []int
	for _, n := range names {
		if number, err := strconv.Atoi(n); err == nil && number > 0 {
			list = append(list, number)
		}
	}
	return list
}

// state reads the letter of a process or a thread.
func state(dir string) (byte, bool) {
	b, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return 0, false
	}
	// The name before the state may hold anything, also a parenthesis.
	i := strings.LastIndex(string(b), ") ")
	if i < 0 || len(b) <= i+2 {
		return 0, false
	}
	return b[i+2], true
}

// stopped returns the processes that are stopped now.
func stopped() map[int]bool {
	m := map[int]bool{}
	for _, pid := range pids() {
		if s, ok := state("/proc/" + strconv.Itoa(pid)); ok && s == 'T' {
			m[pid] = true
		}
	}
	return m
}
