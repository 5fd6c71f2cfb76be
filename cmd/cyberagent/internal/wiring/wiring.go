// Package wiring is the composition root: which adapter stands behind which
// port. The engine is chosen in engine.go and nowhere else.
package wiring

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"go.uber.org/fx"

	"cyberagent/adapters/gitdrydock"
	"cyberagent/adapters/host"
	"cyberagent/adapters/ledger"
	"cyberagent/app/approvals"
	"cyberagent/app/drydocks"
	"cyberagent/app/enginecheck"
	"cyberagent/app/fixture"
	"cyberagent/app/jobs"
	"cyberagent/app/pruning"
	"cyberagent/app/runs"
	"cyberagent/app/standardcode"
	"cyberagent/config"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/internal/cleantext"
	"cyberagent/ports"
)

// App is what the command line talks to.
type App struct {
	fx.In

	Runs         *runs.Service
	Drydocks     *drydocks.Service
	Approvals    *approvals.Service
	StandardCode *standardcode.Service
	EngineCheck  *enginecheck.Service
	Jobs         *jobs.Service
	Pruning      *pruning.Service
}

// Option changes how the graph is made.
type Option = fx.Option

// Options returns the whole graph for one configuration. notice may be nil.
func Options(cfg config.Config, notice Notice) fx.Option {
	return fx.Options(
		fx.Supply(cfg),
		hostModule(),
		ledgerModule(),
		drydockModule(),
		engineModule(notice),
		appModule(),
		engineCheckModule(),
		fx.NopLogger,
	)
}

// Open builds and starts the graph, with more options before anything is made. The
// returned function stops it.
func Open(ctx context.Context, cfg config.Config, notice Notice, more ...Option) (App, func(), error) {
	var app App
	stop, err := open(ctx, Options(cfg, notice), fx.Options(more...), fx.Populate(&app))
	return app, stop, err
}

func open(ctx context.Context, opts ...fx.Option) (func(), error) {
	made := &closers{}
	x := fx.New(append(opts, fx.Supply(made))...)
	if err := x.Err(); err != nil {
		made.close()
		return nil, cause(err)
	}
	if err := x.Start(ctx); err != nil {
		made.close()
		return nil, cause(err)
	}
	return func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = x.Stop(stop)
		made.close()
	}, nil
}

// closers close what constructors opened. A lifecycle hook would not: it runs
// only for a graph that was built whole and started.
type closers struct{ all []func() error }

func (c *closers) add(f func() error) { c.all = append(c.all, f) }

func (c *closers) close() {
	for _, f := range slices.Backward(c.all) {
		_ = f()
	}
	c.all = nil
}

// OpenFixture builds what the fixture verbs need; they use no ledger. The engine
// is the configured one, and for `auto` the first that answers: the image may be
// what it is not ready for.
func OpenFixture(ctx context.Context, cfg config.Config) (fixture.Service, func(), error) {
	var svc fixture.Service
	stop, err := open(ctx, fx.Supply(cfg), fx.Supply(fx.Annotate(ctx, fx.As(new(context.Context)))), engineModule(nil), fixtureModule(), fx.NopLogger, fx.Populate(&svc))
	return svc, stop, err
}

func hostModule() fx.Option {
	return fx.Module("host", fx.Provide(
		func() ports.Clock { return host.Clock{} },
		func() ports.IDs { return host.IDs{} },
		func(cfg config.Config) ports.OwnerLocks { return host.NewLocks(filepath.Join(cfg.Home, "owners")) },
	))
}

func ledgerModule() fx.Option {
	return fx.Module("ledger", fx.Provide(
		func(made *closers, cfg config.Config) (*ledger.Ledger, error) {
			l, err := ledger.Open(context.Background(), ledger.Config{Path: cfg.Ledger.Path})
			if err != nil {
				return nil, fault.From(err).With("ledger.path", cfg.Ledger.Path+", from "+cfg.Whence("ledger.path"))
			}
			made.add(l.Close)
			return l, nil
		},
		func(l *ledger.Ledger) ports.Ledger { return l },
		func(l *ledger.Ledger) ports.Retention { return l },
	))
}

func drydockModule() fx.Option {
	return fx.Module("drydock", fx.Provide(
		func(cfg config.Config) *gitdrydock.Drydocks {
			return gitdrydock.New(gitdrydock.Config{Home: cfg.Home})
		},
		func(d *gitdrydock.Drydocks) ports.Sources { return d },
		func(d *gitdrydock.Drydocks) ports.Worktrees { return d },
		func(d *gitdrydock.Drydocks) ports.Rewinds { return d },
		func(d *gitdrydock.Drydocks) ports.Deliveries { return d },
		func(d *gitdrydock.Drydocks) ports.Remnants { return d },
		func(d *gitdrydock.Drydocks) ports.Masks { return d },
		func(d *gitdrydock.Drydocks) ports.Meter { return d },
	))
}

func appModule() fx.Option {
	return fx.Module("app", fx.Provide(
		func(l ports.Ledger, s ports.Sources, c ports.Clock, i ports.IDs) *runs.Service {
			return &runs.Service{Ledger: l, Sources: s, Clock: c, IDs: i}
		},
		func(l ports.Ledger, s ports.Sources, w ports.Worktrees, r ports.Rewinds, d ports.Deliveries, m ports.Remnants,
			sc *standardcode.Service, c ports.Clock, i ports.IDs,
		) *drydocks.Service {
			return &drydocks.Service{
				Ledger: l, Sources: s, Worktrees: w, Rewinds: r, Deliveries: d, Remnants: m,
				Repairs: standardcode.Repairs{Service: sc}, Clock: c, IDs: i,
			}
		},
		func(l ports.Ledger, r ports.Retention, o ports.OwnerLocks, c ports.Clock) *pruning.Service {
			return &pruning.Service{Ledger: l, Retention: r, Locks: o, Clock: c}
		},
		func(l ports.Ledger, w ports.Worktrees, c ports.Clock) *approvals.Service {
			return &approvals.Service{Ledger: l, Worktrees: w, Clock: c}
		},
		func(sc *standardcode.Service, l ports.Ledger, c ports.Clock, i ports.IDs, o ports.OwnerLocks) *jobs.Service {
			return &jobs.Service{
				Commands: sc, Ledger: l, Clock: c, IDs: i, Locks: o, Cleaner: func() jobs.Cleaner { return new(cleantext.Cleaner) },
			}
		},
		func(cfg config.Config, l ports.Ledger, e ports.Engine, find func(isolation.Engine) (ports.Engine, error),
			w ports.Worktrees, m ports.Masks, meter ports.Meter, c ports.Clock, i ports.IDs, o ports.OwnerLocks,
		) *standardcode.Service {
			return &standardcode.Service{
				Ledger: l, Engine: e, EngineFor: find, Worktrees: w, Masks: m, Meter: meter, Clock: c, IDs: i, Locks: o,
				Settings: standardcode.Settings{ImageDigest: cfg.ProjectDigest, ImageFrom: cfg.ImageFrom, AllowDesktop: cfg.Docker.AllowDesktop},
			}
		},
	))
}
