package main_test

import (
	"sync/atomic"
	"testing"
	"time"

	"cyberagent/app/standardcode"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/result"
	"cyberagent/ports"
)

// movedClock is a wall clock that somebody sets; what nobody can set stays.
type movedClock struct {
	ports.Clock
	by *atomic.Int64
}

func (c movedClock) Now() time.Time { return c.Clock.Now().Add(time.Duration(c.by.Load())) }

// The owner's wall clock, then a rescuer's, is moved by an hour in the middle of a
// run, back and forth: the lease stays the owner's, and the command ends by itself.
func TestClock_AWallClockThatIsMovedByAnHourReapsNoLiveLease(t *testing.T) {
	t.Parallel()
	owner := mustProduct(t)
	owner.mustRun()
	rescuer := owner.another()
	var here, there atomic.Int64
	owner.StandardCode.Clock = movedClock{owner.StandardCode.Clock, &here}
	rescuer.StandardCode.Clock = movedClock{rescuer.StandardCode.Clock, &there}

	// It ends when the test has moved the clocks: the file tells it.
	in := owner.approved("import os,time; any(time.sleep(0.05) or os.path.exists('enough') for _ in iter(int, 1))")
	type end struct {
		result standardcode.Result
		err    error
	}
	ended := make(chan end, 1)
	go func() {
		r, _, err := owner.StandardCode.Execute(t.Context(), in)
		ended <- end{r, err}
	}()
	within(t, "the command runs", func() bool { return owner.starts() == 1 })
	for _, moved := range []struct{ here, there time.Duration }{
		{time.Hour, 0}, {0, time.Hour}, {-time.Hour, time.Hour}, {time.Hour, -time.Hour}, {0, 0},
	} {
		here.Store(int64(moved.here))
		there.Store(int64(moved.there))
		before := owner.StandardCode.Clock.Boot().Since
		v, err := rescuer.StandardCode.Recover(t.Context(), standardcode.RecoverInput{})
		if err != nil || len(v.Items) != 1 || v.Items[0].Outcome != standardcode.OutcomeOwned {
			owner.write("enough")
			e := <-ended
			t.Fatalf("%+v: recovered %+v, %v; it ended %+v, %v", moved, v, err, e.result, e.err)
		}
		x, err := rescuer.StandardCode.Status(t.Context(), in.Run, "")
		if err != nil || len(x) != 1 || !x[0].OwnerLives || x[0].State != lifecycle.Running {
			owner.write("enough")
			e := <-ended
			t.Fatalf("%+v: %+v, %v; it ended %+v, %v", moved, x, err, e.result, e.err)
		}
		// Through one heartbeat of the owner with each.
		within(t, "a beat", func() bool { return owner.StandardCode.Clock.Boot().Since-before > 4*time.Second })
	}
	owner.write("enough")
	e := <-ended
	if e.err != nil || e.result.Status != result.Succeeded || owner.starts() != 1 {
		t.Errorf("%+v, %v", e.result, e.err)
	}
}

// within waits until something is so.
func within(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !so(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not so: %s", what)
		}
	}
}
