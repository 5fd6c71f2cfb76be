package conformance

import (
	"sync"

	"cyberagent/domain/fault"
)

func removeChecks() []Check {
	return topic("remove",
		Check{Name: "Remove proves absence, in every state, and is idempotent", Holds: "port 6", run: removeStates},
		Check{Name: "removals at once all end well", Holds: "port 6", run: removeAtOnce},
	)
}

func removeStates(c *C) {
	fresh := c.job("exit", "0").create()
	run := c.job("sleep", "60000").begin().ready()
	paused := c.job("sleep", "60000").begin().ready()
	c.must(paused.Freeze(c.ctx, paused.id))
	over := c.job("exit", "1")
	over.run()
	for _, j := range []*job{fresh, run.job, paused.job, over} {
		for range 2 {
			c.must(c.engine.Remove(c.ctx, j.id, j.owner))
			j.absent()
			_, err := c.keeper.Inspect(c.ctx, j.id)
			c.code(err, fault.NotFound)
		}
	}
}

func removeAtOnce(c *C) {
	j := c.job("sleep", "60000").begin().ready()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := j.Remove(c.ctx, j.id, j.owner); err != nil {
				c.Errorf("%v", err)
			}
		})
	}
	wg.Wait()
	j.absent()
	found, err := c.keeper.FindOwned(c.ctx, c.inst)
	c.must(err)
	for _, k := range found {
		if k.ID == j.id {
			c.Errorf("%+v", k)
		}
	}
}
