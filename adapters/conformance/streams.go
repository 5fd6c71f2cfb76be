package conformance

import (
	"context"
	"io"
	"os"
	"time"

	"cyberagent/domain/canon"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/runnerproto"
)

func streamChecks() []Check {
	return topic("stdin and output",
		Check{Name: "every byte of both streams is delivered", Holds: "port 4", run: everyByte},
		Check{Name: "the report arrives alone and is about what arrived", Holds: "port 4", run: reportMatches},
		Check{Name: "a closed stdin is empty, whatever the host's is", Holds: "contract: stdin", run: stdinClosed},
		Check{Name: "a stdin pipe carries bytes and ends", Holds: "contract: stdin", run: stdinPipe},
		Check{Name: "stdin is attached once, to a running container with a pipe", Holds: "port: AttachStdin", run: stdinOnce},
		Check{Name: "stdin is attached to a frozen container once it goes on", Holds: "port: AttachStdin", run: stdinFrozen},
		Check{Name: "a command that reads no stdin holds up nobody", Holds: "port: AttachStdin", run: stdinUnread},
		Check{Name: "output that nobody reads does not keep a container", Holds: "port 7", Kernel: true, run: outputUnread},
		Check{Name: "an attachment that is closed ends at once", Holds: "port: Attach", run: outputClosed},
	)
}

func everyByte(c *C) {
	o := c.job("fill", "3000000", "1000000").run()
	for name, s := range map[string]struct {
		got  string
		want int
	}{"stdout": {o.stdout, 3000000}, "stderr": {o.stderr, 1000000}} {
		if len(s.got) != s.want {
			c.Errorf("%d bytes of %s, want %d", len(s.got), name, s.want)
			continue
		}
		for i := range s.want {
			if s.got[i] != byte('a'+i%26) {
				c.Errorf("%s differs at %d", name, i)
				break
			}
		}
	}
}

func reportMatches(c *C) {
	o := c.job("say", "hello").run()
	if o.stdout != "out [hello]\n" || o.stderr != "err [hello]\n" || o.report.Outcome != runnerproto.OutcomeExited || len(o.report.Streams) != 2 {
		c.Fatalf("%q %q %+v", o.stdout, o.stderr, o.report)
	}
	for i, got := range []string{o.stdout, o.stderr} {
		if s := o.report.Streams[i]; s.Bytes != int64(len(got)) || s.SHA256 != canon.SHA256([]byte(got)) {
			c.Errorf("%+v is not about %q", s, got)
		}
	}
}

func stdinClosed(c *C) {
	if o := c.job("cat").run(); o.stdout != "" || o.report.ExitCode != 0 {
		c.Errorf("%q %+v", o.stdout, o.report)
	}
}

func (c *C) pipe(args ...string) *running {
	return c.order(order{stdin: isolation.StdinPipe}, args...).begin()
}

func stdinPipe(c *C) {
	r := c.pipe("cat")
	in, err := r.AttachStdin(c.ctx, r.id)
	c.must(err)
	body := make([]byte, 300_000)
	for i := range body {
		body[i] = byte(i * 7)
	}
	go func() {
		// In two parts, with a pause: a pipe is not a file.
		if _, err := in.Write(body[:1000]); err != nil {
			c.Errorf("%v", err)
		}
		time.Sleep(50 * time.Millisecond)
		if _, err := in.Write(body[1000:]); err != nil {
			c.Errorf("%v", err)
		}
		if err := in.Close(); err != nil {
			c.Errorf("%v", err)
		}
	}()
	o := r.end()
	c.must(o.reportErr)
	if canon.SHA256([]byte(o.stdout)) != canon.SHA256(body) {
		c.Errorf("%d bytes came back, of %d", len(o.stdout), len(body))
	}
}

func stdinOnce(c *C) {
	j := c.order(order{stdin: isolation.StdinPipe}, "cat").create()
	if _, err := j.AttachStdin(c.ctx, j.id); err == nil {
		c.Errorf("attached before the start")
	}
	r := j.attach()
	r.await()
	c.must(j.Start(c.ctx, j.id))
	in, err := j.AttachStdin(c.ctx, j.id)
	c.must(err)
	_, err = j.AttachStdin(c.ctx, j.id)
	c.code(err, fault.RecoveryRequired)
	c.must(in.Close())
	r.end()
	closed := c.job("sleep", "60000").begin().ready()
	if _, err := closed.AttachStdin(c.ctx, closed.id); err == nil {
		c.Errorf("attached to a container without a pipe")
	}
}

func stdinFrozen(c *C) {
	r := c.order(order{stdin: isolation.StdinPipe}, "cat").begin()
	c.must(r.Freeze(c.ctx, r.id))
	attached := make(chan error, 1)
	go func() {
		in, err := r.AttachStdin(c.ctx, r.id)
		if err == nil {
			err = in.Close()
		}
		attached <- err
	}()
	time.Sleep(200 * time.Millisecond)
	c.must(r.Thaw(c.ctx, r.id))
	c.must(<-attached)
	r.end()
}

func stdinUnread(c *C) {
	r := c.pipe("sleep", "300").ready()
	in, err := r.AttachStdin(c.ctx, r.id)
	c.must(err)
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		for block := make([]byte, 64<<10); ; {
			if _, err := in.Write(block); err != nil {
				return // normal: nobody reads any more
			}
		}
	}()
	o := r.end()
	c.must(o.reportErr)
	c.within("Close of stdin", func() { _ = in.Close() })
	c.within("Write to stdin", func() { <-wrote })
	if o.report.ExitCode != 0 {
		c.Errorf("%+v", o.report)
	}
}

func outputUnread(c *C) {
	j := c.job("spam").create()
	out, err := j.Attach(c.ctx, j.id)
	c.must(err)
	c.must(j.Start(c.ctx, j.id))
	_, err = io.ReadFull(out.Stdout, make([]byte, 1000))
	c.must(err)
	time.Sleep(200 * time.Millisecond) // so that every buffer on the way is full
	ctx, cancel := context.WithTimeout(c.ctx, 30*time.Second)
	defer cancel()
	c.must(j.Kill(ctx, j.id))
	_, err = j.Wait(ctx, j.id)
	c.must(err)
	c.must(j.Remove(ctx, j.id, j.owner))
	c.within("Close", func() { _ = out.Close() })
	j.absent()
}

func outputClosed(c *C) {
	j := c.job("sleep", "60000").create()
	out, err := j.Attach(c.ctx, j.id)
	c.must(err)
	c.must(j.Start(c.ctx, j.id))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, out.Stdout) // with whatever error
	}()
	c.within("Close", func() { _ = out.Close() })
	c.within("a read after Close", func() { <-done })
	k, err := j.Inspect(c.ctx, j.id)
	c.must(err)
	if k.State != "running" {
		c.Errorf("%+v", k)
	}
	if _, err := os.Stat(j.root); err != nil {
		c.Errorf("%v", err)
	}
	_, err = j.Attach(c.ctx, "no-such-container")
	c.code(err, fault.NotFound)
}
