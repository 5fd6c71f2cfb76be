package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v3"

	"cyberagent/app/drydocks"
	"cyberagent/cmd/cyberagent/internal/wiring"
	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
	"cyberagent/domain/limits"
	"cyberagent/domain/phrase"
)

func drydockGroup(s *session) *cli.Command {
	return group("drydock", "a Run's own worktree and its Checkpoints",
		drydockCreate(s), drydockStatus(s), drydockUse(s), drydockCheckpoint(s), drydockLog(s), drydockDiff(s),
		drydockRewind(s), drydockUndo(s), drydockFork(s), drydockDeliver(s), drydockRepair(s), drydockCleanup(s), drydockGC(s),
		drydockReconcile(s))
}

func drydockCreate(s *session) *cli.Command {
	var trust, key string
	var life time.Duration
	return &cli.Command{
		Name: "create", Usage: "show the source and a trust digest; with --trust, make the Drydock", ArgsUsage: "RUN",
		HideHelpCommand: true,
		Description: `The first call reads the source and changes nothing. Read what it shows, then repeat
with the digest. The files come from the commit, not from the working tree:
uncommitted content is listed and not copied.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "trust", Usage: "the digest that the first call showed", Destination: &trust},
			&cli.DurationFlag{Name: "life", Usage: "how long it is kept, at most 720h", DefaultText: "168h, when drydock.life_days says nothing", Destination: &life},
			keyFlag(&key),
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.onRun(ctx, c, func(app wiring.App, rid id.Run) error {
				if c.IsSet("life") {
					if err := drydocks.CheckLife(life); err != nil {
						return err
					}
				}
				if trust == "" {
					v, err := app.Drydocks.Inspect(ctx, rid)
					if err != nil {
						return err
					}
					return s.answer(v, func(w io.Writer) { printSource(w, v, repeated(c, "life", "operation-key")) })
				}
				if err := s.drydockLife(&life); err != nil {
					return err
				}
				v, err := app.Drydocks.Create(ctx, drydocks.CreateInput{Run: rid, TrustDigest: trust, Life: life, OperationKey: keyOr(key)})
				if err != nil {
					return err
				}
				return s.answer(v, func(w io.Writer) { printDrydock(w, v) })
			})
		},
	}
}

// repeated are the named flags as they were given, for a command line that repeats
// the call.
func repeated(c *cli.Command, names ...string) (flags string) {
	for _, n := range names {
		if c.IsSet(n) {
			flags += fmt.Sprintf(" --%s %v", n, c.Value(n))
		}
	}
	return flags
}

func printSource(w io.Writer, v drydocks.SourceView, flags string) {
	branch := v.Source.HeadBranch
	if branch == "" {
		branch = "detached"
	}
	_, _ = fmt.Fprintf(w, "source      %s\ncommit      %s (%s)\nfiles       %d, %s\n",
		printable(v.Source.TopLevel), v.Source.HeadCommit, printable(branch), v.Source.Entries, phrase.Count(v.Source.Bytes, "byte"))
	d := v.Source.Dirty
	if d.Modified+d.Untracked > 0 {
		_, _ = fmt.Fprintf(w, "not copied  %d modified, %d untracked:\n", d.Modified, d.Untracked)
		for _, p := range d.Paths {
			_, _ = fmt.Fprintf(w, "            %s\n", printable(p))
		}
	}
	for _, n := range v.Source.Notices {
		_, _ = fmt.Fprintf(w, "note        %s\n", printable(n))
	}
	_, _ = fmt.Fprintf(w, "trust       %s\n\nTo make the Drydock from it:\n  cyberagent drydock create %s --trust %s%s\n", v.TrustDigest, v.RunID, v.TrustDigest, flags)
}

func printDrydock(w io.Writer, v drydocks.View) {
	if v.Status == drydock.Cleaned {
		_, _ = fmt.Fprintf(w, "drydock     %s\nstatus      %s %s by receipt %s\ngeneration  %d\ncheckpoint  %s (its files are gone)\nbase        %s\n",
			v.DrydockID, v.Status, utc(v.UpdatedAt), v.CleanedBy, v.Generation, v.CheckpointID, v.BaseCommit)
		return
	}
	_, _ = fmt.Fprintf(w, "drydock     %s\nstatus      %s %s\ngeneration  %d\ncheckpoint  %s\npath        %s\nbranch      %s\nbase        %s\naccess      %s\nexpires     %s\n",
		v.DrydockID, v.Status, printable(v.Reason), v.Generation, v.CheckpointID, printable(v.Path), v.Branch, v.BaseCommit, accessText(v.Access), expiry(v))
	if !v.Intact {
		_, _ = fmt.Fprintf(w, "NOT INTACT  %s\n", printable(v.IntactError))
	}
	if v.Running != "" {
		_, _ = fmt.Fprintf(w, "running     %s\n", v.Running)
	}
	if v.Pending != "" {
		_, _ = fmt.Fprintf(w, "pending     %s\n", v.Pending)
	}
	if v.Advice != "" {
		_, _ = fmt.Fprintf(w, "to go on    %s\n", printable(v.Advice))
	}
	if v.CheckpointBytes > 0 {
		_, _ = fmt.Fprintf(w, "history     %s of Checkpoints\n", phrase.Count(v.CheckpointBytes, "byte"))
	}
	for i, p := range v.Drift {
		label := ""
		if i == 0 {
			label = "drift"
		}
		_, _ = fmt.Fprintf(w, "%-12s%s\n", label, printable(p))
	}
	if more := v.DriftTotal - len(v.Drift); more > 0 {
		_, _ = fmt.Fprintf(w, "%-12sand %d more; a rewind to the current Checkpoint lists all, without --confirm\n", "", more)
	}
}

func expiry(v drydocks.View) string {
	if v.Expired {
		return utc(v.ExpiresAt) + ", which is over: `cyberagent drydock gc` would remove it once all its files are recorded"
	}
	return utc(v.ExpiresAt)
}

func accessText(a drydock.Access) string {
	switch a {
	case drydock.AccessOwner:
		return fmt.Sprintf("the tree belongs to uid %d", limits.UID)
	case drydock.AccessACL:
		return fmt.Sprintf("access lists for uid %d and for you", limits.UID)
	}
	return "not yet"
}

func drydockStatus(s *session) *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "its generation, Checkpoint and drift", ArgsUsage: "RUN", HideHelpCommand: true,
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.onRun(ctx, c, func(app wiring.App, rid id.Run) error {
				v, err := app.Drydocks.Status(ctx, rid)
				if err != nil {
					return err
				}
				return s.answer(v, func(w io.Writer) { printDrydock(w, v) })
			})
		},
	}
}

func drydockUse(s *session) *cli.Command {
	return &cli.Command{
		Name: "use", Usage: "verify it and print its path, for `cd`", ArgsUsage: "RUN", HideHelpCommand: true,
		Description: `Edit the files there, then record them with ` + "`cyberagent drydock checkpoint RUN`" + `.
Look at the exit status before changing the directory, as the example does: without
a path, cd goes home or stays in your own checkout.

For root the files belong to uid 65532 and git says "dubious ownership" there: what
is not recorded yet shows git -c safe.directory="$D" -C "$D" status. Recorded
changes show ` + "`cyberagent drydock diff RUN --base`" + `.

` + exitStatus,
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.onRun(ctx, c, func(app wiring.App, rid id.Run) error {
				v, err := app.Drydocks.Use(ctx, rid)
				if err != nil {
					return err
				}
				return s.answer(v, func(w io.Writer) { _, _ = fmt.Fprintln(w, v.Path) })
			})
		},
	}
}

func drydockCheckpoint(s *session) *cli.Command {
	var in drydocks.CheckpointInput
	return &cli.Command{
		Name: "checkpoint", Usage: "record the files exactly, as a new generation", ArgsUsage: "RUN", HideHelpCommand: true,
		Description: exitStatus,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "confirm", Usage: "take the files of a Drydock that is recovery_required as they are", Destination: &in.Confirm},
			keyFlag(&in.OperationKey),
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.onRun(ctx, c, func(app wiring.App, rid id.Run) error {
				in.Run, in.OperationKey = rid, keyOr(in.OperationKey)
				v, err := app.Drydocks.Checkpoint(ctx, in)
				if err != nil {
					return err
				}
				return s.answer(v, func(w io.Writer) {
					_, _ = fmt.Fprintf(w, "checkpoint  %s\ngeneration  %d\nchanged     %s\n", v.ID, v.Generation, counts(v.Changed))
					for _, x := range v.Excluded {
						_, _ = fmt.Fprintf(w, "left out    %s (%s)\n", printable(x.Path), x.Reason)
					}
				})
			})
		},
	}
}

func counts(c drydock.Counts) string {
	return fmt.Sprintf("%d added, %d modified, %d deleted", c.Added, c.Modified, c.Deleted)
}

// checkpointList is the answer of `drydock log`.
type checkpointList struct {
	Protocol    string                    `json:"protocol_version"`
	RunID       id.Run                    `json:"run_id"`
	Checkpoints []drydocks.CheckpointView `json:"checkpoints"`
}

func drydockLog(s *session) *cli.Command {
	return &cli.Command{
		Name: "log", Usage: "its Checkpoints, the oldest first", ArgsUsage: "RUN", HideHelpCommand: true,
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.onRun(ctx, c, func(app wiring.App, rid id.Run) error {
				all, err := app.Drydocks.Log(ctx, rid)
				if err != nil {
					return err
				}
				v := checkpointList{drydocks.LogProtocol, rid, all}
				return s.answer(v, func(w io.Writer) {
					tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
					_, _ = fmt.Fprintln(tw, "GEN\tCHECKPOINT\tORIGIN\tADDED\tMODIFIED\tDELETED\tAT")
					for _, x := range all {
						_, _ = fmt.Fprintf(tw, "%d\t%s\t%s\t%d\t%d\t%d\t%s\n", x.Generation, x.ID, x.Origin, x.Changed.Added, x.Changed.Modified, x.Changed.Deleted, utc(x.CreatedAt))
					}
					_ = tw.Flush()
				})
			})
		},
	}
}

func drydockDiff(s *session) *cli.Command {
	var from, to string
	var base bool
	return &cli.Command{
		Name: "diff", Usage: "what changed between two Checkpoints; without flags, in the newest one", ArgsUsage: "RUN",
		HideHelpCommand: true,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "a Checkpoint; the parent of --to when not given", Destination: &from},
			&cli.StringFlag{Name: "to", Usage: "a Checkpoint; the current one when not given", Destination: &to},
			&cli.BoolFlag{Name: "base", Usage: "from the source's commit instead", Destination: &base},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.onRun(ctx, c, func(app wiring.App, rid id.Run) (err error) {
				in := drydocks.DiffInput{Run: rid, Base: base}
				if from != "" {
					if in.From, err = id.ParseCheckpoint("from", from); err != nil {
						return err
					}
				}
				if to != "" {
					if in.To, err = id.ParseCheckpoint("to", to); err != nil {
						return err
					}
				}
				var patch bytes.Buffer
				v, err := app.Drydocks.Diff(ctx, in, &patch)
				if err != nil {
					return err
				}
				v.Patch, v.Encoding = patch.String(), "utf-8"
				if !utf8.Valid(patch.Bytes()) {
					v.Patch, v.Encoding = base64.StdEncoding.EncodeToString(patch.Bytes()), "base64"
				}
				if !s.asJSON && patch.Len() == 0 {
					_, _ = fmt.Fprintln(s.err, nothingRecorded(base))
				}
				return s.answer(v, func(w io.Writer) { _, _ = w.Write(s.forTerminal(patch.Bytes())) })
			})
		},
	}
}

// nothingRecorded is said in place of an empty patch.
func nothingRecorded(base bool) string {
	if base {
		return "nothing was recorded since the source's commit"
	}
	return "nothing was recorded between the two; --base shows everything since the source's commit"
}
