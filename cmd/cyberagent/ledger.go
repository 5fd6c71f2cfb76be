package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"cyberagent/app/pruning"
	"cyberagent/cmd/cyberagent/internal/wiring"
	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
	"cyberagent/domain/phrase"
)

func ledgerGroup(s *session) *cli.Command {
	return group("ledger", "the record of everything: its retention", ledgerPrune(s))
}

func ledgerPrune(s *session) *cli.Command {
	var in pruning.Input
	age := strconv.Itoa(int(limits.PruneAge/(24*time.Hour))) + "d"
	return &cli.Command{
		Name: "prune", Usage: "show which closed Runs' records are old; with --confirm, remove them for good", HideHelpCommand: true,
		Description: `A Run goes whole: its commands, approvals, Checkpoints' entries, Jobs, events and
keys. It must be closed, with every command ended and every Drydock cleaned, and
nothing of it may have changed for the time given. The Run itself stays in the
list, closed, with a receipt of what went: none of its approvals or keys does
anything again. The room is given back to the disk when no command is at work.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "older-than", Usage: "how long nothing of a Run has changed: days such as 90d, or a time such as 36h", Value: age},
			confirmFlag(&in.Confirm), keyFlag(&in.OperationKey),
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(false)
			var err error
			if in.OlderThan, err = parseAge(c.String("older-than")); err != nil {
				return err
			}
			return s.onAll(ctx, c, func(app wiring.App) error {
				in.OperationKey = keyOr(in.OperationKey)
				v, err := app.Pruning.Prune(ctx, in)
				if err != nil {
					return err
				}
				return s.answer(v, func(w io.Writer) { printPruning(w, v, c.String("older-than")) })
			})
		},
	}
}

// parseAge reads whole days, or what Go calls a duration.
func parseAge(v string) (time.Duration, error) {
	const most = 100 * 365 // days
	d, err := time.ParseDuration(v)
	if days, whole := strings.CutSuffix(v, "d"); whole {
		var n uint64
		if n, err = strconv.ParseUint(days, 10, 16); err == nil && n > most {
			err = strconv.ErrRange
		}
		d = time.Duration(n) * 24 * time.Hour //nolint:gosec // at most a hundred years
	}
	if err != nil || d < 0 || d > most*24*time.Hour {
		return 0, fault.New(fault.InvalidArgument, "%q is not an age", v).At("older-than").
			Hint("give days such as 90d, or a time such as 36h")
	}
	return d, nil
}

func printPruning(w io.Writer, v pruning.View, age string) {
	label := "pruned"
	if v.DryRun {
		label = "over"
	}
	for _, r := range v.Runs {
		_, _ = fmt.Fprintf(w, "%-12s%s  %s, %s, %s, unchanged since %s\n",
			label, r.RunID, phrase.Count(r.Admissions, "command"), phrase.Count(r.Records, "record"), phrase.Count(r.Bytes, "byte"), r.Newest.Format(time.DateOnly))
	}
	for _, k := range v.Kept {
		_, _ = fmt.Fprintf(w, "%-12s%s  %s\n", "kept", k.RunID, printable(k.Why))
	}
	_, _ = fmt.Fprintf(w, "together    %s, %s, %s, %s\n", phrase.Count(len(v.Runs), "Run"),
		phrase.Count(v.Admissions, "command"), phrase.Count(v.Records, "record"), phrase.Count(v.Bytes, "byte"))
	if v.Oldest != nil && v.Newest != nil {
		_, _ = fmt.Fprintf(w, "from        %s to %s\n", v.Oldest.Format(time.DateOnly), v.Newest.Format(time.DateOnly))
	}
	if f := v.File; f != nil {
		_, _ = fmt.Fprintf(w, "file        %s before, %s now, %s of it for new records\n",
			phrase.Count(f.BytesBefore, "byte"), phrase.Count(f.BytesAfter, "byte"), phrase.Count(f.ReusableBytes, "byte"))
		if f.Why != "" {
			_, _ = fmt.Fprintf(w, "not smaller %s\n", printable(f.Why))
		}
	}
	if v.DryRun && len(v.Runs) > 0 {
		_, _ = fmt.Fprintf(w, "digest      %s\n\nTo remove them for good:\n  cyberagent ledger prune --older-than %s --confirm %s\n", v.Digest, age, v.Digest)
	}
}
