package engines

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"cyberagent/domain/admission"
	"cyberagent/domain/isolation"
)

// counting is a fake whose Probe is counted and can be held up.
type counting struct {
	*fake
	asked atomic.Int32
	held  chan struct{} // if not nil, told that the first call waits for its end
}

func (c *counting) Probe(ctx context.Context) (admission.EngineFacts, error) {
	if n := c.asked.Add(1); n == 1 && c.held != nil {
		close(c.held)
		<-ctx.Done()
		return admission.EngineFacts{}, ctx.Err()
	}
	return c.fake.Probe(ctx)
}

func TestAhead_ServesTheFirstProbeOnly(t *testing.T) {
	e := &counting{fake: ready(isolation.Docker)}
	a := NewAhead(e)
	end := a.Begin(t.Context())
	defer end()
	for i := range 3 {
		if f, err := a.Probe(t.Context()); err != nil || f.Reachability != admission.Reachable {
			t.Fatal(f, err)
		}
		if got := int(e.asked.Load()); got != i+1 {
			t.Errorf("asked %d times after %d probes", got, i+1)
		}
	}
}

func TestAhead_AsksAnewWhatIsNoGoodAnswer(t *testing.T) {
	for name, spoil := range map[string]func(*counting){
		"an error":         func(c *counting) { c.err = errors.New("broken") },
		"it was not there": func(c *counting) { c.facts.Reachability = admission.Unreachable },
	} {
		e := &counting{fake: ready(isolation.Docker)}
		spoil(e)
		a := NewAhead(e)
		end := a.Begin(t.Context())
		<-a.done
		e.fake = ready(isolation.Docker) // it came up meanwhile
		if f, err := a.Probe(t.Context()); err != nil || f.Reachability != admission.Reachable {
			t.Errorf("%s: %v %v", name, f, err)
		}
		end()
	}
}

func TestAhead_WaitsForNoAnswerThatIsTooLate(t *testing.T) {
	e := &counting{fake: ready(isolation.Docker), held: make(chan struct{})}
	a := NewAhead(e)
	ctx, late := context.WithCancel(t.Context())
	end := a.Begin(ctx)
	<-e.held
	late() // as its life's end would
	if f, err := a.Probe(t.Context()); err != nil || f.Reachability != admission.Reachable || e.asked.Load() != 2 {
		t.Error(f, err, e.asked.Load())
	}
	end()
}

func TestAhead_NotBegunIsTheEngineItself(t *testing.T) {
	e := &counting{fake: ready(isolation.Docker)}
	a := NewAhead(e)
	if _, err := a.Probe(t.Context()); err != nil || e.asked.Load() != 1 {
		t.Error(err, e.asked.Load())
	}
}
