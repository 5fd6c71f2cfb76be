//go:build linux

package supervise

import (
	"testing"
	"time"

	"cyberagent/cmd/standard-code-runner/internal/tree"
	"cyberagent/domain/limits"
	"cyberagent/domain/runnerproto"
)

var quota = runnerproto.Quota{GrowthBytes: 16 * limits.MiB, GrowthEntries: 4096, HeadroomBytes: 100, HeadroomInodes: 10}

func TestGrowthUpToTheQuotaIsAllowed(t *testing.T) {
	for _, c := range []struct {
		g    tree.Usage
		want runnerproto.Stop
	}{
		{tree.Usage{}, runnerproto.StopNone},
		{tree.Usage{Bytes: -5, Entries: -5}, runnerproto.StopNone},
		{tree.Usage{Bytes: 16 * limits.MiB, Entries: 4096}, runnerproto.StopNone},
		{tree.Usage{Bytes: 16*limits.MiB + 1}, runnerproto.StopGrowthBytes},
		{tree.Usage{Entries: 4097}, runnerproto.StopGrowthEntries},
	} {
		if v := Growth(c.g, quota); v.Stop != c.want {
			t.Errorf("%+v: %q", c.g, v.Stop)
		}
	}
}

func TestHeadroomWithoutAnInodeCountIsTheBytesAlone(t *testing.T) {
	for _, c := range []struct {
		s    Space
		want runnerproto.Stop
	}{
		{Space{100, 10}, runnerproto.StopNone}, {Space{100, -1}, runnerproto.StopNone},
		{Space{99, 10}, runnerproto.StopHeadroom}, {Space{100, 9}, runnerproto.StopHeadroom},
		{Space{100, 0}, runnerproto.StopHeadroom},
	} {
		if v := Headroom(c.s, quota); v.Stop != c.want {
			t.Errorf("%+v: %q", c.s, v.Stop)
		}
	}
}

var t0 = time.Unix(1_000_000, 0)

func wire(free Space) *tripwire {
	return &tripwire{quota: quota, high: free, nextFull: t0.Add(time.Hour), nextStill: t0.Add(time.Hour)}
}

// both is a cost on a machine that does nothing else.
func both(d time.Duration) cost { return cost{d, d} }

// see takes a measurement and asks what to do.
func see(w *tripwire, now time.Time, free Space, names int64) look {
	w.note(free, names)
	return w.see(now, free)
}

