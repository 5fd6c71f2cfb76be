package conformance

import (
	"bytes"
	"context"
	"io"
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// inner is an Engine under a name that its method Engine leaves free.
type inner = Engine

// broken is an engine of which some calls were replaced.
type broken struct {
	inner

	create    func(context.Context, isolation.Spec) (ports.ContainerID, isolation.Properties, error)
	attach    func(context.Context, ports.ContainerID) (ports.Output, error)
	stdin     func(context.Context, ports.ContainerID) (io.WriteCloser, error)
	start     func(context.Context, ports.ContainerID) error
	wait      func(context.Context, ports.ContainerID) (ports.Exit, error)
	kill      func(context.Context, ports.ContainerID) error
	stop      func(context.Context, ports.ContainerID) error
	freeze    func(context.Context, ports.ContainerID) error
	remove    func(context.Context, ports.ContainerID, ports.Ownership) error
	inspect   func(context.Context, ports.ContainerID) (ports.Container, error)
	find      func(context.Context, id.Admission) ([]ports.Container, error)
	findOwned func(context.Context, id.Installation) ([]ports.Container, error)
}

// Create implements ports.Containers.
func (b *broken) Create(ctx context.Context, s isolation.Spec) (ports.ContainerID, isolation.Properties, error) {
	if b.create != nil {
		return b.create(ctx, s)
	}
	return b.inner.Create(ctx, s)
}

// Attach implements ports.Containers.
func (b *broken) Attach(ctx context.Context, c ports.ContainerID) (ports.Output, error) {
	if b.attach != nil {
		return b.attach(ctx, c)
	}
	return b.inner.Attach(ctx, c)
}

// AttachStdin implements ports.Containers.
func (b *broken) AttachStdin(ctx context.Context, c ports.ContainerID) (io.WriteCloser, error) {
	if b.stdin != nil {
		return b.stdin(ctx, c)
	}
	return b.inner.AttachStdin(ctx, c)
}

// Start implements ports.Containers.
func (b *broken) Start(ctx context.Context, c ports.ContainerID) error {
	return one(b.start, b.inner.Start)(ctx, c)
}

// Kill implements ports.Containers.
func (b *broken) Kill(ctx context.Context, c ports.ContainerID) error {
	return one(b.kill, b.inner.Kill)(ctx, c)
}

// Stop implements ports.Containers.
func (b *broken) Stop(ctx context.Context, c ports.ContainerID) error {
	return one(b.stop, b.inner.Stop)(ctx, c)
}

// Freeze implements ports.Containers.
func (b *broken) Freeze(ctx context.Context, c ports.ContainerID) error {
	return one(b.freeze, b.inner.Freeze)(ctx, c)
}

func one(mine, theirs func(context.Context, ports.ContainerID) error) func(context.Context, ports.ContainerID) error {
	if mine != nil {
		return mine
	}
	return theirs
}

// Wait implements ports.Containers.
func (b *broken) Wait(ctx context.Context, c ports.ContainerID) (ports.Exit, error) {
	if b.wait != nil {
		return b.wait(ctx, c)
	}
	return b.inner.Wait(ctx, c)
}

// Remove implements ports.Containers.
func (b *broken) Remove(ctx context.Context, c ports.ContainerID, o ports.Ownership) error {
	if b.remove != nil {
		return b.remove(ctx, c, o)
	}
	return b.inner.Remove(ctx, c, o)
}

// Inspect implements ports.Containers.
func (b *broken) Inspect(ctx context.Context, c ports.ContainerID) (ports.Container, error) {
	if b.inspect != nil {
		return b.inspect(ctx, c)
	}
	return b.inner.Inspect(ctx, c)
}

// Find implements ports.Containers.
func (b *broken) Find(ctx context.Context, a id.Admission) ([]ports.Container, error) {
	if b.find != nil {
		return b.find(ctx, a)
	}
	return b.inner.Find(ctx, a)
}

// FindOwned implements ports.Containers.
func (b *broken) FindOwned(ctx context.Context, i id.Installation) ([]ports.Container, error) {
	if b.findOwned != nil {
		return b.findOwned(ctx, i)
	}
	return b.inner.FindOwned(ctx, i)
}

// breaking makes a Wrap of a change.
func breaking(change func(e Engine, b *broken)) func(Engine) Engine {
	return func(e Engine) Engine {
		b := &broken{inner: e}
		change(e, b)
		return b
	}
}

func callSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "a repeated create fails", Breaks: "port 1", Check: "a repeated create finds the same container",
			Wrap: breaking(func(e Engine, b *broken) {
				b.create = func(ctx context.Context, s isolation.Spec) (ports.ContainerID, isolation.Properties, error) {
					if found, err := e.Find(ctx, s.Admission()); err == nil && len(found) > 0 {
						return "", isolation.Properties{}, fault.New(fault.EngineFailure, "it exists")
					}
					return e.Create(ctx, s)
				}
			}),
		},
		{
			Name: "create takes what another made", Breaks: "port 1", Check: "a container of that name with other labels is left alone",
			Wrap: breaking(func(e Engine, b *broken) { b.create = replacing(e) }),
		},
		{
			Name: "create runs again what ran", Breaks: "port 1", Check: "a create of a container that ran is refused",
			Wrap: breaking(func(e Engine, b *broken) { b.create = replacing(e) }),
		},
		{
			Name: "what was created is not found", Breaks: "port 2", Check: "a create that is cancelled leaves nothing that is not found",
			Wrap: breaking(func(_ Engine, b *broken) {
				b.findOwned = func(context.Context, id.Installation) ([]ports.Container, error) { return nil, nil }
			}),
		},
		{
			Name: "start retried", Breaks: "port 3", Check: "a container is started once, whatever is asked",
			Wrap: breaking(func(e Engine, b *broken) {
				specs := map[ports.ContainerID]isolation.Spec{}
				b.create = func(ctx context.Context, s isolation.Spec) (ports.ContainerID, isolation.Properties, error) {
					c, p, err := e.Create(ctx, s)
					specs[c] = s
					return c, p, err
				}
				b.start = func(ctx context.Context, c ports.ContainerID) error {
					err := e.Start(ctx, c)
					if k, look := e.Inspect(ctx, c); err == nil || look != nil || k.State != ports.StateExited {
						return err
					}
					again, _, err := replacing(e)(ctx, specs[c])
					if err == nil {
						err = e.Start(ctx, again)
					}
					return err
				}
			}),
		},
		{
			Name: "a failed start told as something else", Breaks: "port 3", Check: "a start that fails is start_failed, no exit and no second try",
			Wrap: breaking(func(e Engine, b *broken) {
				b.start = func(ctx context.Context, c ports.ContainerID) error { _ = e.Start(ctx, c); return nil }
			}),
		},
		{
			Name: "the first byte of the output lost", Breaks: "port 4", Check: "every byte of both streams is delivered",
			Wrap: breaking(func(e Engine, b *broken) {
				b.attach = func(ctx context.Context, c ports.ContainerID) (ports.Output, error) {
					out, err := e.Attach(ctx, c)
					if err == nil {
						rest := out.Stdout
						out.Stdout = &later{from: rest}
					}
					return out, err
				}
			}),
		},
		{
			Name: "the end of the output lost", Breaks: "port 4", Check: "every byte of both streams is delivered",
			Wrap: breaking(func(e Engine, b *broken) {
				b.attach = func(ctx context.Context, c ports.ContainerID) (ports.Output, error) {
					out, err := e.Attach(ctx, c)
					if err == nil {
						out.Stdout = io.MultiReader(io.LimitReader(out.Stdout, 4_000_000), &sink{from: out.Stdout})
					}
					return out, err
				}
			}),
		},
		{
			Name: "the streams mixed", Breaks: "port 4", Check: "the report arrives alone and is about what arrived",
			Wrap: breaking(func(e Engine, b *broken) {
				b.attach = func(ctx context.Context, c ports.ContainerID) (ports.Output, error) {
					out, err := e.Attach(ctx, c)
					out.Stderr = io.MultiReader(bytes.NewReader([]byte("note\n")), out.Stderr)
					return out, err
				}
			}),
		},
		{
			Name: "stdin that never ends", Breaks: "stdin", Check: "stdin is attached once, to a running container with a pipe",
			Wrap: breaking(func(e Engine, b *broken) {
				b.stdin = func(ctx context.Context, c ports.ContainerID) (io.WriteCloser, error) {
					w, err := e.AttachStdin(ctx, c)
					if err != nil {
						return nowhere{}, nil
					}
					return w, nil
				}
			}),
		},
		{
			Name: "Wait answers early", Breaks: "port 5", Check: "Wait does not answer for a container that has not started",
			Wrap: breaking(func(_ Engine, b *broken) {
				b.wait = func(context.Context, ports.ContainerID) (ports.Exit, error) { return ports.Exit{}, nil }
			}),
		},
		{
			Name: "Wait answers while it runs", Breaks: "port 5", Check: "Wait does not answer while the process runs",
			Wrap: breaking(func(e Engine, b *broken) {
				b.wait = func(ctx context.Context, c ports.ContainerID) (ports.Exit, error) {
					for {
						k, err := e.Inspect(ctx, c)
						if err != nil || k.State != ports.StateCreated {
							return ports.Exit{}, err
						}
						time.Sleep(10 * time.Millisecond)
					}
				}
			}),
		},
		{
			Name: "KILL by another taken for an ordinary end", Breaks: "exit", Check: "Kill ends the container and is known to be ours",
			Wrap: breaking(func(e Engine, b *broken) {
				b.wait = func(ctx context.Context, c ports.ContainerID) (ports.Exit, error) {
					x, err := e.Wait(ctx, c)
					x.Interrupted = false
					return x, err
				}
			}),
		},
		{
			Name: "Stop is KILL", Breaks: "signals", Check: "Stop reaches the runner, which ends the command and reports",
			Wrap: breaking(func(e Engine, b *broken) { b.stop = e.Kill }),
		},
		{
			Name: "Freeze does nothing", Breaks: "signals", Check: "Freeze stands still and Thaw goes on, both idempotent",
			Wrap: breaking(func(_ Engine, b *broken) {
				b.freeze = func(context.Context, ports.ContainerID) error { return nil }
			}),
		},
		{
			Name: "Remove says done and removes nothing", Breaks: "port 6", Check: "Remove proves absence, in every state, and is idempotent",
			Wrap: breaking(func(_ Engine, b *broken) {
				b.remove = func(context.Context, ports.ContainerID, ports.Ownership) error { return nil }
			}),
		},
		{
			Name: "Remove takes what another owns", Breaks: "port 6", Check: "Remove touches nothing that another owns",
			Wrap: breaking(func(e Engine, b *broken) {
				b.remove = func(ctx context.Context, c ports.ContainerID, o ports.Ownership) error {
					if k, err := e.Inspect(ctx, c); err == nil {
						o = ownerOf(k)
					}
					return e.Remove(ctx, c, o)
				}
			}),
		},
		{
			Name: "a call outlives its context", Breaks: "port 7", Check: "no call outlives its context",
			Wrap: breaking(func(e Engine, b *broken) {
				b.inspect = func(ctx context.Context, c ports.ContainerID) (ports.Container, error) {
					return e.Inspect(context.WithoutCancel(ctx), c)
				}
			}),
		},
		{
			Name: "Find overlooks what another made", Breaks: "ownership", Check: "Find finds by the name and by the label, whoever made it",
			Wrap: breaking(func(e Engine, b *broken) {
				var mine id.Installation
				b.create = func(ctx context.Context, s isolation.Spec) (ports.ContainerID, isolation.Properties, error) {
					if mine == "" {
						mine = s.Installation()
					}
					return e.Create(ctx, s)
				}
				b.find = func(ctx context.Context, a id.Admission) ([]ports.Container, error) {
					found, err := e.Find(ctx, a)
					if len(found) == 1 && ownerOf(found[0]).Installation != mine {
						found = nil
					}
					return found, err
				}
			}),
		},
		{
			Name: "FindOwned overlooks what has ended", Breaks: "ownership", Check: "FindOwned finds an installation's containers in every state, and no other's",
			Wrap: breaking(func(e Engine, b *broken) {
				b.findOwned = func(ctx context.Context, i id.Installation) ([]ports.Container, error) {
					found, err := e.FindOwned(ctx, i)
					for n, k := range found {
						if k.State == ports.StateExited {
							return append(found[:n:n], found[n+1:]...), err
						}
					}
					return found, err
				}
			}),
		},
	}
}

