package conformance

import (
	"context"
	"errors"
	"os"
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

func faultChecks() []Check {
	return topic("faults",
		Check{Name: "a start that fails is start_failed, no exit and no second try", Holds: "port 3", Kernel: true, run: startFails},
		Check{Name: "a create that is cancelled leaves nothing that is not found", Holds: "port 2", run: createCancelled},
		Check{Name: "a create whose answer is lost leaves one container that is found", Holds: "port 2", Kernel: true, run: createAnswerLost},
		Check{Name: "a start whose answer is lost is sent once and left open", Holds: "port 3", Kernel: true, run: startAnswerLost},
		Check{Name: "a client that is killed leaves a container that another ends and removes", Holds: "pitfalls B3, F3", Kernel: true, run: clientKilled},
	)
}

func startFails(c *C) {
	j := c.job("exit", "0").create()
	r := j.attach()
	waiting, stop := context.WithCancel(c.ctx)
	defer stop()
	waited := make(chan exited, 1)
	go func() {
		x, err := j.Wait(waiting, j.id)
		waited <- exited{x, err}
	}()
	// The Drydock becomes something that cannot be mounted on a directory.
	c.must(os.RemoveAll(j.root))
	c.must(os.WriteFile(j.root, nil, 0o600))
	c.code(j.Start(c.ctx, j.id), fault.StartFailed)
	silent(c, "Wait answered for a container that did not start", waited)
	stop()
	c.within("Wait", func() { <-waited })
	c.within("Close", func() { _ = r.out.Close() })
	k, err := c.keeper.Inspect(c.ctx, j.id)
	c.must(err)
	if k.State != ports.StateCreated || !k.StartedAt.IsZero() || k.PID != 0 {
		c.Errorf("%+v", k)
	}
	c.must(j.Remove(c.ctx, j.id, j.owner))
	j.absent()
}

func createCancelled(c *C) {
	for i := range 6 {
		j := c.job("exit", "0")
		ctx, cancel := context.WithTimeout(c.ctx, time.Duration(i*i*3)*time.Millisecond)
		c.within("Create", func() {
			id, _, err := j.Create(ctx, j.spec)
			if err != nil && fault.CodeOf(err) != fault.EngineTimeout {
				c.Errorf("%v", err)
			}
			if err == nil && id == "" {
				c.Errorf("neither an id nor an error")
			}
		})
		cancel()
		j.onlyOneRemains()
	}
}

// onlyOneRemains creates again, for the engine may still be at work, and wants
// one container that is found by its owner and removed.
func (j *job) onlyOneRemains() {
	id, p, err := j.Create(j.c.ctx, j.spec)
	j.c.must(err)
	j.id = id
	if d := isolation.Compare(j.spec, p); len(d) > 0 {
		j.c.Errorf("%+v", d)
	}
	n := 0
	found, err := j.FindOwned(j.c.ctx, j.owner.Installation)
	j.c.must(err)
	for _, k := range found {
		if k.Name == j.spec.Name() {
			n++
		}
	}
	if n != 1 {
		j.c.Errorf("%d containers of the admission are found", n)
	}
	j.sole()
	j.c.must(j.Remove(j.c.ctx, id, j.owner))
	j.absent()
}

// between makes a client behind somebody who tampers.
func (c *C) between(t Tamper) Engine {
	if c.factory.Between == nil {
		c.Fatalf("the factory has no Between: somebody who changes requests on their way (dockertest.Proxy is the one to read)")
	}
	e, closer, err := c.factory.Between(t)
	c.must(err)
	c.cleanup(func() { _ = closer.Close() })
	return e
}

func createAnswerLost(c *C) {
	j := c.order(order{engine: c.between(Tamper{LoseCreate: true})}, "exit", "0")
	id, _, err := j.Create(c.ctx, j.spec)
	if err == nil && id == "" {
		c.Errorf("neither an id nor an error")
	}
	j.Engine = c.engine
	j.onlyOneRemains()
}

func startAnswerLost(c *C) {
	starts := 0
	e := c.between(Tamper{LoseStart: true, Started: func() { starts++ }})
	j := c.order(order{engine: e}, "count").create()
	r := j.attach()
	r.await()
	err := j.Start(c.ctx, j.id)
	if err == nil || errors.Is(err, fault.StartFailed) {
		c.Errorf("%v, want an error that leaves it open", err)
	}
	r.exited()
	if starts != 1 {
		c.Errorf("%d requests to start", starts)
	}
	j.ran(1)
}
