package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v3"

	"cyberagent/app/drydocks"
	"cyberagent/cmd/cyberagent/internal/wiring"
	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
	"cyberagent/domain/phrase"
)

func drydockRepair(s *session) *cli.Command {
	var in drydocks.RepairInput
	return &cli.Command{
		Name: "repair", Usage: "give access back to what a command made unreadable, in the fixed container", ArgsUsage: "RUN", HideHelpCommand: true,
		Description: `No command runs: the container's own user restores the access bits of what it owns.
Look at the files afterwards, then take them with a checkpoint.`,
		Flags: append(gateFlags(&in.Gates), keyFlag(&in.OperationKey)),
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.onRun(ctx, c, func(app wiring.App, rid id.Run) error {
				in.Run, in.OperationKey = rid, keyOr(in.OperationKey)
				v, err := app.Drydocks.Repair(ctx, in)
				if err != nil {
					return err
				}
				return s.answer(v, func(w io.Writer) {
					_, _ = fmt.Fprintf(w, "drydock     %s\nstatus      %s %s\ngeneration  %d\n", v.DrydockID, v.Status, printable(v.Reason), v.Generation)
					for _, u := range v.Unreadable {
						_, _ = fmt.Fprintf(w, "still closed %s\n", printable(u))
					}
				})
			})
		},
	}
}

func drydockCleanup(s *session) *cli.Command {
	var in drydocks.CleanupInput
	return &cli.Command{
		Name: "cleanup", Usage: "show what removing the Drydock would remove; with --confirm, do it", ArgsUsage: "RUN", HideHelpCommand: true,
		Description: `Its files go first, then its registration and branch in the source, then its
Checkpoints; the ledger keeps the history, and delivered patches stay. Anything
that cannot be proven to be the Drydock's own is kept and named.`,
		Flags: []cli.Flag{confirmFlag(&in.Confirm), keyFlag(&in.OperationKey)},
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.onRun(ctx, c, func(app wiring.App, rid id.Run) error {
				in.Run, in.OperationKey = rid, keyOr(in.OperationKey)
				var v drydocks.CleanupView
				var err error
				if in.Confirm == "" {
					v, err = app.Drydocks.Survey(ctx, rid)
				} else {
					v, err = app.Drydocks.Cleanup(ctx, in)
				}
				if err != nil {
					return err
				}
				return s.answer(v, func(w io.Writer) { printCleanup(w, v) })
			})
		},
	}
}

func printCleanup(w io.Writer, v drydocks.CleanupView) {
	_, _ = fmt.Fprintf(w, "drydock     %s\nstatus      %s\n", v.DrydockID, v.Status)
	if v.DryRun {
		_, _ = fmt.Fprintf(w, "files       %d, %s\ncheckpoints %s\n", v.Entries, phrase.Count(v.Bytes, "byte"), phrase.Count(v.ShadowBytes, "byte"))
		for _, x := range v.Excluded {
			_, _ = fmt.Fprintf(w, "UNRECORDED  no Checkpoint can have %s (%s)\n", printable(x.Path), x.Reason)
		}
		switch {
		case v.Unrecorded == "":
		case v.UnrecordedTotal == 0:
			_, _ = fmt.Fprintf(w, "UNRECORDED  nobody knows what, for %s\n", printable(v.Unrecorded))
		default:
			more := ""
			if v.UnrecordedTotal > 1 {
				more = fmt.Sprintf(" and %d more", v.UnrecordedTotal-1)
			}
			_, _ = fmt.Fprintf(w, "UNRECORDED  changed since the Checkpoint: %s%s\n", printable(v.Unrecorded), more)
		}
	}
	printUndelivered(w, v)
	printDoubts(w, "kept", v.Kept)
	switch {
	case v.DryRun && v.Untouched:
		_, _ = fmt.Fprintf(w, "digest      %s\n\nNothing of it would be removed. See to what is kept, then look again:\n  cyberagent drydock cleanup %s\n", v.Digest, v.RunID)
	case v.DryRun:
		_, _ = fmt.Fprintf(w, "digest      %s\n\nTo remove it:\n  cyberagent drydock cleanup %s --confirm %s\n", v.Digest, v.RunID, v.Digest)
	}
}