// replacing is a create that first removes whatever is in its way.
func replacing(e Engine) func(context.Context, isolation.Spec) (ports.ContainerID, isolation.Properties, error) {
	return func(ctx context.Context, s isolation.Spec) (ports.ContainerID, isolation.Properties, error) {
		found, err := e.Find(ctx, s.Admission())
		if err != nil {
			return "", isolation.Properties{}, err
		}
		for _, k := range found {
			if err := e.Remove(ctx, k.ID, ownerOf(k)); err != nil {
				return "", isolation.Properties{}, err
			}
		}
		return e.Create(ctx, s)
	}
}

// later is a stream without its first byte.
type later struct {
	from io.Reader
	cut  bool
}

// Read implements io.Reader.
func (l *later) Read(b []byte) (int, error) {
	if !l.cut {
		if _, err := io.ReadFull(l.from, make([]byte, 1)); err != nil {
			return 0, io.EOF
		}
		l.cut = true
	}
	return l.from.Read(b)
}

// sink reads the rest to nowhere.
type sink struct{ from io.Reader }

// Read implements io.Reader.
func (s *sink) Read([]byte) (int, error) {
	_, _ = io.Copy(io.Discard, s.from)
	return 0, io.EOF
}

// nowhere is a stdin that leads nowhere.
type nowhere struct{}

// Write implements io.Writer.
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }

// Close implements io.Closer.
func (nowhere) Close() error { return nil }
