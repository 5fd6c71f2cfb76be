//go:build linux

package supervise

import (
	"golang.org/x/sys/unix"
)

// Ended is how the command ended.
type Ended struct {
	Code   int
	Signal unix.Signal // 0 when it exited
}

// Reaper waits for the command and for every orphan: PID 1 is the parent of all
// whose own parent is gone.
type Reaper struct {
	ended chan Ended
	gone  chan struct{}
}

// Reap begins to wait. It must be the only one that waits for children, and must
// be called after the start: a failed start waits for its own child.
func Reap(pid int) *Reaper {
	r := &Reaper{ended: make(chan Ended, 1), gone: make(chan struct{})}
	go r.loop(pid)
	return r
}

// Ended receives once, when the command itself has ended.
func (r *Reaper) Ended() <-chan Ended { return r.ended }

// Gone is closed when no child is left: the container is empty but for the
// runner, for whatever the command started and lost is a child of PID 1.
func (r *Reaper) Gone() <-chan struct{} { return r.gone }

func (r *Reaper) loop(direct int) {
	defer close(r.gone)
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil: // ECHILD
			return
		case pid == direct:
			e := Ended{Code: ws.ExitStatus()}
			if ws.Signaled() {
				e = Ended{Signal: ws.Signal()}
			}
			r.ended <- e
		}
	}
}
