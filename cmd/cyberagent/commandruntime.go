package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"cyberagent/app/jobs"
	"cyberagent/cmd/cyberagent/internal/wiring"
	"cyberagent/domain/admission"
)

// commandRuntime is the verb that answers JSON Lines.
const commandRuntime = "command-runtime"

func commandRuntimeVerb(s *session) *cli.Command {
	var gates admission.Gates
	return &cli.Command{
		Name: commandRuntime, Usage: "run a Run's commands as Jobs, for a supervising program", ArgsUsage: "RUN", HideHelpCommand: true,
		Description: `It reads requests of command-runtime.v2 on standard input, one JSON object a line,
and answers on standard output, one JSON object a line (docs/command-runtime.md).
This process owns the Jobs that it launches: at the end of the input it answers
what was asked for, then cancels those that are left. A Job whose owner died is
interrupted; nothing adopts it.

EXIT STATUS
  0 the input ended and every Job of this process   1 internal   2 usage
  3 blocked or refused   7 interrupted, and its Jobs cancelled   8 recovery required`,
		Flags: gateFlags(&gates),
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(true)
			rid, err := oneRun(c)
			if err != nil {
				return err
			}
			return s.open(ctx, func(app wiring.App) error {
				m, err := app.Jobs.Open(ctx, rid, gates)
				if err != nil {
					return err
				}
				return jobs.NewSession(m, s.in, s.out).Serve(ctx)
			})
		},
	}
}

// gateFlags are the process gates, never a setting.
func gateFlags(g *admission.Gates) []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "enable-permission-control", Usage: "process gate", Destination: &g.PermissionControl},
		&cli.BoolFlag{Name: "enable-workspace-sandbox", Usage: "process gate", Destination: &g.WorkspaceSandbox},
		&cli.BoolFlag{Name: "enable-docker-execution", Usage: "process gate", Destination: &g.DockerExecution},
	}
}
