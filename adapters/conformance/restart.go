package conformance

import (
	"context"
	"errors"
	"sync"
	"time"

	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
	"cyberagent/domain/runnerproto"
	"cyberagent/ports"
)

func restartChecks() []Check {
	return topic("faults",
		Check{Name: "an engine that is killed during a run: no end is invented, nothing is lost", Holds: "pitfalls A9, B4", Kernel: true, Alone: true, run: engineKilled},
		Check{Name: "an engine that is stopped in order during a run: likewise", Holds: "pitfalls A9, B4", Kernel: true, Alone: true, run: engineStopped},
	)
}

// private is the suite's own engine, started when the first check needs it.
type private struct {
	factory Factory
	once    sync.Once
	engine  Private
	lab     *lab
	err     error
}

func (p *private) open(ctx context.Context) (*lab, Private, error) {
	p.once.Do(func() {
		if p.factory.Private == nil {
			p.err = errors.New("the factory has no Private: an engine that may be killed (private_test.go begins one)")
			return
		}
		if p.engine, p.err = p.factory.Private(ctx); p.err != nil {
			return
		}
		f := p.factory
		f.Open = p.engine.Open
		p.lab, p.err = open(ctx, f, p.engine.Open)
	})
	return p.lab, p.engine, p.err
}

func (p *private) close() error {
	if p == nil || p.engine.Close == nil {
		return nil
	}
	var err error
	if p.lab != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err = p.lab.close(ctx)
	}
	return errors.Join(err, p.engine.Close())
}

// away takes the private engine away and brings it back.
func (c *C) away(take func(Private) func() error) {
	l, engine, err := c.private.open(c.ctx)
	c.must(err)
	for _, f := range l.try(c.ctx, func(own *C) { own.through(take(engine), engine.Start) }) {
		c.Errorf("%s", f)
	}
}

func engineKilled(c *C)  { c.away(func(p Private) func() error { return p.Kill }) }
func engineStopped(c *C) { c.away(func(p Private) func() error { return p.Stop }) }

// through runs a command across the engine's absence.
func (c *C) through(take, bring func() error) {
	fresh := c.job("exit", "0").create()
	r := c.job("sleep", "600000").begin().ready()
	c.must(take())
	_, err := c.engine.Inspect(c.ctx, r.id)
	if code := fault.CodeOf(err); code != fault.DaemonUnreachable && code != fault.EngineTimeout {
		c.Errorf("while the engine is away: %v", err)
	}
	if err := c.engine.Start(c.ctx, fresh.id); err == nil {
		c.Errorf("started without an engine")
	}
	c.must(bring())
	c.answers()

	if c.factory.Survives {
		silent(c, "Wait answered although the command runs", r.exits)
		k, err := c.engine.Inspect(c.ctx, r.id)
		c.must(err)
		if k.State != ports.StateRunning {
			c.Errorf("%+v", k)
		}
		c.must(c.engine.Stop(c.ctx, r.id))
		o := r.end()
		c.must(o.reportErr)
		if o.report.Stop != runnerproto.StopTerm || o.exit != (ports.Exit{}) {
			c.Errorf("%+v %+v", o.exit, o.report)
		}
	} else {
		if x := r.exited(); !x.Interrupted {
			c.Errorf("the end of the engine was taken for the command's: %+v", x)
		}
		c.within("the output", func() { <-r.stdout; <-r.stderr })
		k, err := c.engine.Inspect(c.ctx, r.id)
		c.must(err)
		if k.State != ports.StateExited || k.StartedAt.IsZero() {
			c.Errorf("%+v", k)
		}
	}
	k, err := c.engine.Inspect(c.ctx, fresh.id)
	c.must(err)
	if k.State != ports.StateCreated || !k.StartedAt.IsZero() {
		c.Errorf("the container that was not started: %+v", k)
	}
	for _, j := range []*job{r.job, fresh} {
		j.sole()
		c.must(j.Remove(c.ctx, j.id, j.owner))
		j.absent()
	}
}

// answers waits until the engine does.
func (c *C) answers() {
	for range 300 {
		if f, err := c.engine.Probe(c.ctx); err == nil && f.Reachability == admission.Reachable {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.Fatalf("the engine does not answer again")
}
