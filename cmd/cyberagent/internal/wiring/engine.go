package wiring

import (
	"context"
	"errors"
	"path/filepath"

	"go.uber.org/dig"
	"go.uber.org/fx"

	"cyberagent/adapters/containerd"
	"cyberagent/adapters/docker"
	"cyberagent/app/engines"
	"cyberagent/app/selftest"
	"cyberagent/config"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// Notice is told, in one sentence, what a person should know of a choice that was
// made for them.
type Notice func(string)

// adapters are every engine that this build knows, in the order of `auto`. This is
// the only place that knows engines by name.
type adapters struct {
	docker     *docker.Engine
	containerd *containerd.Engine
}

func newAdapters(cfg config.Config) (adapters, error) {
	d, err := docker.New(docker.Config{Socket: cfg.Docker.Socket, Named: cfg.EndpointFrom(isolation.Docker), Dir: filepath.Join(cfg.Home, "docker")})
	if err != nil {
		return adapters{}, err
	}
	c, err := containerd.New(containerd.Config{
		Address: cfg.Containerd.Address, Named: cfg.EndpointFrom(isolation.Containerd), Namespace: cfg.Containerd.Namespace,
		Runtime: cfg.Containerd.Runtime, Binary: cfg.Containerd.Binary, Dir: filepath.Join(cfg.Home, "containerd"),
	})
	return adapters{d, c}, err
}

func (a adapters) all() []ports.Engine { return []ports.Engine{a.docker, a.containerd} }

// named finds the engine that the configuration or an older admission names.
func (a adapters) named(name isolation.Engine) (engine, error) {
	switch name {
	case isolation.Docker:
		return a.docker, nil
	case isolation.Containerd:
		return a.containerd, nil
	}
	return nil, noAdapter(string(name))
}

// engine is what every adapter offers.
type engine interface {
	ports.Engine
	ports.ImageStore
}

// engineModule provides the configured engine, and the one that an older
// admission names.
func engineModule(notice Notice) fx.Option {
	return fx.Module("engine", fx.Provide(
		func(made *closers, cfg config.Config) (adapters, error) {
			a, err := newAdapters(cfg)
			if err == nil {
				made.add(a.containerd.Close)
			}
			return a, err
		},
		func(cfg config.Config, a adapters) *engines.Auto {
			return &engines.Auto{
				Judge:   engines.Judge{ImageDigest: cfg.ImageDigest, ImageFrom: cfg.ImageFrom, AllowDesktop: cfg.Docker.AllowDesktop},
				Engines: a.all(), Notice: notice,
			}
		},
		func(cfg config.Config, a adapters, auto *engines.Auto) (*engines.Ahead, error) {
			if cfg.Engine == config.Auto {
				return engines.NewAhead(auto), nil
			}
			e, err := a.named(isolation.Engine(cfg.Engine))
			return engines.NewAhead(e), err
		},
		func(e *engines.Ahead) ports.Engine { return e },
		func(a adapters) func(isolation.Engine) (ports.Engine, error) {
			return func(e isolation.Engine) (ports.Engine, error) { return a.named(e) }
		},
	))
}

// AskAhead asks the engine what it is while the rest of the graph is made, for
// verbs that need to know. The choice that `auto` makes may have something to say
// and waits its turn.
func AskAhead(ctx context.Context) Option {
	return fx.Invoke(func(made *closers, cfg config.Config, e *engines.Ahead) {
		if cfg.Engine == config.Auto {
			return
		}
		end := e.Begin(ctx)
		made.add(func() error { end(); return nil })
	})
}

// OpenEngines builds what the engine verbs need; they use no ledger.
func OpenEngines(ctx context.Context, cfg config.Config) (engines.Service, func(), error) {
	svc := engines.Service{Setting: cfg.Engine, Endpoint: func(e isolation.Engine) string {
		if e == isolation.Containerd {
			return cfg.Containerd.Address
		}
		return cfg.Docker.Socket
	}}
	var configured ports.Engine
	stop, err := open(ctx, fx.Supply(cfg), engineModule(nil), fx.NopLogger, fx.Populate(&svc.Auto, &configured))
	if cfg.Engine != config.Auto {
		svc.Configured = configured
	}
	return svc, stop, err
}

// newDecoys makes what the selftest plants on the configured engine.
func newDecoys(made *closers, cfg config.Config, e ports.Engine, ids ports.IDs) (selftest.Decoys, error) {
	switch e.Engine() {
	case isolation.Docker:
		return newDockerDecoys(cfg, e, ids)
	case isolation.Containerd:
		return newContainerdDecoys(made, cfg, ids)
	}
	return nil, noAdapter(string(e.Engine()))
}

func noAdapter(engine string) error {
	return fault.New(fault.Unsupported, "this build has no adapter for %s", engine).At("engine").
		Hint("set engine: docker, containerd or auto")
}

// cause takes the product's own error out of the container's wrapping.
func cause(err error) error {
	if err == nil {
		return nil
	}
	root := dig.RootCause(err)
	var f *fault.Error
	if errors.As(root, &f) {
		return f
	}
	return err
}
