package wiring

import (
	"context"
	"path/filepath"

	"go.uber.org/fx"

	"cyberagent/adapters/host"
	"cyberagent/app/aside"
	"cyberagent/app/enginecheck"
	"cyberagent/config"
	"cyberagent/domain/id"
	"cyberagent/ports"
)

func engineCheckModule() fx.Option {
	return fx.Module("enginecheck", fx.Provide(
		func(cfg config.Config, l ports.Ledger, e ports.Engine, m ports.Masks, meter ports.Meter, c ports.Clock, i ports.IDs) *enginecheck.Service {
			return &enginecheck.Service{
				Engine: e, Masks: m, Meter: meter, Clock: c, IDs: i, Installation: l.Installation(),
				Scratches:   scratches{host.NewScratch(filepath.Join(cfg.Home, "checks"))},
				ImageDigest: cfg.ImageDigest, ImageFrom: cfg.ImageFrom, AllowDesktop: cfg.Docker.AllowDesktop,
			}
		},
	))
}

// scratches gives the host's workspaces the use case's words.
type scratches struct{ *host.Scratch }

// Make implements enginecheck.Scratches.
func (s scratches) Make(ctx context.Context, a id.Admission) (aside.Scratch, error) {
	root, fileID, release, err := s.Scratch.Make(ctx, a)
	return aside.Scratch{Root: root, ID: fileID, Release: release}, err
}
