package wiring

import (
	"path/filepath"
	"time"

	"go.uber.org/fx"

	"cyberagent/adapters/docker"
	"cyberagent/adapters/image"
	"cyberagent/adapters/image/runner"
	"cyberagent/app/fixture"
	"cyberagent/config"
)

func fixtureModule() fx.Option {
	return fx.Module("fixture", fx.Provide(func(cfg config.Config, d *docker.Engine) fixture.Service {
		return fixture.Service{
			Engine: d,
			NewAssembly: func() (fixture.Assembly, error) {
				return image.New(image.Config{Runner: runner.Runner})
			},
			NewTag: image.NewTag,
			Memory: image.Memory[fixture.Made]{Path: filepath.Join(cfg.Home, "fixture.json")},
			Recipe: func() string { return image.Recipe(runner.Runner) },
			Now:    time.Now,
		}
	}))
}
