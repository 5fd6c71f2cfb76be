package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	"cyberagent/cmd/cyberagent/internal/wiring"
)

func engineGroup(s *session) *cli.Command {
	return group("engine", "the container engines of this machine", engineList(s), engineCheck(s))
}

func engineList(s *session) *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "every engine, whether it is ready, and which one this configuration uses", HideHelpCommand: true,
		Description: exitStatus,
		Action: func(ctx context.Context, c *cli.Command) error {
			cfg, err := s.configured(c)
			if err != nil {
				return err
			}
			svc, stop, err := wiring.OpenEngines(ctx, cfg)
			if err != nil {
				return err
			}
			defer stop()
			v := svc.List(ctx)
			return s.answer(v, func(w io.Writer) {
				tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
				for _, e := range v.Engines {
					mark, state := " ", "ready"
					if e.Engine == v.Chosen {
						mark = "*"
					}
					if !e.Ready {
						state = e.ReasonCode
					}
					_, _ = fmt.Fprintf(tw, "%s %s\t%s\t%s\t%s\n", mark, e.Engine, state, printable(e.Version), printable(e.Endpoint))
				}
				_ = tw.Flush()
				for _, e := range v.Engines {
					if !e.Ready {
						_, _ = fmt.Fprintf(w, "\n%s: %s\n  %s\n", e.Engine, printable(e.Detail), e.Advice)
					}
				}
				_, _ = fmt.Fprintf(w, "\nengine: %s uses %s\n", v.Setting, v.Chosen)
				if v.Notice != "" {
					_, _ = fmt.Fprintf(w, "note: %s\n", printable(v.Notice))
				}
			})
		},
	}
}
