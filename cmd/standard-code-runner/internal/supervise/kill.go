//go:build linux

package supervise

import (
	"os"
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

// freeze stops everything and returns what continues it. Processes that were
// stopped before stay stopped afterwards.
func freeze() (thaw func()) {
	before := stopped()
	_ = unix.Kill(all, unix.SIGSTOP)
	return func() {
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

func pids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var list []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil && pid > 1 {
			list = append(list, pid)
		}
	}
	return list
}

// stopped returns the processes that are stopped now.
func stopped() map[int]bool {
	m := map[int]bool{}
	for _, pid := range pids() {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue
		}
		// The name before the state may hold anything, also a parenthesis.
		if i := strings.LastIndex(string(b), ") "); i >= 0 && len(b) > i+2 && b[i+2] == 'T' {
			m[pid] = true
		}
	}
	return m
}