// printUndelivered says of a preview that work would go that nobody has.
func printUndelivered(w io.Writer, v drydocks.CleanupView) {
	if v.Undelivered != "" {
		_, _ = fmt.Fprintf(w, "UNDELIVERED %s has what is in no patch: make it current with rewind if it is not, then `cyberagent drydock deliver %s`\n", v.Undelivered, v.RunID)
	}
}

func printDoubts(w io.Writer, label string, all []drydock.Doubt) {
	for _, d := range all {
		_, _ = fmt.Fprintf(w, "%-12s%s: %s\n", label, printable(d.What), printable(d.Why))
	}
}

func drydockGC(s *session) *cli.Command {
	var in drydocks.GCInput
	return &cli.Command{
		Name: "gc", Usage: "show which Drydocks are over; with --confirm, remove them", HideHelpCommand: true,
		Description: `Over is one that has expired or whose Run is closed, if all its files are recorded.
One in doubt is kept and named. The Checkpoints of the others are compacted.`,
		Flags: []cli.Flag{confirmFlag(&in.Confirm), keyFlag(&in.OperationKey)},
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.onAll(ctx, c, func(app wiring.App) error {
				in.OperationKey = keyOr(in.OperationKey)
				v, err := app.Drydocks.GC(ctx, in)
				if err != nil {
					return err
				}
				return s.answer(v, func(w io.Writer) { printGC(w, v) })
			})
		},
	}
}

func printGC(w io.Writer, v drydocks.GCView) {
	label := "removed"
	if v.DryRun {
		label = "over"
	}
	for _, r := range v.Remove {
		_, _ = fmt.Fprintf(w, "%-12s%s (run %s)\n", label, r.DrydockID, r.RunID)
		printUndelivered(w, r)
		printDoubts(w, "  kept", r.Kept)
	}
	printKept(w, "kept", v.Kept)
	printDoubts(w, "stray", v.Strays)
	for _, c := range v.Compact {
		_, _ = fmt.Fprintf(w, "compacted   %s: %d to %s\n", c.DrydockID, c.BytesBefore, phrase.Count(c.BytesAfter, "byte"))
	}
	over := len(v.Remove) > 0
	switch {
	case v.DryRun && over:
		_, _ = fmt.Fprintf(w, "digest      %s\n\nTo do it:\n  cyberagent drydock gc --confirm %s\n", v.Digest, v.Digest)
	case v.DryRun:
		_, _ = fmt.Fprintf(w, "no Drydock is over: nothing would be removed\n\nTo compact the Checkpoints of all others:\n  cyberagent drydock gc --confirm %s\n", v.Digest)
	case !over && len(v.Compact) == 0:
		_, _ = fmt.Fprintln(w, "nothing was removed and nothing was to be compacted")
	}
}

func printKept(w io.Writer, label string, all []drydocks.KeptView) {
	for _, k := range all {
		_, _ = fmt.Fprintf(w, "%-12s%s (run %s, %s): %s\n", label, k.DrydockID, k.RunID, k.Status, printable(k.Why))
	}
}

func drydockReconcile(s *session) *cli.Command {
	return &cli.Command{
		Name: "reconcile", Usage: "finish exact creations that were cut off; name everything else that needs a person", HideHelpCommand: true,
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.onAll(ctx, c, func(app wiring.App) error {
				v, err := app.Drydocks.Reconcile(ctx, true)
				if err != nil {
					return err
				}
				return s.answer(v, func(w io.Writer) {
					printKept(w, "finished", v.Finished)
					printKept(w, "kept", v.Kept)
					printDoubts(w, "stray", v.Strays)
					if len(v.Finished)+len(v.Kept)+len(v.Strays) == 0 {
						_, _ = fmt.Fprintln(w, "nothing to finish, and nothing is in doubt")
					}
				})
			})
		},
	}
}

// onAll is the frame of a verb about every Run that answers text by default.
func (s *session) onAll(ctx context.Context, c *cli.Command, do func(wiring.App) error) error {
	s.begin(false)
	if err := none(c); err != nil {
		return err
	}
	return s.open(ctx, do)
}
