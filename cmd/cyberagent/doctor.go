package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v3"

	"cyberagent/app/doctor"
	"cyberagent/cmd/cyberagent/internal/wiring"
)

func doctorCommand(s *session) *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "whether this machine can keep the promises, and what to do where it cannot", HideHelpCommand: true,
		Description: "Looks at the host, the storage, the ledger, the configured engine and the image.\nIt changes nothing and starts nothing. Exits 3 when something fails.",
		Action: func(ctx context.Context, c *cli.Command) error {
			cfg, err := s.configured(c)
			if err != nil {
				return err
			}
			svc, stop, err := wiring.OpenDoctor(ctx, cfg)
			if err != nil {
				return err
			}
			defer stop()
			r := svc.Examine(ctx)
			if r.Status == doctor.Failure {
				s.code = exitBlocked
			}
			return s.answer(r, func(w io.Writer) { printDoctor(w, r) })
		},
	}
}

func printDoctor(w io.Writer, r doctor.Report) {
	for _, f := range r.Findings {
		_, _ = fmt.Fprintf(w, "%-8s %-18s %s\n", f.Status, printable(f.Check), printable(f.Detail))
		if f.Remedy != "" {
			_, _ = fmt.Fprintf(w, "%27s %s\n", "->", printable(f.Remedy))
		}
	}
	_, _ = fmt.Fprintf(w, "\n%s\n", map[doctor.Status]string{
		doctor.OK:      "This machine is ready.",
		doctor.Warning: "This machine can be used; read the warnings.",
		doctor.Failure: "This machine cannot run commands yet.",
	}[r.Status])
}
