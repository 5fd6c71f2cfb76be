package drydocks

import (
	"context"
	"strings"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/run"
	"cyberagent/ports"
)

// At returns the Run whose Drydock holds a directory, given without links. It is
// not_found for one that belongs to no Drydock.
func (s *Service) At(ctx context.Context, dir string) (r run.Run, err error) {
	err = s.Ledger.Read(ctx, func(rec ports.Records) error {
		all, err := rec.ListDrydocks()
		if err != nil {
			return err
		}
		var owner id.Run
		for _, d := range all {
			if within(d, dir) {
				owner = d.Run
			}
		}
		if owner == "" {
			return fault.New(fault.NotFound, "%s is the product's own and in no Drydock", dir).At("project").
				Hint("name the source repository, or a Drydock's path as `cyberagent drydock use RUN` prints it")
		}
		r, err = rec.Run(owner)
		return err
	})
	return r, err
}

// within says whether a path without links is the Drydock's worktree or below it.
func within(d drydock.Drydock, dir string) bool {
	return d.Place.Root != "" && strings.HasPrefix(dir+"/", d.Place.Root+"/")
}
