package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	"cyberagent/app/fixture"
	"cyberagent/cmd/cyberagent/internal/wiring"
	"cyberagent/config"
	"cyberagent/domain/isolation"
)

// fixtureListView is the answer of `fixture list`.
type fixtureListView struct {
	Protocol string           `json:"protocol_version"`
	Engine   isolation.Engine `json:"engine"`
	Images   []fixture.Built  `json:"images"`
}

// removalView is the answer of `fixture remove`.
type removalView struct {
	Protocol string           `json:"protocol_version"`
	Engine   isolation.Engine `json:"engine"`

	fixture.Removal
}

func fixtureListCommand(s *session) *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "the images that builds made and the engine has, and who needs them", HideHelpCommand: true,
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(false)
			if err := none(c); err != nil {
				return err
			}
			return s.openFixture(ctx, func(cfg config.Config, svc fixture.Service) error {
				uses, err := s.uses(ctx, cfg)
				if err != nil {
					return err
				}
				all, err := svc.List(ctx, uses)
				if err != nil {
					return err
				}
				v := fixtureListView{"fixture-list.v1", svc.Engine.Engine(), all}
				return s.answer(v, func(w io.Writer) { printBuilt(w, all) })
			})
		},
	}
}

func printBuilt(w io.Writer, all []fixture.Built) {
	if len(all) == 0 {
		_, _ = fmt.Fprintln(w, "no image of a build; make one with `cyberagent fixture build`")
		return
	}
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "IMAGE\tKIND, PACKAGES\tSIZE\tIN USE BY")
	for _, b := range all {
		uses := append([]string{}, b.Uses...)
		if len(uses) == 0 {
			uses = []string{"nobody in this home"}
		}
		for n, by := range uses {
			if n > 0 {
				_, _ = fmt.Fprintf(tw, "\t\t\t%s\n", printable(by))
				continue
			}
			_, _ = fmt.Fprintf(tw, "%s\t%s\t%d MiB\t%s\n", b.ID, kindOf(b), b.SizeBytes>>20, printable(by))
		}
	}
	_ = tw.Flush()
}

// kindOf says what an image is for; a project's by what it holds, for it does not know
// where it was built.
func kindOf(b fixture.Built) string {
	switch {
	case b.Unfinished:
		return "unfinished"
	case !b.Project:
		return "plain"
	}
	var holds []string
	for _, t := range slices.Sorted(maps.Keys(b.Packages)) {
		holds = append(holds, fmt.Sprintf("%s %d", t, b.Packages[t]))
	}
	return strings.TrimSpace("project " + strings.Join(holds, ", "))
}

func fixtureRemove(s *session) *cli.Command {
	var in fixture.RemoveInput
	return &cli.Command{
		Name: "remove", Usage: "show what removing an image that a build made would remove; with --confirm, do it", ArgsUsage: "IMAGE", HideHelpCommand: true,
		Description: `Only an image that has a tag of a build and the product's label is removed, and only
when no configured key names it and nothing that waits or runs was prepared with it.
A name that somebody else gave it keeps it.`,
		Flags: []cli.Flag{confirmFlag(&in.Confirm)},
		Action: func(ctx context.Context, c *cli.Command) (err error) {
			s.begin(false)
			if in.Digest, err = one(c, "digest"); err != nil {
				return err
			}
			return s.openFixture(ctx, func(cfg config.Config, svc fixture.Service) error {
				if in.Uses, err = s.uses(ctx, cfg); err != nil {
					return err
				}
				r, err := svc.Remove(ctx, in)
				if err != nil {
					return err
				}
				v := removalView{"fixture-removal.v1", svc.Engine.Engine(), r}
				return s.answer(v, func(w io.Writer) { printRemoval(w, r) })
			})
		},
	}
}

func printRemoval(w io.Writer, r fixture.Removal) {
	_, _ = fmt.Fprintf(w, "image       %s (%s, %d MiB)\n", r.ID, kindOf(r.Built), r.SizeBytes>>20)
	for _, t := range r.Tags {
		_, _ = fmt.Fprintf(w, "tag         %s\n", printable(t))
	}
	switch {
	case r.DryRun:
		_, _ = fmt.Fprintf(w, "digest      %s\n\nTo remove it:\n  cyberagent fixture remove %s --confirm %s\n", r.Digest, r.ID, r.Digest)
	case r.Present:
		_, _ = fmt.Fprintln(w, "status      its tags are gone; a name that somebody else gave it keeps it")
	default:
		_, _ = fmt.Fprintln(w, "status      removed")
	}
}

// uses says what needs images: the configuration, and what waits or runs in the
// ledger, where there is one.
func (s *session) uses(ctx context.Context, cfg config.Config) (all []fixture.Use, err error) {
	add := func(of map[string][]string) {
		for _, digest := range slices.Sorted(maps.Keys(of)) {
			for _, by := range of[digest] {
				all = append(all, fixture.Use{Digest: digest, By: by})
			}
		}
	}
	add(cfg.Images())
	if cfg.Begun() != nil {
		return all, nil
	}
	err = s.openAt(ctx, cfg, func(app wiring.App) error {
		of, err := app.Approvals.Images(ctx)
		add(of)
		return err
	})
	return all, err
}
