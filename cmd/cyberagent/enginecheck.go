package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v3"

	"cyberagent/app/enginecheck"
	"cyberagent/cmd/cyberagent/internal/wiring"
	"cyberagent/domain/phrase"
)

func engineCheck(s *session) *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "prove the isolation contract on this machine: one container, read back and measured", HideHelpCommand: true,
		Description: "Makes one container of the configured image on an empty workspace, as for a command, and shows every\n" +
			"property of the contract with what the engine says and what the runner measures. Leaves nothing.\n" +
			"Exits 3 when anything differs.",
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(false)
			if err := none(c); err != nil {
				return err
			}
			return s.openNew(ctx, func(app wiring.App) error {
				r, err := app.EngineCheck.Check(ctx)
				if err != nil {
					return err
				}
				if !r.OK {
					s.code = exitBlocked
				}
				return s.answer(r, func(w io.Writer) { printEngineCheck(w, r) })
			})
		},
	}
}

func printEngineCheck(w io.Writer, r enginecheck.Report) {
	_, _ = fmt.Fprintf(w, "engine    %s %s\nimage     %s\n", r.Engine, printable(r.EngineVersion), r.ImageID)
	for _, b := range r.Blockers {
		_, _ = fmt.Fprintf(w, "blocked   %s: %s\n          -> %s\n", b.ReasonCode, printable(b.Detail), b.Advice)
	}
	if len(r.Properties) > 0 {
		_, _ = fmt.Fprintf(w, "\n%-3s %-10s %-26s %s\n", "ok", "proof", "property", "expected")
	}
	wrong := 0
	for _, p := range r.Properties {
		mark := "yes"
		if !p.OK {
			mark = "NO"
			wrong++
		}
		_, _ = fmt.Fprintf(w, "%-3s %-10s %-26s %s\n", mark, p.Proof, p.Name, cell(p.Expected))
		if !p.OK {
			_, _ = fmt.Fprintf(w, "%41s %s\n", "found", cell(p.Found))
		}
	}
	if r.MeasuredSHA256 != "" {
		_, _ = fmt.Fprintf(w, "\nmeasured  %s\nexpected  %s\n", r.MeasuredSHA256, r.ExpectedSHA256)
	}
	if r.Detail != "" {
		_, _ = fmt.Fprintf(w, "detail    %s\n", printable(r.Detail))
	}
	switch {
	case r.OK:
		_, _ = fmt.Fprintf(w, "\nAll %d properties are the contract's.\n", len(r.Properties))
	case len(r.Blockers) > 0:
		_, _ = fmt.Fprintf(w, "\nNothing was made; see what blocks it.\n")
	default:
		_, _ = fmt.Fprintf(w, "\n%s of %d: not the contract's.\n", phrase.Count(wrong, "property"), len(r.Properties))
	}
}

// cell keeps a long value to its beginning.
func cell(s string) string { return phrase.Head(printable(s), 100) }
