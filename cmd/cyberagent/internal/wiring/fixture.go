package wiring

import (
	"time"

	"go.uber.org/fx"

	"cyberagent/adapters/docker"
	"cyberagent/adapters/image"
	"cyberagent/adapters/image/runner"
	"cyberagent/app/fixture"
)

func fixtureModule() fx.Option {
	return fx.Module("fixture", fx.Provide(func(d *docker.Engine) fixture.Service {
		return fixture.Service{
			Engine: d,
			NewAssembly: func() (fixture.Assembly, error) {
				return image.New(image.Config{Runner: runner.Runner})
			},
			NewTag: image.NewTag,
			Now:    time.Now,
		}
	}))
}
