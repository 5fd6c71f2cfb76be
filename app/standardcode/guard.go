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
		case unnamed(first, free, base, usage):
			if a.attributed(ctx, first, base) {
				return result.GrowthUnattributed
			}
			// Somebody else of this host wrote it: the next suspicion starts from here.
			first.Bytes = free.Bytes + (usage.Bytes - base.Bytes)
		}
		last, scanned = free, a.s.Clock.Boot().Since
	}
}

// unnamed says that free space fell far beyond what the tree's names show.
func unnamed(first, free drydock.Free, base, usage drydock.Usage) bool {
	return (first.Bytes-free.Bytes)-(usage.Bytes-base.Bytes) > limits.UnattributedBytes
}

// attributed says whether space that no name shows went to the container and
// not to another process of the host. Where the host may look, open files
// without a name prove it. Otherwise the space must stop falling every time that
// the container is frozen, and fall at least every second time that it is not: on
// a busy host others write in bursts, and two such windows are soon a coincidence.
func (a *attempt) attributed(ctx context.Context, first drydock.Free, base drydock.Usage) bool {
	fell := 0
	for range rounds {
		still, hidden := a.frozen(ctx, first, base)
		if hidden > limits.UnattributedBytes {
			return true
		}
		if !still {
			return false
		}
		if a.falls(ctx) {
			fell++
		}
	}
	return fell >= rounds/2
}

// The windows in which space is watched, how often it is looked at frozen and
// thawed, and what counts as standing still.
const (
	window = 50 * time.Millisecond
	rounds = 8
	noise  = limits.MiB
)

// frozen freezes the container for one window. It says whether the unnamed
// space is still there and did not move, and how much the container's processes
// hold without a name as far as can be seen.
func (a *attempt) frozen(ctx context.Context, first drydock.Free, base drydock.Usage) (still bool, hidden int64) {
	call, cancel := detached(ctx, limits.EngineProbeCall)
	defer cancel()
	if err := a.engine.Freeze(call, a.container); err != nil {
		return false, 0
	}
	defer func() { _ = a.engine.Thaw(call, a.container) }()
	if c, err := a.engine.Inspect(call, a.container); err == nil {
		hidden, _ = a.s.Meter.Hidden(call, a.drydock.Place.Root, c.PID)
	}
	moved, after, err := a.fall(call)
	if err != nil || moved > noise || moved < -noise {
		return false, hidden
	}
	usage, err := a.s.Meter.Usage(call, a.drydock.Place.Root)
	return err == nil && unnamed(first, after, base, usage), hidden
}

// falls says whether space goes while the container runs.
func (a *attempt) falls(ctx context.Context) bool {
	moved, _, err := a.fall(ctx)
	return err == nil && moved > noise
}

// fall measures how much space goes in one window.
func (a *attempt) fall(ctx context.Context) (int64, drydock.Free, error) {
	before, err := a.s.Meter.Free(ctx, a.drydock.Place.Root)
	if err != nil {
		return 0, before, err
	}
	select {
	case <-ctx.Done():
		return 0, before, ctx.Err()
	case <-time.After(window):
	}
	after, err := a.s.Meter.Free(ctx, a.drydock.Place.Root)
	return before.Bytes - after.Bytes, after, err
}
