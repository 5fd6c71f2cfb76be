package conformance

import (
	"context"

	"cyberagent/domain/fault"
	"cyberagent/domain/runnerproto"
	"cyberagent/ports"
)

func exitChecks() []Check {
	return topic("exit and signals",
		Check{Name: "a command's exit code is in the report and the runner's own is 0", Holds: "contract: result", run: exitCodes},
		Check{Name: "a command ended by a signal is told from one that exited", Holds: "contract: result", Kernel: true, run: signaled},
		Check{Name: "a container is started once, whatever is asked", Holds: "port 3", run: startOnce},
		Check{Name: "Stop reaches the runner, which ends the command and reports", Holds: "port: Stop", run: stopped},
		Check{Name: "Kill ends the container and is known to be ours", Holds: "port: Kill", run: killed},
		Check{Name: "Freeze stands still and Thaw goes on, both idempotent", Holds: "port: Freeze", run: frozen},
		Check{Name: "signals to what does not run are nil, to what is not there not_found", Holds: "port: Stop", run: signalsIdle},
	)
}

func exitCodes(c *C) {
	for _, code := range []string{"0", "7", "137"} {
		j := c.job("exit", code)
		o := j.run()
		if o.report.Outcome != runnerproto.OutcomeExited || o.exit != (ports.Exit{}) {
			c.Errorf("%s: %s, %+v", code, o.report.Outcome, o.exit)
		}
		if want := map[string]int{"0": 0, "7": 7, "137": 137}[code]; o.report.ExitCode != want {
			c.Errorf("%d, want %d", o.report.ExitCode, want)
		}
		k, err := j.Inspect(c.ctx, j.id)
		c.must(err)
		if k.State != ports.StateExited || k.StartedAt.IsZero() || k.FinishedAt.Before(k.StartedAt) || k.PID != 0 || k.OOMKilled {
			c.Errorf("%+v", k)
		}
	}
}

func signaled(c *C) {
	o := c.job("die", "9").run()
	if o.report.Outcome != runnerproto.OutcomeSignaled || o.report.Signal != "SIGKILL" || o.exit.OOMKilled || o.report.Events.OOMKills > 0 {
		c.Errorf("%+v, %+v", o.report, o.exit)
	}
}

func startOnce(c *C) {
	j := c.job("count", "300")
	r := j.begin()
	c.code(j.Start(c.ctx, j.id), fault.RecoveryRequired)
	r.end()
	c.code(j.Start(c.ctx, j.id), fault.RecoveryRequired)
	j.ran(1)
	j.sole()
	k, err := c.keeper.Inspect(c.ctx, j.id)
	c.must(err)
	if k.State != ports.StateExited {
		c.Errorf("%+v", k)
	}
	c.code(j.Start(c.ctx, "no-such-container"), fault.NotFound)
}

func stopped(c *C) {
	r := c.job("sleep", "60000").begin().ready()
	c.must(r.Stop(c.ctx, r.id))
	o := r.end()
	c.must(o.reportErr)
	if o.report.Stop != runnerproto.StopTerm || o.report.ExitCode != 15 || o.exit != (ports.Exit{}) {
		c.Errorf("%q %d, %+v", o.report.Stop, o.report.ExitCode, o.exit)
	}
}

func killed(c *C) {
	r := c.job("sleep", "60000").begin().ready()
	// For a moment the process has ended and the engine is still to see it.
	for range 5 {
		c.must(r.Kill(c.ctx, r.id))
		c.must(r.Stop(c.ctx, r.id))
	}
	if x := r.exited(); x.Interrupted || x.OOMKilled || x.Code != 137 {
		c.Errorf("%+v", x)
	}
	// Whoever did not send it must not take it for an ordinary end.
	other := c.job("sleep", "60000").begin().ready()
	stranger, err := c.factory.Open()
	c.must(err)
	c.must(stranger.Kill(c.ctx, other.id))
	if x := other.exited(); !x.Interrupted {
		c.Errorf("killed by another: %+v", x)
	}
}

func frozen(c *C) {
	r := c.job("sleep", "60000").begin().ready()
	for range 2 {
		c.must(r.Freeze(c.ctx, r.id))
	}
	k, err := r.Inspect(c.ctx, r.id)
	c.must(err)
	if k.State != ports.StatePaused {
		c.Errorf("frozen: %+v", k)
	}
	for range 2 {
		c.must(r.Thaw(c.ctx, r.id))
	}
	k, err = r.Inspect(c.ctx, r.id)
	c.must(err)
	if k.State != ports.StateRunning {
		c.Errorf("thawed: %+v", k)
	}
	c.must(r.Freeze(c.ctx, r.id))
	c.must(r.Kill(c.ctx, r.id)) // also what is frozen
	if x := r.exited(); x.Interrupted {
		c.Errorf("%+v", x)
	}
}

func signalsIdle(c *C) {
	signals := func(e Engine) []func(context.Context, ports.ContainerID) error {
		return []func(context.Context, ports.ContainerID) error{e.Stop, e.Kill, e.Freeze, e.Thaw}
	}
	fresh := c.job("exit", "0").create()
	over := c.job("exit", "0")
	over.run()
	for _, j := range []*job{fresh, over} {
		for i, send := range signals(j.Engine) {
			if err := send(c.ctx, j.id); err != nil {
				c.Errorf("signal %d: %v", i, err)
			}
		}
	}
	for _, id := range []ports.ContainerID{"", "no-such-container"} {
		for _, send := range signals(c.engine) {
			c.code(send(c.ctx, id), fault.NotFound)
		}
		_, err := c.engine.Wait(c.ctx, id)
		c.code(err, fault.NotFound)
		_, err = c.engine.ReadBack(c.ctx, id)
		c.code(err, fault.NotFound)
		_, err = c.engine.Inspect(c.ctx, id)
		c.code(err, fault.NotFound)
		_, err = c.engine.AttachStdin(c.ctx, id)
		c.code(err, fault.NotFound)
	}
}
