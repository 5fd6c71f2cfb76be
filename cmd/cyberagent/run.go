package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	"cyberagent/app/runs"
	"cyberagent/cmd/cyberagent/internal/wiring"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/phrase"
	"cyberagent/domain/run"
)

func runGroup(s *session) *cli.Command {
	return group("run", "Code Runs: create, look, grant, and their commands",
		runCreate(s), runListCommand(s), runShow(s), runEvents(s),
		runStatus(s, "pause", "accept no new command until it is resumed, and stop one that runs", run.Paused),
		runStatus(s, "resume", "accept commands again", run.Active),
		runStatus(s, "close", "end the Run for good, and a command that runs", run.Closed),
		runProfile(s), runPermission(s), sandboxGroup(s), standardCodeGroup(s))
}

func runCreate(s *session) *cli.Command {
	var in runs.CreateInput
	return &cli.Command{
		Name: "create", Usage: "begin a Run on a git repository, without any authority", ArgsUsage: "TITLE",
		HideHelpCommand: true,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "workspace", Usage: "the source repository", Destination: &in.Workspace},
			keyFlag(&in.OperationKey),
		},
		Action: func(ctx context.Context, c *cli.Command) (err error) {
			s.begin(false)
			if in.Title, err = one(c, "title"); err != nil {
				return err
			}
			if err := need(c, "workspace"); err != nil {
				return err
			}
			in.OperationKey = keyOr(in.OperationKey)
			return s.openNew(ctx, func(app wiring.App) error {
				v, err := app.Runs.Create(ctx, in)
				if err != nil {
					return err
				}
				return s.answer(v, func(w io.Writer) { printRun(w, v) })
			})
		},
	}
}

func printRun(w io.Writer, v runs.View) {
	_, _ = fmt.Fprintf(w, "run         %s\ntitle       %s\nworkspace   %s\nstatus      %s\nprofile     %s (revision %d)\npermission  %s (revision %d)\ncreated     %s\n",
		v.RunID, v.Title, v.Workspace, v.Status, v.Profile, v.ProfileRevision, v.Permission, v.PermissionRevision, utc(v.CreatedAt))
}

// runList is the answer of `run list`.
type runList struct {
	Protocol string      `json:"protocol_version"`
	Runs     []runs.View `json:"runs"`
}

func runListCommand(s *session) *cli.Command {
	most := 50
	return &cli.Command{
		Name: "list", Usage: "the newest Runs", HideHelpCommand: true,
		Flags: []cli.Flag{&cli.IntFlag{Name: "limit", Usage: "how many", Value: 50, Destination: &most, Validator: func(n int) error {
			if n < 1 || n > 10000 {
				return fault.New(fault.InvalidArgument, "%d is not 1 to 10000", n).At("limit").Hint("give 1 to 10000")
			}
			return nil
		}}},
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(false)
			if err := none(c); err != nil {
				return err
			}
			return s.open(ctx, func(app wiring.App) error {
				all, err := app.Runs.List(ctx, most)
				if err != nil {
					return err
				}
				v := runList{"code-run-list.v1", all}
				return s.answer(v, func(w io.Writer) {
					if len(all) == 0 {
						_, _ = fmt.Fprintln(w, "no Run yet; begin one with `cyberagent run create TITLE --workspace DIR`")
						return
					}
					tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
					_, _ = fmt.Fprintln(tw, "RUN\tSTATUS\tPROFILE\tPERMISSION\tCREATED\tTITLE")
					for _, r := range all {
						_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", r.RunID, r.Status, r.Profile, r.Permission, utc(r.CreatedAt), r.Title)
					}
					_ = tw.Flush()
				})
			})
		},
	}
}

func runShow(s *session) *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "one Run", ArgsUsage: "RUN", HideHelpCommand: true,
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.onRun(ctx, c, func(app wiring.App, rid id.Run) error {
				v, err := app.Runs.Show(ctx, rid)
				if err != nil {
					return err
				}
				return s.answer(v, func(w io.Writer) { printRun(w, v) })
			})
		},
	}
}

// runHistory is the answer of `run events`.
type runHistory struct {
	Protocol string    `json:"protocol_version"`
	RunID    id.Run    `json:"run_id"`
	Events   []runLine `json:"events"`
}

type runLine struct {
	At      string            `json:"at"`
	Kind    string            `json:"kind"`
	Subject string            `json:"subject"`
	Detail  map[string]string `json:"detail"`
}

