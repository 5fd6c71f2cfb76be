package wiring

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/fx"

	"cyberagent/adapters/gitdrydock"
	"cyberagent/adapters/host"
	"cyberagent/adapters/image"
	"cyberagent/adapters/image/runner"
	"cyberagent/adapters/project"
	"cyberagent/app/fixture"
	"cyberagent/config"
	"cyberagent/domain/admission"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
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
			NewTag: image.NewTag, Repository: image.Repository(),
			Memory:  image.Memory[fixture.Made]{Path: filepath.Join(cfg.Home, memory)},
			Recipe:  func() string { return image.Recipe(runner.Runner) },
			Now:     time.Now,
			Kitchen: kitchen(cfg, e),
		}, nil
	}))
}

// kitchen makes caches for images. Its containers belong to no ledger.
func kitchen(cfg config.Config, e ports.Engine) *fixture.Kitchen {
	files := gitdrydock.New(gitdrydock.Config{Home: cfg.Home})
	return &fixture.Kitchen{
		Engine: e, Scratches: scratches{host.NewScratch(filepath.Join(cfg.Home, "ovens", string(e.Engine())))},
		Masks: files, Meter: files, IDs: host.IDs{}, Files: project.Ovens{},
	}
}

// Projects reads what an operator fetched. The go command's own module cache is
// found as that command does.
func Projects(lookup func(string) (string, bool)) ports.Projects {
	value := func(name string) string { v, _ := lookup(name); return v }
	dir := value("GOMODCACHE")
	if dir == "" {
		path := filepath.SplitList(value("GOPATH"))
		switch {
		case len(path) > 0 && path[0] != "":
			dir = filepath.Join(path[0], "pkg", "mod")
		case value("HOME") != "":
			dir = filepath.Join(value("HOME"), "go", "pkg", "mod")
		}
	}
	if !filepath.IsAbs(dir) {
		dir = ""
	}
	return project.Reader{GoModules: dir}
}

// Repository is the path by which a Run knows the repository that holds dir, or dir
// itself where there is none. Of a directory of the product's own, such as a
// Drydock, it is the directory without links, and ours is true.
func Repository(ctx context.Context, cfg config.Config, dir string) (path string, ours bool) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return dir, false
	}
	if home, err := filepath.EvalSymlinks(cfg.Home); err == nil && strings.HasPrefix(real, home+string(filepath.Separator)) {
		return real, true
	}
	if src, err := gitdrydock.New(gitdrydock.Config{Home: cfg.Home}).Inspect(ctx, dir); err == nil {
		return src.TopLevel, false
	}
	return real, false
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
