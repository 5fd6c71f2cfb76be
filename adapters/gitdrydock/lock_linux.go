package gitdrydock

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/domain/fault"
)

// lockFile takes an exclusive flock on a file of ours, waiting as long as ctx
// allows. The kernel releases it when the process dies, so a lock is never
// stale and never deleted. Closing the file releases it, unless a git that
// inherited it is still at work: see layout.hold.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "cannot open a lock")
	}
	wait := time.Millisecond
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return f, nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
		default:
			_ = f.Close()
			return nil, fault.Wrap(fault.Internal, err, "cannot take a lock")
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fault.Wrap(fault.InProgress, ctx.Err(), "another process is at work on the same Drydock or source").
				Hint("try again when it has finished")
		case <-time.After(wait):
			wait = min(2*wait, 50*time.Millisecond)
		}
	}
}
