package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v3"

	"cyberagent/app/drydocks"
	"cyberagent/cmd/cyberagent/internal/wiring"
	"cyberagent/domain/id"
	"cyberagent/domain/phrase"
)

func confirmFlag(dst *string) cli.Flag {
	return &cli.StringFlag{Name: "confirm", Usage: "the digest that the preview showed", Destination: dst}
}

func drydockRewind(s *session) *cli.Command {
	var checkpoint string
	var in drydocks.RewindInput
	return &cli.Command{
		Name: "rewind", Usage: "show what going back to a Checkpoint would change; with --confirm, do it", ArgsUsage: "RUN", HideHelpCommand: true,
		Description: `The preview compares three sides: the current Checkpoint, the files as they are, and
the target. What no Checkpoint has is recorded as one before a file is replaced.
The result is a new Checkpoint: nothing is ever lost from the log.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "checkpoint", Usage: "where to go back to", Destination: &checkpoint},
			confirmFlag(&in.Confirm), keyFlag(&in.OperationKey),
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(false)
			if err := need(c, "checkpoint"); err != nil {
				return err
			}
			var err error
			if in.Target, err = id.ParseCheckpoint("checkpoint", checkpoint); err != nil {
				return err
			}
			return s.rewind(ctx, c, in, " --checkpoint "+checkpoint)
		},
	}
}

func drydockUndo(s *session) *cli.Command {
	in := drydocks.RewindInput{Undo: true}
	return &cli.Command{
		Name: "undo", Usage: "rewind to the Checkpoint before the current one; a second undo takes the first one back", ArgsUsage: "RUN", HideHelpCommand: true,
		Flags: []cli.Flag{confirmFlag(&in.Confirm), keyFlag(&in.OperationKey)},
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.rewind(ctx, c, in, "")
		},
	}
}

// rewind answers the preview, or what was done.
func (s *session) rewind(ctx context.Context, c *cli.Command, in drydocks.RewindInput, target string) error {
	return s.onRun(ctx, c, func(app wiring.App, rid id.Run) error {
		in.Run = rid
		if in.Confirm == "" {
			v, err := app.Drydocks.Plan(ctx, in)
			if err != nil {
				return err
			}
			return s.answer(v, func(w io.Writer) { printPlan(w, v, c.Name, target) })
		}
		in.Unkeyed = in.OperationKey == ""
		in.OperationKey = keyOr(in.OperationKey)
		v, err := app.Drydocks.Rewind(ctx, in)
		if err != nil {
			return err
		}
		return s.answer(v, func(w io.Writer) {
			if v.Saved != "" {
				_, _ = fmt.Fprintf(w, "recorded    %s (what was not recorded before)\n", v.Saved)
			}
			_, _ = fmt.Fprintf(w, "checkpoint  %s\ngeneration  %d\nfiles of    %s\nchanged     %s\n", v.Checkpoint.ID, v.Checkpoint.Generation, v.Target, counts(v.Checkpoint.Changed))
		})
	})
}

func printPlan(w io.Writer, v drydocks.PlanView, verb, target string) {
	_, _ = fmt.Fprintf(w, "from        %s\nto          %s\nchanges     %s\n", v.Current, v.Target, counts(v.Counts))
	for _, c := range v.Changes {
		note := ""
		if c.Unrecorded {
			note = " (what is there is not recorded yet)"
		}
		_, _ = fmt.Fprintf(w, "            %-8s %s%s\n", c.Kind, printable(c.Path), note)
	}
	if more := v.Counts.Total() - int64(len(v.Changes)); more > 0 {
		_, _ = fmt.Fprintf(w, "            and %d more\n", more)
	}
	if v.Index {
		_, _ = fmt.Fprintln(w, "index       the raw git index is put back, too")
	}
	switch {
	case v.Interrupted:
		_, _ = fmt.Fprintln(w, "NOTE        a rewind was cut off: the files are not recorded before they are replaced")
	case v.Unrecorded > 0:
		_, _ = fmt.Fprintf(w, "unrecorded  %s, recorded as a Checkpoint first\n", phrase.Count(v.Unrecorded, "path"))
	}
	for _, b := range v.Blocked {
		_, _ = fmt.Fprintf(w, "BLOCKED     %s (%s) stands in the way\n", printable(b.Path), b.Reason)
	}
	_, _ = fmt.Fprintf(w, "digest      %s\n\n", v.Digest)
	again := fmt.Sprintf("cyberagent drydock %s %s%s", verb, v.RunID, target)
	if len(v.Blocked) > 0 {
		_, _ = fmt.Fprintf(w, "It cannot be done like this. Move what is BLOCKED out of the Drydock, then look again:\n  %s\n", again)
		return
	}
	_, _ = fmt.Fprintf(w, "To do it:\n  %s --confirm %s\n", again, v.Digest)
}

func drydockFork(s *session) *cli.Command {
	var checkpoint string
	var in drydocks.ForkInput
	return &cli.Command{
		Name: "fork", Usage: "make a new Run, without any authority, from a Checkpoint", ArgsUsage: "RUN", HideHelpCommand: true,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "checkpoint", Usage: "the current one when not given", Destination: &checkpoint},
			&cli.StringFlag{Name: "title", Usage: "of the new Run", Destination: &in.Title},
			&cli.DurationFlag{Name: "life", Usage: "how long it is kept, at most 720h", DefaultText: "168h", Destination: &in.Life},
			keyFlag(&in.OperationKey),
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.onRun(ctx, c, func(app wiring.App, rid id.Run) (err error) {
				if checkpoint != "" {
					if in.Checkpoint, err = id.ParseCheckpoint("checkpoint", checkpoint); err != nil {
						return err
					}
				}
				if c.IsSet("life") {
					if err := drydocks.CheckLife(in.Life); err != nil {
						return err
					}
				}
				if err := s.drydockLife(&in.Life); err != nil {
					return err
				}
				in.Run, in.OperationKey = rid, keyOr(in.OperationKey)
				v, err := app.Drydocks.Fork(ctx, in)
				if err != nil {
					return err
				}
				return s.answer(v, func(w io.Writer) {
					_, _ = fmt.Fprintf(w, "run         %s\ntitle       %s\nprofile     %s\npermission  %s\nforked from %s\n", v.RunID, printable(v.Title), v.Profile, v.Permission, v.From)
					printDrydock(w, v.Drydock)
				})
			})
		},
	}
}

func drydockDeliver(s *session) *cli.Command {
	var out string
	var in drydocks.DeliverInput
	return &cli.Command{
		Name: "deliver", Usage: "hand out the current Checkpoint as a proven patch against the base commit", ArgsUsage: "RUN", HideHelpCommand: true,
		Description: `The patch was applied to the base commit in a scratch index and gave exactly the
Checkpoint's files. Nothing is merged or pushed, and the source is not touched.
The copy has its name only when it is whole and on the disk. A call that was cut off
is repeated with the same operation key: it takes what is there if that is the patch.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "a new file for a copy of the patch", Destination: &out},
			keyFlag(&in.OperationKey),
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.onRun(ctx, c, func(app wiring.App, rid id.Run) error {
				in.Run, in.OperationKey = rid, keyOr(in.OperationKey)
				copied, err := s.reserve(out, in.OperationKey, func() (bool, error) { return app.Drydocks.Delivered(ctx, in) })
				if err != nil {
					return err
				}
				v, err := app.Drydocks.Deliver(ctx, in)
				if err != nil {
					return errors.Join(err, copied.drop())
				}
				if err := copied.fill(v.File, v.SHA256); err != nil {
					return err
				}
				return s.answer(v, func(w io.Writer) {
					_, _ = fmt.Fprintf(w, "patch       %s\nsha256      %s\nsize        %s\nchanged     %s\nbase        %s\ntree        %s\n",
						printable(v.File), v.SHA256, phrase.Count(v.Bytes, "byte"), counts(v.Changed), v.BaseCommit, v.Tree)
					if v.EmptyDirectories > 0 {
						_, _ = fmt.Fprintf(w, "left out    %s: a patch has none\n", phrase.Count(v.EmptyDirectories, "empty directory"))
					}
					for _, x := range v.Excluded {
						_, _ = fmt.Fprintf(w, "left out    %s (%s)\n", printable(x.Path), x.Reason)
					}
				})
			})
		},
	}
}

// drydockLife makes a life that nobody gave the configured one.
func (s *session) drydockLife(life *time.Duration) error {
	if *life != 0 {
		return nil
	}
	cfg, err := s.load()
	*life = time.Duration(cfg.Drydock.LifeDays) * 24 * time.Hour
	return err
}
