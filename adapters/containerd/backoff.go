package containerd

import (
	"context"
	"time"
)

// backoff waits longer and longer, up to two seconds.
type backoff struct {
	next  time.Duration
	total time.Duration
}

func newBackoff() backoff { return backoff{next: 20 * time.Millisecond} }

// sleep returns false when the context ended.
func (b *backoff) sleep(ctx context.Context) bool {
	t := time.NewTimer(b.next)
	defer t.Stop()
	b.total += b.next
	b.next = min(2*b.next, 2*time.Second)
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