func TestTheTripwireLooksWhenSpaceFalls(t *testing.T) {
	free := Space{Bytes: limits.GiB, Inodes: 1_000_000}
	for _, c := range []struct {
		name   string
		bytes  int64
		inodes int64
		names  int64
		want   look
	}{
		{"nothing fell", 0, 0, 0, nothing},
		{"less than half of the quota", 8*limits.MiB - 1, 2047, 2047, nothing},
		{"half in bytes", 8 * limits.MiB, 0, 0, scan},
		{"half in inodes", 0, 2048, 0, scan},
		{"half in names", 0, 0, 2048, scan},
		{"more than the quota in bytes", 16*limits.MiB + 1, 0, 0, frozen},
		{"more than the quota in entries", 0, 4097, 0, frozen},
		{"more than the quota in names", 0, 0, 4097, frozen},
	} {
		if got := see(wire(free), t0, Space{free.Bytes - c.bytes, free.Inodes - c.inodes}, c.names); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestTheTripwireKnowsWhatIsLeftOfTheQuota(t *testing.T) {
	w := wire(Space{})
	free := Space{Bytes: limits.GiB, Inodes: 1_000_000}
	w.scanned(t0, free, tree.Usage{Bytes: 10 * limits.MiB}, cost{}, scan)
	for fell, want := range map[int64]look{3*limits.MiB - 1: nothing, 3 * limits.MiB: scan, 6*limits.MiB + 1: frozen} {
		if got := see(w, t0.Add(time.Millisecond), Space{free.Bytes - fell, free.Inodes}, 0); got != want {
			t.Errorf("%d bytes more after 10 MiB: %v, want %v", fell, got, want)
		}
	}
	// Near the end a step is what counts, not half of nothing.
	w.scanned(t0, free, tree.Usage{Bytes: 15 * limits.MiB, Entries: 4000}, cost{}, scan)
	for fell, want := range map[int64]look{stepBytes - 1: nothing, stepBytes: scan} {
		if got := see(w, t0.Add(time.Millisecond), Space{free.Bytes - fell, free.Inodes - stepInodes + 1}, 0); got != want {
			t.Errorf("%d bytes more after 15 MiB: %v, want %v", fell, got, want)
		}
	}
}

func TestHalfOfTheQuotaEndsTheCalm(t *testing.T) {
	free := Space{Bytes: limits.GiB, Inodes: 1_000_000}
	for _, c := range []struct {
		bytes, inodes, names int64
		want                 bool
	}{{0, 0, 0, true}, {4*limits.MiB - 1, 500, 500, true}, {4 * limits.MiB, 0, 0, false}, {0, 1048, 0, false}, {0, 0, 1048, false}} {
		w := wire(free)
		w.scanned(t0, free, tree.Usage{Bytes: 4 * limits.MiB, Entries: 1000}, cost{}, scan)
		w.note(free, c.names)
		if got := w.calm(Space{free.Bytes - c.bytes, free.Inodes - c.inodes}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestWhatNoNameShowsIsLookedForBeyondItsLimit(t *testing.T) {
	free := Space{Bytes: limits.GiB, Inodes: 1_000_000}
	w := wire(free)
	w.first = free.Bytes
	growth := tree.Usage{Bytes: 10 * limits.MiB}
	fall := func(now time.Time, bytes int64) look {
		free.Bytes -= bytes
		l := see(w, now, free, 0)
		w.scanned(now, free, growth, cost{}, scan)
		return l
	}
	w.scanned(t0, free, growth, cost{}, scan)
	for range 37 {
		if got := fall(t0, 2*limits.MiB); got == frozen {
			t.Fatalf("at %d free", free.Bytes)
		}
	}
	if got := fall(t0, 1); got != frozen {
		t.Errorf("one byte beyond the limit: %v", got)
	}
	w.explained(t0, free, growth, 60*limits.MiB, standBurst)
	if got := fall(t0, 4*limits.MiB+1); got == frozen {
		t.Error("the command may not stand still without end")
	}
	if got := fall(t0.Add(time.Minute), 0); got != frozen {
		t.Errorf("when it may again: %v", got)
	}
	w.explained(t0, free, growth, 0, 0)
	if got := fall(t0, 2*limits.MiB); got == frozen {
		t.Error("what others took is held against the command")
	}
}

func TestSpaceThatOthersFreeDoesNotHideAFall(t *testing.T) {
	w := wire(Space{Bytes: limits.GiB})
	see(w, t0, Space{Bytes: 2 * limits.GiB}, 0)
	if got := see(w, t0, Space{Bytes: 2*limits.GiB - 8*limits.MiB}, 0); got != scan {
		t.Errorf("%v", got)
	}
}

func TestScansTakeABoundedPartOfTheTime(t *testing.T) {
	free := Space{Bytes: limits.GiB, Inodes: 1_000_000}
	w := wire(free)
	w.standing.spend(t0, 250*time.Millisecond)
	w.scanned(t0, free, tree.Usage{}, both(100*time.Millisecond), frozen) // 50 ms more than the burst
	fell := Space{Bytes: free.Bytes - 100*limits.MiB, Inodes: free.Inodes}
	for after, want := range map[time.Duration]look{
		299 * time.Millisecond: nothing, 300 * time.Millisecond: scan, 500 * time.Millisecond: scan, 501 * time.Millisecond: frozen,
	} {
		if got := see(w, t0.Add(after), fell, 0); got != want {
			t.Errorf("after %s: %v, want %v", after, got, want)
		}
	}
	w.scanned(t0, free, tree.Usage{}, cost{time.Hour, 100 * time.Millisecond}, scan)
	for _, c := range []struct {
		after time.Duration
		names int64
		want  look
	}{
		{8 * time.Second, 0, nothing}, {31999 * time.Millisecond, 0, nothing}, {32 * time.Second, 0, scan},
		{7999 * time.Millisecond, 1, nothing}, {8 * time.Second, 0, scan},
	} {
		if got := see(w, t0.Add(c.after), free, c.names); got != c.want {
			t.Errorf("without a sign after %s with %d names: %v, want %v", c.after, w.names, got, c.want)
		}
	}
}

// A count that finds less than the quota must not leave a fast writer alone.
func TestTheFirstCountsOfACommandThatStandsStillMayFollowEachOther(t *testing.T) {
	free := Space{Bytes: limits.GiB, Inodes: 1_000_000}
	w := wire(free)
	fell := Space{Bytes: free.Bytes - 100*limits.MiB, Inodes: free.Inodes}
	for n := range 5 {
		want := frozen
		if n > 2 {
			want = nothing
		}
		if got := see(w, t0, fell, 0); got != want {
			t.Errorf("count %d: %v, want %v", n, got, want)
		}
		w.scanned(t0, free, tree.Usage{}, both(100*time.Millisecond), frozen)
		w.high = free
	}
}

func TestAFilesystemWithoutInodeCountsNeverTripsOnThem(t *testing.T) {
	w := wire(Space{Bytes: limits.GiB, Inodes: -1})
	if got := see(w, t0, Space{Bytes: limits.GiB, Inodes: -1}, 0); got != nothing {
		t.Errorf("%v", got)
	}
}
