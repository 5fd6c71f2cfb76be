//go:build linux

package supervise

import (
	"testing"
	"time"

	"cyberagent/domain/limits"
)

func TestWhatStandsStillIsLookedAtLessOftenUntilItMoves(t *testing.T) {
	free := Space{Bytes: limits.GiB, Inodes: 1000}
	p, err := newPace(free)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for _, c := range []struct {
		why           string
		bytes, inodes int64 // that fell
		names         int64
		calm          bool
		want          time.Duration
	}{
		{"nothing", 0, 0, 0, false, slowTick},
		{"nothing", 0, 0, 0, false, slowTick},
		{"nothing", 0, 0, 0, true, slowTick},
		{"bytes", movingBytes, 0, 0, false, tick},
		{"a few bytes", movingBytes - 1, 0, 0, false, slowTick},
		{"inodes", 0, movingInodes, 0, false, tick},
		{"space that comes back", -limits.MiB, -5, 0, false, slowTick},
		{"a name", 0, 0, 1, false, tick},
		{"a name, far from the quota", 0, 0, 1, true, slowTick},
	} {
		free.Bytes -= c.bytes
		free.Inodes -= c.inodes
		if p.saw(free, c.names, c.calm); p.wait != c.want {
			t.Errorf("after %s the next look comes in %s, want %s", c.why, p.wait, c.want)
		}
	}
}

func TestAWaitEndsWhenItsEndIsCalledBeforeOrMeanwhile(t *testing.T) {
	p, err := newPace(Space{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if p.sleep() {
		t.Error("a wait that nobody ended says that it was ended")
	}
	p.wait = time.Hour
	time.AfterFunc(10*time.Millisecond, p.end)
	for !p.sleep() { // the runtime's signals make a wait short
	}
	if !p.sleep() {
		t.Error("a later wait does not know")
	}
}
