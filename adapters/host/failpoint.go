package host

import (
	"os"
	"sync/atomic"
	"time"

	"cyberagent/ports"
)

// FailPoint ends this process, as a crash would, at one named moment. Nothing
// but its argument arms it: no variable of the environment, no file.
type FailPoint struct {
	name  string
	left  atomic.Int64
	delay time.Duration
}

var _ ports.FailPoints = (*FailPoint)(nil)

// NewFailPoint is armed for the hit-th time that name is reached. With a delay the
// process goes on for so long, and dies in the middle of what follows.
func NewFailPoint(name string, hit int, delay time.Duration) *FailPoint {
	f := &FailPoint{name: name, delay: delay}
	f.left.Store(int64(hit))
	return f
}

// Hit implements ports.FailPoints.
func (f *FailPoint) Hit(name string) {
	if name != f.name || f.left.Add(-1) != 0 {
		return
	}
	if f.delay > 0 {
		time.AfterFunc(f.delay, die)
		return
	}
	die()
}

// die sends KILL, so that no deferred call, no signal handler and no buffer
// survives, and never returns.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}
