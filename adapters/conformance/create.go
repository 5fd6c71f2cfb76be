package conformance

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"cyberagent/adapters/conformance/enginetest"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

func createChecks() []Check {
	return topic("create and read-back",
		Check{Name: "what is read back is what was asked for", Holds: "contract: read-back", run: readBack},
		Check{Name: "a repeated create finds the same container", Holds: "port 1", run: createAgain},
		Check{Name: "creates at once make one container", Holds: "port 1", run: createAtOnce},
		Check{Name: "a container of that name with other labels is left alone", Holds: "port 1", run: createForeign},
		Check{Name: "a create of a container that ran is refused", Holds: "port 1", run: createAfterRun},
		Check{Name: "a source that is absent is refused and not made", Holds: "contract: mounts", Kernel: true, run: createNoSource},
	)
}

func readBack(c *C) {
	for _, stdin := range []isolation.Stdin{isolation.StdinClosed, isolation.StdinPipe} {
		j := c.order(order{stdin: stdin}, "exit", "0").clean()
		again, err := j.ReadBack(c.ctx, j.id)
		c.must(err)
		if d := isolation.Compare(j.spec, again); len(d) > 0 {
			c.Errorf("%s, read again: %+v", stdin, d)
		}
		k, err := j.Inspect(c.ctx, j.id)
		c.must(err)
		if k.ID != j.id || k.Name != j.spec.Name() || k.State != ports.StateCreated || !k.StartedAt.IsZero() || k.PID != 0 {
			c.Errorf("%+v", k)
		}
	}
}

// sole fails the check unless the admission has exactly this container.
func (j *job) sole() {
	found, err := j.c.keeper.Find(j.c.ctx, j.owner.Admission)
	j.c.must(err)
	if len(found) != 1 || found[0].ID != j.id {
		j.c.Errorf("want %s alone, found %+v", j.id, found)
	}
}

func createAgain(c *C) {
	j := c.job("exit", "0").create()
	for range 2 {
		again, p, err := j.Create(c.ctx, j.spec)
		if err != nil || again != j.id {
			c.Errorf("%s, want %s: %v", again, j.id, err)
		} else if d := isolation.Compare(j.spec, p); len(d) > 0 {
			c.Errorf("%+v", d)
		}
	}
	j.sole()
}

func createAtOnce(c *C) {
	j := c.job("exit", "0")
	ids := make([]ports.ContainerID, 4)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			var err error
			if ids[i], _, err = j.Create(c.ctx, j.spec); err != nil {
				c.Errorf("%v", err)
			}
		})
	}
	wg.Wait()
	if len(slices.Compact(slices.Clone(ids))) != 1 {
		c.Errorf("%q", ids)
	}
	j.id = ids[0]
	j.sole()
}

func createForeign(c *C) {
	theirs := c.order(order{inst: id.Installation(enginetest.NewID(id.KindInstallation))}, "exit", "0").create()
	ours := c.order(order{adm: theirs.owner.Admission}, "exit", "0")
	_, _, err := ours.Create(c.ctx, ours.spec)
	c.code(err, fault.RecoveryRequired)
	theirs.sole()
	k, err := c.keeper.Inspect(c.ctx, theirs.id)
	c.must(err)
	if k.State != ports.StateCreated || k.Labels[isolation.LabelInstallation] != string(theirs.owner.Installation) {
		c.Errorf("it was touched: %+v", k)
	}
}

func createAfterRun(c *C) {
	j := c.job("count")
	o := j.run()
	_, _, err := j.Create(c.ctx, j.spec)
	c.code(err, fault.RecoveryRequired)
	j.sole()
	j.ran(1)
	if o.report.ExitCode != 0 {
		c.Errorf("%+v", o.report)
	}
}

// ran fails the check unless the command count ran so often.
func (j *job) ran(times int) {
	b, err := os.ReadFile(j.root + "/count")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		j.c.Errorf("%v", err)
	}
	if n := len(b) / len("ran\n"); n != times {
		j.c.Errorf("the command ran %d times, want %d", n, times)
	}
}

func createNoSource(c *C) {
	j := c.job("exit", "0")
	c.must(os.RemoveAll(j.root))
	ctx, cancel := context.WithTimeout(c.ctx, time.Minute)
	defer cancel()
	created, _, err := j.Create(ctx, j.spec)
	if err == nil {
		// An engine may look only when it starts.
		j.id = created
		err = j.Start(ctx, j.id)
		c.code(err, fault.StartFailed)
	}
	if err == nil {
		c.Errorf("the container was made and started")
	}
	if _, err := os.Lstat(j.root); !errors.Is(err, os.ErrNotExist) {
		c.Errorf("the source was made: %v", err)
	}
}
