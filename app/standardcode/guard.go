package standardcode

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"cyberagent/domain/drydock"
	"cyberagent/domain/limits"
	"cyberagent/domain/result"
)

// The guard's pace: the trip-wire looks at the filesystem's free space, which
// costs microseconds; a scan walks the tree.
const (
	tripEvery = 20 * time.Millisecond
	scanEvery = 2 * time.Second
	// tripStep is how much free space or how many free inodes may go before the
	// tree is scanned at once.
	tripBytes  = limits.GrowthBytes / 4
	tripInodes = limits.GrowthEntries / 4
)

// level is what a tree held and its filesystem had free at one moment.
type level struct {
	usage drydock.Usage
	free  drydock.Free
	err   error
}

// baseline measures before the start, beside the engine's work.
func (a *attempt) baseline(ctx context.Context) <-chan level {
	out := make(chan level, 1)
	go func() {
		var l level
		if l.usage, l.err = a.s.Meter.Usage(ctx, a.drydock.Place.Root); l.err == nil {
			l.free, l.err = a.s.Meter.Free(ctx, a.drydock.Place.Root)
		}
		out <- l
	}()
	return out
}

// guard is the host-side backstop of the runner's quota: the command can starve
// a watcher of its own uid, but not this one. It sends at most one breach.
func (a *attempt) guard(ctx context.Context) <-chan result.Reason {
	breach := make(chan result.Reason, 1)
	go func() {
		if why := a.patrol(ctx, a.base.usage, a.base.free); why != "" {
			breach <- why
		}
	}()
	return breach
}

// patrol watches until the context ends or a rule is broken.
func (a *attempt) patrol(ctx context.Context, base drydock.Usage, first drydock.Free) result.Reason {
	tick := time.NewTicker(tripEvery)
	defer tick.Stop()
	last, scanned := first, a.s.Clock.Boot().Since
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-tick.C:
		}
		free, err := a.s.Meter.Free(ctx, a.drydock.Place.Root)
		if err != nil {
			if ctx.Err() != nil {
				return ""
			}
			return result.RunnerFailure
		}
		if headroom(free) != nil {
			return result.Headroom
		}
		tripped := last.Bytes-free.Bytes > tripBytes || (free.InodesKnown && last.Inodes-free.Inodes > tripInodes)
		if !tripped && a.s.Clock.Boot().Since-scanned < scanEvery {
			continue
		}
		usage, err := a.s.Meter.Usage(ctx, a.drydock.Place.Root)
		switch {
		case ctx.Err() != nil:
			return ""
		case errors.Is(err, fs.ErrPermission):
			// An ordinary user cannot look behind every door that the command shuts;
			// the runner can, and fails closed.
		case err != nil:
			return result.RunnerFailure
		case usage.Bytes-base.Bytes > limits.GrowthBytes:
			return result.GrowthBytes
		case usage.Entries-base.Entries > limits.GrowthEntries:
			return result.GrowthEntries
		case unnamed(first, free, base, usage) && a.standsStill(ctx, first, base):
			return result.GrowthUnattributed
		}
		last, scanned = free, a.s.Clock.Boot().Since
	}
}

// unnamed says that free space fell far beyond what the tree's names show.
func unnamed(first, free drydock.Free, base, usage drydock.Usage) bool {
	return (first.Bytes-free.Bytes)-(usage.Bytes-base.Bytes) > limits.UnattributedBytes
}

// standsStill freezes the container twice: only growth that is still there and
// does not move while nothing of the container runs is the container's, and not
// another process's of the host.
func (a *attempt) standsStill(ctx context.Context, first drydock.Free, base drydock.Usage) bool {
	for range 2 {
		if !a.frozenUnnamed(ctx, first, base) {
			return false
		}
	}
	return true
}

func (a *attempt) frozenUnnamed(ctx context.Context, first drydock.Free, base drydock.Usage) bool {
	call, cancel := detached(ctx, limits.EngineProbeCall)
	defer cancel()
	if err := a.engine.Freeze(call, a.container); err != nil {
		return false
	}
	defer func() { _ = a.engine.Thaw(call, a.container) }()
	const rest = 50 * time.Millisecond
	const still = limits.MiB
	before, err := a.s.Meter.Free(call, a.drydock.Place.Root)
	if err != nil {
		return false
	}
	time.Sleep(rest)
	after, err := a.s.Meter.Free(call, a.drydock.Place.Root)
	if err != nil {
		return false
	}
	usage, err := a.s.Meter.Usage(call, a.drydock.Place.Root)
	moved := before.Bytes - after.Bytes
	return err == nil && moved < still && moved > -still && unnamed(first, after, base, usage)
}
