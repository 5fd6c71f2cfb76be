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
	return &tripwire{quota: quota, high: free, nextFull: t0.Add(time.Hour)}
}

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
		{"less than a step", stepBytes - 1, stepInodes - 1, stepNames - 1, nothing},
		{"a step of bytes", stepBytes, 0, 0, scan},
		{"a step of inodes", 0, stepInodes, 0, scan},
		{"a step of names", 0, 0, stepNames, scan},
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
	w.scanned(t0, free, tree.Usage{Bytes: 10 * limits.MiB}, 0, scan)
	if got := see(w, t0.Add(time.Millisecond), Space{free.Bytes - 6*limits.MiB - 1, free.Inodes}, 0); got != frozen {
		t.Errorf("6 MiB more after 10 MiB: %v", got)
	}
}

func TestSpaceThatOthersFreeDoesNotHideAFall(t *testing.T) {
	w := wire(Space{Bytes: limits.GiB})
	see(w, t0, Space{Bytes: 2 * limits.GiB}, 0)
	if got := see(w, t0, Space{Bytes: 2*limits.GiB - 3*limits.MiB}, 0); got != scan {
		t.Errorf("%v", got)
	}
}

func TestScansTakeABoundedPartOfTheTime(t *testing.T) {
	free := Space{Bytes: limits.GiB, Inodes: 1_000_000}
	cost := 100 * time.Millisecond
	w := wire(free)
	w.standing.spend(t0, 250*time.Millisecond)
	w.scanned(t0, free, tree.Usage{}, cost, frozen) // 50 ms more than the burst
	fell := Space{Bytes: free.Bytes - 100*limits.MiB, Inodes: free.Inodes}
	for after, want := range map[time.Duration]look{
		299 * time.Millisecond: nothing, 300 * time.Millisecond: scan, 500 * time.Millisecond: scan, 501 * time.Millisecond: frozen,
	} {
		if got := see(w, t0.Add(after), fell, 0); got != want {
			t.Errorf("after %s: %v, want %v", after, got, want)
		}
	}
	if got := see(w, t0.Add(3999*time.Millisecond), free, 0); got != nothing {
		t.Errorf("without a sign, early: %v", got)
	}
	if got := see(w, t0.Add(4*time.Second), free, 0); got != scan {
		t.Errorf("without a sign, due: %v", got)
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
		w.scanned(t0, free, tree.Usage{}, 100*time.Millisecond, frozen)
		w.high = free
	}
}

func TestAFilesystemWithoutInodeCountsNeverTripsOnThem(t *testing.T) {
	w := wire(Space{Bytes: limits.GiB, Inodes: -1})
	if got := see(w, t0, Space{Bytes: limits.GiB, Inodes: -1}, 0); got != nothing {
		t.Errorf("%v", got)
	}
}
