//go:build linux

package supervise

import (
	"time"

	"cyberagent/cmd/standard-code-runner/internal/tree"
	"cyberagent/domain/limits"
	"cyberagent/domain/runnerproto"
)

// Steps of the trip-wire: how far free space or free inodes fall before the tree
// is looked at, or half of what is left of the quota if that is more.
const (
	stepBytes  = 2 * limits.MiB
	stepInodes = 256
	stepNames  = 256
	// The time between two scans without a sign that is worth one: at least idleMin,
	// and as much more as keeps them to an eightieth of the time, up to idleMax. Where
	// nothing at all moved since the last one, four times that: only a file that
	// grows without taking space, or what others hide by making room, is found by it.
	idleMin   = 50 * time.Millisecond
	idleMax   = time.Minute
	idleShare = 80
	idleStill = 4
)

// look is what the trip-wire asks for.
type look int

const (
	nothing look = iota
	scan         // count while the command runs
	frozen       // stop the command first: it may be past its quota already
)

// tripwire decides when to scan, from free space and from names that appear. Others
// use the same filesystem, so it is a hint: they can set it off (which costs a scan, never
// more than a part of the time) and they can hide a fall by freeing space (which
// the full scans find).
type tripwire struct {
	quota  runnerproto.Quota
	high   Space      // the most that was free since the last scan
	growth tree.Usage // as of the last scan
	names  int64      // that appeared since the last scan began, as far as is known

	// first is what would be free if nothing had gone to the workspace: what is
	// missing from it beyond growth is in no name.
	first int64

	moved     bool      // since the last scan something appeared, or took space
	nextScan  time.Time // no scan on a sign before this
	nextFull  time.Time // a scan without a sign when something moved
	nextStill time.Time // a scan all the same
	standing  budget
	doubting  budget
}

// standBurst is how long the command may stand still at once. A count of it is no
// more than a tenth of the time in the long run; without a burst, one that finds
// less than the quota would leave a fast writer ten times its length to run away.
const standBurst = 300 * time.Millisecond

// budget is the time that the command may stand still.
type budget struct {
	spent time.Duration // of the burst
	at    time.Time     // when it was spent
}

// allows says whether something is left of it.
func (b budget) allows(now time.Time) bool { return b.left(now) > 0 }

func (b budget) left(now time.Time) time.Duration {
	return min(standBurst, standBurst-b.spent+now.Sub(b.at)/10)
}

func (b *budget) spend(now time.Time, d time.Duration) {
	b.spent, b.at = standBurst-b.left(now)+d, now
}

// note takes a new measurement: what is free, and how many names appeared since the
// last one.
func (t *tripwire) note(free Space, names int64) {
	t.high.Bytes = max(t.high.Bytes, free.Bytes)
	t.high.Inodes = max(t.high.Inodes, free.Inodes)
	t.names += names
	t.moved = t.moved || t.names > 0 || t.high.Bytes-free.Bytes >= movingBytes || t.high.Inodes-free.Inodes >= movingInodes
}

// far says that the command is past its quota, if all that fell were growth. Near
// the limit the step is the least that counts, or every small write would stop the
// command.
func (t *tripwire) far(free Space) bool {
	left := max(t.quota.GrowthEntries-t.growth.Entries, 2*stepInodes)
	return t.high.Bytes-free.Bytes > max(t.quota.GrowthBytes-t.growth.Bytes, 2*stepBytes) ||
		t.high.Inodes-free.Inodes > left || t.names > left
}

// near says that so much fell that it is worth a count.
func (t *tripwire) near(free Space) bool {
	left := (t.quota.GrowthEntries - t.growth.Entries) / 2
	return t.high.Bytes-free.Bytes >= max(stepBytes, (t.quota.GrowthBytes-t.growth.Bytes)/2) ||
		t.high.Inodes-free.Inodes >= max(stepInodes, left) || t.names >= max(stepNames, left)
}

// doubtful says that so much fell beyond growth that the open files are worth a look.
// Others of this host may have taken it.
func (t *tripwire) doubtful(free Space, growth tree.Usage) bool {
	return t.first-free.Bytes-growth.Bytes > limits.UnattributedBytes
}

// explained takes note of what open files without a name hold: the rest is others'.
func (t *tripwire) explained(now time.Time, free Space, growth tree.Usage, hidden int64, cost time.Duration) {
	t.first = free.Bytes + growth.Bytes + hidden
	t.doubting.spend(now, cost)
}

// calm says that less than half of the quota is used, if all that fell were growth.
func (t *tripwire) calm(free Space) bool {
	return 2*(t.growth.Bytes+t.high.Bytes-free.Bytes) < t.quota.GrowthBytes &&
		2*(t.growth.Entries+max(t.high.Inodes-free.Inodes, t.names)) < t.quota.GrowthEntries
}

// see says what to do.
func (t *tripwire) see(now time.Time, free Space) look {
	far, near := t.far(free), t.near(free)
	switch {
	case far && t.standing.allows(now), t.doubtful(free, t.growth) && t.doubting.allows(now):
		return frozen
	case (near || far) && !now.Before(t.nextScan):
		return scan
	case t.moved && !now.Before(t.nextFull), !now.Before(t.nextStill):
		return scan
	}
	return nothing
}

// cost is what a scan took: by the clock, and of the processors. On a busy machine the
// first is much longer, and says nothing of what scans cost the command.
type cost struct{ clock, processor time.Duration }

// scanned takes note of a finished scan that began with free space and took spent.
// Scans take at most an eightieth of the time without a sign, a quarter with one,
// and the command stands still for at most a tenth and a burst.
func (t *tripwire) scanned(now time.Time, free Space, growth tree.Usage, spent cost, how look) {
	t.high, t.growth, t.names, t.moved = free, growth, 0, false
	t.nextScan = now.Add(3 * spent.processor)
	idle := min(max(idleShare*spent.processor, idleMin), idleMax)
	t.nextFull, t.nextStill = now.Add(idle), now.Add(min(idleStill*idle, idleMax))
	if how == frozen {
		t.standing.spend(now, spent.clock)
	}
}
