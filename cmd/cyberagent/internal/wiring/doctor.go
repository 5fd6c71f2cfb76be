package wiring

import (
	"context"

	"go.uber.org/fx"

	"cyberagent/adapters/gitdrydock"
	"cyberagent/adapters/host"
	"cyberagent/adapters/ledger"
	"cyberagent/app/doctor"
	"cyberagent/config"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// OpenDoctor builds what doctor needs. It opens no ledger.
func OpenDoctor(ctx context.Context, cfg config.Config) (*doctor.Service, func(), error) {
	var find func(isolation.Engine) (ports.Engine, error)
	stop, err := open(ctx, fx.Supply(cfg), engineModule(nil), fx.NopLogger, fx.Populate(&find))
	if err != nil {
		return nil, nil, err
	}
	at := ledger.Config{Path: cfg.Ledger.Path}
	s := &doctor.Service{
		Machine: host.Machine{}, Storage: gitdrydock.New(gitdrydock.Config{Home: cfg.Home}), Ledger: ledger.Probe{Config: at},
		Open: func(ctx context.Context) (ports.Ledger, func(), error) {
			l, err := ledger.Open(ctx, at)
			if err != nil {
				return nil, nil, err
			}
			return l, func() { _ = l.Close() }, nil
		},
		ImageDigest: cfg.ImageDigest, ImageFrom: cfg.ImageFrom, Projects: cfg.Image.Projects, AllowDesktop: cfg.Docker.AllowDesktop, Home: cfg.Home,
	}
	names := []isolation.Engine{isolation.Engine(cfg.Engine)}
	if cfg.Engine == "auto" {
		names = []isolation.Engine{isolation.Docker, isolation.Containerd}
	}
	for _, name := range names {
		e, err := find(name)
		if err != nil {
			stop()
			return nil, nil, err
		}
		s.Engines = append(s.Engines, e)
	}
	return s, stop, nil
}
