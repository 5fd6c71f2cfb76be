package wiring

import (
	"context"
	"path/filepath"
	"time"

	"go.uber.org/fx"

	"cyberagent/adapters/image"
	"cyberagent/adapters/image/runner"
	"cyberagent/app/fixture"
	"cyberagent/config"
	"cyberagent/domain/admission"
	"cyberagent/domain/isolation"
)

func fixtureModule() fx.Option {
	return fx.Module("fixture", fx.Provide(func(ctx context.Context, cfg config.Config, a adapters) (fixture.Service, error) {
		e, err := fixtureEngine(ctx, cfg, a)
		if err != nil {
			return fixture.Service{}, err
		}
		memory := "fixture.json"
		if e.Engine() != isolation.Docker {
			memory = "fixture-" + string(e.Engine()) + ".json" // the tag is the engine's
		}
		return fixture.Service{
			Engine: e,
			NewAssembly: func() (fixture.Assembly, error) {
				return image.New(image.Config{Runner: runner.Runner})
			},
			NewTag: image.NewTag,
			Memory: image.Memory[fixture.Made]{Path: filepath.Join(cfg.Home, memory)},
			Recipe: func() string { return image.Recipe(runner.Runner) },
			Now:    time.Now,
		}, nil
	}))
}

func fixtureEngine(ctx context.Context, cfg config.Config, a adapters) (engine, error) {
	if cfg.Engine != config.Auto {
		return a.named(isolation.Engine(cfg.Engine))
	}
	if f, err := a.docker.Probe(ctx); err == nil && f.Reachability == admission.Reachable {
		return a.docker, nil
	}
	if f, err := a.containerd.Probe(ctx); err == nil && f.Reachability == admission.Reachable {
		return a.containerd, nil
	}
	return a.docker, nil
}
