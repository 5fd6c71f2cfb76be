package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	"cyberagent/app/approvals"
	"cyberagent/cmd/cyberagent/internal/wiring"
	"cyberagent/domain/approval"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/limits"
	"cyberagent/domain/phrase"
)

func sandboxGroup(s *session) *cli.Command {
	return group("sandbox", "review what would run", sandboxRequest(s), sandboxReview(s), sandboxRevoke(s), sandboxList(s), sandboxShow(s))
}

// onPreparation is the frame of a verb about one preparation.
func (s *session) onPreparation(ctx context.Context, c *cli.Command, do func(wiring.App, id.Preparation) error) error {
	s.begin(false)
	v, err := one(c, "preparation")
	if err != nil {
		return err
	}
	pid, err := id.ParsePreparation("preparation", v)
	if err != nil {
		return err
	}
	return s.open(ctx, func(app wiring.App) error { return do(app, pid) })
}

func (s *session) answerApproval(v approvals.View, err error) error {
	if err != nil {
		return err
	}
	return s.answer(v, func(w io.Writer) { printApproval(w, v) })
}

// printApproval shows what a reviewer decides about: every argument on a line of
// its own, quoted in ASCII, so that nothing can hide.
func printApproval(w io.Writer, v approvals.View) {
	_, _ = fmt.Fprintf(w, "approval    %s\nstatus      %s\npreparation %s\nrun         %s\n\n", v.ApprovalID, v.Status, v.PreparationID, v.RunID)
	_, _ = fmt.Fprintf(w, "  toolchain %s\n", v.Command.Toolchain)
	for i, a := range v.Command.Quoted {
		label := ""
		if i == 0 {
			label = "arguments"
		}
		_, _ = fmt.Fprintf(w, "  %-9s %s\n", label, a)
	}
	_, _ = fmt.Fprintf(w, "  directory %q\n  timeout   %d s\n  stdin     %s\n  network   disabled\n  purpose   %q\n\n",
		v.Command.Workdir, v.Command.TimeoutSeconds, v.Command.Stdin, v.Command.Purpose)
	_, _ = fmt.Fprintf(w, "bound to    checkpoint %s (generation %d)\n            engine %s, image %s\n            command sha256 %s\n            all of it %s\n",
		v.Authority.Checkpoint, v.Authority.Generation, v.Authority.Engine, v.Authority.ImageDigest, v.CommandSHA256, v.ManifestSHA256)
	printSince(w, v)
	if v.Reviewer != "" {
		_, _ = fmt.Fprintf(w, "reviewer    %s (self-declared)\n", printable(v.Reviewer))
	}
	if v.Reason != "" {
		_, _ = fmt.Fprintf(w, "reason      %s\n", printable(v.Reason))
	}
	_, _ = fmt.Fprintf(w, "expires     %s\n", utc(v.ExpiresAt))
	if v.ConsumedBy != "" {
		_, _ = fmt.Fprintf(w, "used by     %s\n", v.ConsumedBy)
	}
	if v.Status == approval.Pending {
		_, _ = fmt.Fprintf(w, "\nTo decide exactly this:\n  %s --confirm %s\n",
			approval.TypeToApprove(v.PreparationID), v.ManifestSHA256)
	}
}

// printSince says what differs from the last command that was approved.
func printSince(w io.Writer, v approvals.View) {
	s := v.Since
	if s == nil {
		return
	}
	say := func(format string, a ...any) { _, _ = fmt.Fprintf(w, "            "+format+"\n", a...) }
	_, _ = fmt.Fprintf(w, "since       the last approved command (%s):\n", s.PreparationID)
	say("the command is %s", map[bool]string{true: "the same", false: "another one"}[s.SameCommand])
	if s.Engine != v.Authority.Engine {
		say("the engine was %s", s.Engine)
	}
	if s.ImageDigest != v.Authority.ImageDigest {
		say("the image was %s", s.ImageDigest)
	}
	if s.FilesUnknown {
		say("the files cannot be compared")
		return
	}
	say("files: %d added, %d modified, %d deleted", s.Changed.Added, s.Changed.Modified, s.Changed.Deleted)
	for _, c := range s.Paths {
		say("  %-8s %s", c.Kind, printable(c.Path))
	}
	if more := s.Changed.Total() - int64(len(s.Paths)); more > 0 {
		say("  and %d more", more)
	}
}

func sandboxRequest(s *session) *cli.Command {
	var by string
	return &cli.Command{
		Name: "request", Usage: "ask for a review and show what the reviewer sees", ArgsUsage: "PREPARATION", HideHelpCommand: true,
		Flags: []cli.Flag{&cli.StringFlag{Name: "by", Usage: "who asks (self-declared)", Destination: &by}},
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.onPreparation(ctx, c, func(app wiring.App, pid id.Preparation) error {
				return s.answerApproval(app.Approvals.Request(ctx, pid, by))
			})
		},
	}
}

