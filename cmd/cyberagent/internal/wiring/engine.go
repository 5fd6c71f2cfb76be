package wiring

import (
	"errors"

	"go.uber.org/dig"
	"go.uber.org/fx"

	"cyberagent/adapters/docker"
	"cyberagent/app/selftest"
	"cyberagent/config"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// engineModule provides the configured engine, and the one that an older
// admission names. This is the only place that knows engines by name.
func engineModule() fx.Option {
	return fx.Module("engine", fx.Provide(
		func(cfg config.Config) (*docker.Engine, error) {
			return docker.New(docker.Config{Socket: cfg.Docker.Socket})
		},
		func(cfg config.Config, d *docker.Engine) (ports.Engine, error) {
			switch cfg.Engine {
			case "docker", "auto":
				return d, nil
			}
			return nil, noAdapter(cfg.Engine)
		},
		func(d *docker.Engine) func(isolation.Engine) (ports.Engine, error) {
			return func(e isolation.Engine) (ports.Engine, error) {
				if e == isolation.Docker {
					return d, nil
				}
				return nil, noAdapter(string(e))
			}
		},
	))
}

// newDecoys makes what the selftest plants on the configured engine.
func newDecoys(cfg config.Config, e ports.Engine, ids ports.IDs) (selftest.Decoys, error) {
	if e.Engine() == isolation.Docker {
		return newDockerDecoys(cfg, e, ids)
	}
	return nil, noAdapter(string(e.Engine()))
}

func noAdapter(engine string) error {
	return fault.New(fault.Unsupported, "this build has no adapter for %s", engine).At("engine").
		Hint("set engine: docker")
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