func runEvents(s *session) *cli.Command {
	return &cli.Command{
		Name: "events", Usage: "the Run's history", ArgsUsage: "RUN", HideHelpCommand: true,
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.onRun(ctx, c, func(app wiring.App, rid id.Run) error {
				events, err := app.Runs.History(ctx, rid)
				if err != nil {
					return err
				}
				v := runHistory{"code-run-events.v1", rid, []runLine{}}
				for _, e := range events {
					d := map[string]string{}
					maps.Copy(d, e.Detail)
					v.Events = append(v.Events, runLine{e.At.UTC().Format("2006-01-02T15:04:05.000000Z"), e.Kind, e.Subject, d})
				}
				return s.answer(v, func(w io.Writer) {
					tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
					for _, e := range v.Events {
						_, _ = fmt.Fprintf(tw, "%s\t%s\t%s", e.At, e.Kind, e.Subject)
						for _, k := range slices.Sorted(maps.Keys(e.Detail)) {
							_, _ = fmt.Fprintf(tw, "\t%s=%s", k, e.Detail[k])
						}
						_, _ = fmt.Fprintln(tw)
					}
					_ = tw.Flush()
				})
			})
		},
	}
}

// onRun is the frame of a verb about one Run that answers text by default.
func (s *session) onRun(ctx context.Context, c *cli.Command, do func(wiring.App, id.Run) error) error {
	s.begin(false)
	rid, err := oneRun(c)
	if err != nil {
		return err
	}
	return s.open(ctx, func(app wiring.App) error { return do(app, rid) })
}

func runStatus(s *session, name, use string, to run.Status) *cli.Command {
	var key string
	return &cli.Command{
		Name: name, Usage: use, ArgsUsage: "RUN", HideHelpCommand: true, Flags: []cli.Flag{keyFlag(&key)},
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.onRun(ctx, c, func(app wiring.App, rid id.Run) error {
				v, err := app.Runs.SetStatus(ctx, rid, to, keyOr(key))
				if err != nil {
					return err
				}
				return s.answer(v, func(w io.Writer) { printRun(w, v) })
			})
		},
	}
}

// runWord is the frame of a verb that takes a Run and one word.
func runWord(s *session, name, use, what, words string, set func(context.Context, wiring.App, id.Run, string, string) (runs.View, error)) *cli.Command {
	var key string
	return &cli.Command{
		Name: name, Usage: use, ArgsUsage: "RUN " + what, HideHelpCommand: true, Description: words, Flags: []cli.Flag{keyFlag(&key)},
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(false)
			if c.Args().Len() != 2 {
				return fault.New(fault.InvalidArgument, "%s, want a Run and %s", phrase.Count(c.Args().Len(), "argument"), what).At(name).
					Hint("see `%s --help`", c.FullName())
			}
			rid, err := id.ParseRun("run", c.Args().First())
			if err != nil {
				return err
			}
			return s.open(ctx, func(app wiring.App) error {
				v, err := set(ctx, app, rid, c.Args().Get(1), keyOr(key))
				if err != nil {
					return err
				}
				return s.answer(v, func(w io.Writer) { printRun(w, v) })
			})
		},
	}
}

const again = `
Another value ends every approval that was given before; the same value changes nothing.`

const profileWords = `PROFILE is one of
  none    no command runs (every new Run)
  docker  in the fixed container of the configured engine
  local   on the host: a known word that is always refused
` + again

const permissionWords = `PERMISSION is one of
  read_only         no command runs (every new Run)
  workspace_access  approved commands run in the container and may change the Drydock
  approval, full_access, debug
                    known words; no command runs with them either
` + again

func runProfile(s *session) *cli.Command {
	return runWord(s, "profile", "select where commands may execute: none or docker", "PROFILE", profileWords,
		func(ctx context.Context, app wiring.App, rid id.Run, word, key string) (runs.View, error) {
			p, err := run.ParseProfile(word)
			if err != nil {
				return runs.View{}, err
			}
			return app.Runs.SetProfile(ctx, rid, p, key)
		})
}

func runPermission(s *session) *cli.Command {
	return runWord(s, "permission", "grant what commands may do; containers need workspace_access", "PERMISSION", permissionWords,
		func(ctx context.Context, app wiring.App, rid id.Run, word, key string) (runs.View, error) {
			p, err := run.ParsePermission(word)
			if err != nil {
				return runs.View{}, err
			}
			return app.Runs.SetPermission(ctx, rid, p, key)
		})
}