func sandboxReview(s *session) *cli.Command {
	var in approvals.ReviewInput
	var decision string
	return &cli.Command{
		Name: "review", Usage: "approve or deny one preparation", ArgsUsage: "PREPARATION", HideHelpCommand: true,
		Description: `An approval is for exactly what ` + "`request`" + ` shows, may be used once, and expires: 1 h after
the decision when --expires-in says nothing else. A request that nobody decides stays
pending for 24 h.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "decision", Usage: "approve or deny", Destination: &decision},
			&cli.StringFlag{Name: "confirm", Usage: "the digest that was shown (all of it); another one is refused", Destination: &in.Manifest},
			&cli.StringFlag{Name: "reviewer", Usage: "who decides (self-declared)", Destination: &in.Reviewer},
			&cli.StringFlag{Name: "reason", Usage: "why", Destination: &in.Reason},
			&cli.DurationFlag{Name: "expires-in", Usage: "how long an approval may be used, at most 24h", DefaultText: "1h", Destination: &in.Life},
			keyFlag(&in.OperationKey),
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.onPreparation(ctx, c, func(app wiring.App, pid id.Preparation) (err error) {
				if err := need(c, "decision", "operation-key"); err != nil {
					return err
				}
				if c.IsSet("expires-in") && in.Life == 0 {
					// The use case takes 0 for "not given".
					return fault.New(fault.InvalidArgument, "0s is outside 1s..%s", limits.ApprovalLifeMax).At("expires_in").
						Hint("give at least 1s, or deny it: --decision deny")
				}
				in.Preparation = pid
				if in.Decision, err = approval.ParseDecision(decision); err != nil {
					return err
				}
				return s.answerApproval(app.Approvals.Review(ctx, in))
			})
		},
	}
}

func sandboxRevoke(s *session) *cli.Command {
	var key string
	return &cli.Command{
		Name: "revoke", Usage: "take back an approval that was not used", ArgsUsage: "PREPARATION", HideHelpCommand: true,
		Flags: []cli.Flag{keyFlag(&key)},
		Action: func(ctx context.Context, c *cli.Command) error {
			return s.onPreparation(ctx, c, func(app wiring.App, pid id.Preparation) error {
				return s.answerApproval(app.Approvals.Revoke(ctx, pid, keyOr(key)))
			})
		},
	}
}

func sandboxShow(s *session) *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "one approval, by its own id or its preparation's", ArgsUsage: "ID", HideHelpCommand: true,
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(false)
			v, err := one(c, "id")
			if err != nil {
				return err
			}
			return s.open(ctx, func(app wiring.App) error {
				if strings.HasPrefix(v, string(id.KindApproval)+"_") {
					aid, err := id.ParseApproval("id", v)
					if err != nil {
						return err
					}
					return s.answerApproval(app.Approvals.ShowApproval(ctx, aid))
				}
				pid, err := id.ParsePreparation("id", v)
				if err != nil {
					return err
				}
				return s.answerApproval(app.Approvals.Show(ctx, pid))
			})
		},
	}
}

// approvalList is the answer of `list`.
type approvalList struct {
	Protocol  string           `json:"protocol_version"`
	Approvals []approvals.View `json:"approvals"`
}

func sandboxList(s *session) *cli.Command {
	var pending, watch bool
	return &cli.Command{
		Name: "list", Usage: "approvals of a Run, or of all", ArgsUsage: "[RUN]", HideHelpCommand: true,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "pending", Usage: "only those that wait for a decision", Destination: &pending},
			&cli.BoolFlag{Name: "watch", Usage: "with --pending: wait until there is one", Destination: &watch},
		},
		Action: func(ctx context.Context, c *cli.Command) (err error) {
			s.begin(false)
			var rid id.Run
			switch {
			case c.Args().Len() > 1:
				return fault.New(fault.InvalidArgument, "%s, want one Run or none", phrase.Count(c.Args().Len(), "argument")).At("run")
			case c.Args().Present():
				if rid, err = id.ParseRun("run", c.Args().First()); err != nil {
					return err
				}
			}
			if watch && !pending {
				return fault.New(fault.InvalidArgument, "only pending approvals can be waited for").At("watch").Hint("add --pending")
			}
			return s.open(ctx, func(app wiring.App) error {
				var all []approvals.View
				if watch {
					all, err = app.Approvals.Watch(ctx, rid)
					if len(all) == 0 {
						s.code = exitCancelled
					}
				} else {
					all, err = app.Approvals.List(ctx, rid, pending)
				}
				if err != nil {
					return err
				}
				v := approvalList{"standard-code-approval-list.v1", all}
				return s.answer(v, func(w io.Writer) {
					if len(all) == 0 {
						_, _ = fmt.Fprintln(w, map[bool]string{true: "nothing waits for a decision", false: "no command was prepared yet"}[pending])
						return
					}
					tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
					_, _ = fmt.Fprintln(tw, "PREPARATION\tSTATUS\tRUN\tCOMMAND")
					for _, a := range all {
						_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s %s\n", a.PreparationID, a.Status, a.RunID, a.Command.Toolchain, strings.Join(a.Command.Quoted, " "))
					}
					_ = tw.Flush()
				})
			})
		},
	}
}
