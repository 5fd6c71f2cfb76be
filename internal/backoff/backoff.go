// Package backoff waits longer and longer between looks at something that another
// program will change.
package backoff

import (
	"context"
	"time"
)

// Backoff waits from 20 ms up to two seconds.
type Backoff struct {
	next time.Duration
	// Total is how long it has waited in all.
	Total time.Duration
}

// New returns a Backoff at its beginning.
func New() Backoff { return Backoff{next: 20 * time.Millisecond} }

// Sleep returns false when the context ended.
func (b *Backoff) Sleep(ctx context.Context) bool {
	t := time.NewTimer(b.next)
	defer t.Stop()
	b.Total += b.next
	b.next = min(2*b.next, 2*time.Second)
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
