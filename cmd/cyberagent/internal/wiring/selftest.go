package wiring

import (
	"context"
	"time"

	"go.uber.org/fx"

	"cyberagent/adapters/host"
	"cyberagent/app/selftest"
	"cyberagent/config"
	"cyberagent/ports"
)

// Selftest is what the selftest needs beside the use cases.
type Selftest struct {
	App

	Ledger ports.Ledger
	Engine ports.Engine
	Locks  ports.OwnerLocks
	Clock  ports.Clock
	Decoys selftest.Decoys // containers
}

// OpenSelftest builds the graph for the selftest's own home.
func OpenSelftest(ctx context.Context, cfg config.Config) (Selftest, func(), error) {
	var parts Selftest
	stop, err := open(ctx, Options(cfg, nil), decoyModule(), fx.Populate(&parts.Ledger, &parts.Engine, &parts.Locks, &parts.Clock, &parts.Decoys, &parts.App))
	return parts, stop, err
}

// OpenArmed builds the graph for a process that dies at one moment. Nothing else
// arms a fail point.
func OpenArmed(ctx context.Context, cfg config.Config, point string, delay time.Duration) (App, func(), error) {
	app, stop, err := Open(ctx, cfg, nil)
	if err == nil && point != "" {
		app.StandardCode.Fail = host.NewFailPoint(point, 1, delay)
	}
	return app, stop, err
}

func decoyModule() fx.Option {
	return fx.Module("decoys", fx.Provide(newDecoys))
}
