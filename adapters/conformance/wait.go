package conformance

import (
	"context"
	"time"

	"cyberagent/domain/fault"
	"cyberagent/ports"
)

func waitChecks() []Check {
	return topic("wait",
		Check{Name: "Wait does not answer for a container that has not started", Holds: "port 5", run: waitNotStarted},
		Check{Name: "Wait does not answer while the process runs", Holds: "port 5", run: waitRunning},
		Check{Name: "Wait answers after the end, too, and each time the same", Holds: "port 5", run: waitAfter},
		Check{Name: "no call outlives its context", Holds: "port 7", run: callsEnd},
	)
}

// silent fails the check when the channel has an answer within a moment.
func silent(c *C, what string, answers <-chan exited) {
	select {
	case x := <-answers:
		c.Fatalf("%s: %+v %v", what, x.exit, x.err)
	case <-time.After(400 * time.Millisecond):
	}
}

func waitNotStarted(c *C) {
	r := c.job("exit", "0").create().attach()
	r.await()
	silent(c, "Wait answered for a created container", r.exits)
	c.must(r.Start(c.ctx, r.id))
	if x := r.exited(); x != (ports.Exit{}) {
		c.Errorf("%+v", x)
	}
}

func waitRunning(c *C) {
	r := c.job("sleep", "60000").begin().ready()
	silent(c, "Wait answered for a running container", r.exits)
	k, err := c.keeper.Inspect(c.ctx, r.id)
	c.must(err)
	if k.State != ports.StateRunning || k.StartedAt.IsZero() {
		c.Errorf("%+v", k)
	}
	c.must(r.Kill(c.ctx, r.id))
	r.exited()
}

func waitAfter(c *C) {
	j := c.job("exit", "3")
	first := j.run().exit
	for range 2 {
		x, err := j.Wait(c.ctx, j.id)
		c.must(err)
		if x != first {
			c.Errorf("%+v, before %+v", x, first)
		}
	}
}

func callsEnd(c *C) {
	r := c.job("sleep", "60000").begin().ready()
	over, cancel := context.WithCancel(c.ctx)
	cancel()
	fresh := c.job("exit", "0")
	for name, call := range map[string]func() error{
		"Create":      func() error { _, _, err := c.engine.Create(over, fresh.spec); return err },
		"ReadBack":    func() error { _, err := c.engine.ReadBack(over, r.id); return err },
		"Attach":      func() error { _, err := c.engine.Attach(over, r.id); return err },
		"AttachStdin": func() error { _, err := c.engine.AttachStdin(over, r.id); return err },
		"Wait":        func() error { _, err := c.engine.Wait(over, r.id); return err },
		"Stop":        func() error { return c.engine.Stop(over, r.id) },
		"Kill":        func() error { return c.engine.Kill(over, r.id) },
		"Freeze":      func() error { return c.engine.Freeze(over, r.id) },
		"Thaw":        func() error { return c.engine.Thaw(over, r.id) },
		"Remove":      func() error { return c.engine.Remove(over, r.id, r.owner) },
		"Inspect":     func() error { _, err := c.engine.Inspect(over, r.id); return err },
		"Find":        func() error { _, err := c.engine.Find(over, r.owner.Admission); return err },
		"FindOwned":   func() error { _, err := c.engine.FindOwned(over, r.owner.Installation); return err },
	} {
		c.within(name, func() {
			if err := call(); fault.CodeOf(err) != fault.EngineTimeout {
				c.Errorf("%s: %v, want engine_timeout", name, err)
			}
		})
	}
	waiting, stop := context.WithTimeout(c.ctx, 100*time.Millisecond)
	defer stop()
	c.within("Wait", func() {
		_, err := r.Wait(waiting, r.id)
		c.code(err, fault.EngineTimeout)
	})
	k, err := c.keeper.Inspect(c.ctx, r.id)
	c.must(err)
	if k.State != ports.StateRunning {
		c.Errorf("a call whose context had ended did something: %+v", k)
	}
}
