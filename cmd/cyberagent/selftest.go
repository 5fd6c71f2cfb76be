package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v3"

	"cyberagent/app/selftest"
	"cyberagent/app/standardcode"
	"cyberagent/cmd/cyberagent/internal/wiring"
	"cyberagent/domain/canon"
	"cyberagent/domain/fault"
)

func selftestGroup(s *session) *cli.Command {
	return group("selftest", "prove the product's promises on this machine", selftestCrash(s), selftestChild(s))
}

func selftestCrash(s *session) *cli.Command {
	opt := selftest.Options{}
	var keep, list bool
	var markdown string
	return &cli.Command{
		Name: "crash", Usage: "kill executions and recoveries at every moment and prove that nothing starts twice or is left", HideHelpCommand: true,
		Description: `It works in a temporary home of its own ($TMPDIR), with the configured engine and
image, and takes everything away at the end, also when it is interrupted. The
operator's own ledger and Drydocks are not opened.

EXIT STATUS
  0 everything held   1 something did not, or it was interrupted
  2 usage   3 the engine or the image is not ready`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "repeat", Usage: "how often each edge is tried", Value: 2, Destination: &opt.Repeat, Validator: between("repeat", 1, selftest.MostRepeats)},
			&cli.Uint64Flag{Name: "seed", Usage: "chooses the order, the way of recovery and random moments", Value: 1, Destination: &opt.Seed},
			&cli.IntFlag{Name: "parallel", Usage: "how many Runs are tried at once", Value: 1, Destination: &opt.Parallel, Validator: between("parallel", 1, selftest.MostParallel)},
			&cli.StringFlag{Name: "edge", Usage: "only edges whose name contains this", Destination: &opt.Only},
			&cli.BoolFlag{Name: "list", Usage: "name the edges and try none", Destination: &list},
			&cli.BoolFlag{Name: "keep", Usage: "keep the temporary home when something did not hold", Destination: &keep},
			&cli.StringFlag{Name: "markdown", Usage: "write the table as a document to this file, too", Destination: &markdown},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(false)
			if err := none(c); err != nil {
				return err
			}
			if list {
				return s.listEdges()
			}
			if !s.asJSON || s.errTerminal {
				opt.Progress = func(line string) { _, _ = fmt.Fprintln(s.err, "selftest:", printable(line)) }
			}
			rep, err := s.crash(ctx, opt, keep)
			if err != nil {
				return err
			}
			if rep.Verdict != selftest.Held {
				s.code = exitInternal
			}
			if markdown != "" && rep.Verdict != selftest.Incomplete {
				if err := os.WriteFile(markdown, []byte(rep.Markdown()), 0o644); err != nil { //nolint:gosec // a document is for everyone
					return fault.Wrap(fault.InvalidArgument, err, "cannot write the document").At("markdown")
				}
			}
			return s.answer(rep, rep.Text)
		},
	}
}

func between(name string, least, most int) func(int) error {
	return func(v int) error {
		if v < least || v > most {
			return fault.New(fault.InvalidArgument, "%d is outside %d..%d", v, least, most).At(name).Hint("give a number from %d to %d", least, most)
		}
		return nil
	}
}

// edgeList is the answer of `selftest crash --list`.
type edgeList struct {
	Protocol      string            `json:"protocol_version"`
	Edges         []string          `json:"edges"`
	NotApplicable []selftest.Exempt `json:"not_applicable"`
}

func (s *session) listEdges() error {
	v := edgeList{"selftest-edges.v1", nil, selftest.Exempts()}
	for _, e := range selftest.Edges() {
		v.Edges = append(v.Edges, e.Name())
	}
	return s.answer(v, func(w io.Writer) {
		for _, e := range v.Edges {
			_, _ = fmt.Fprintln(w, e)
		}
		for _, x := range v.NotApplicable {
			_, _ = fmt.Fprintf(w, "not applicable: %s %s: %s\n", x.Actor, x.Event, x.Reason)
		}
	})
}

// crash makes the temporary home, tries, and takes the home away again.
func (s *session) crash(ctx context.Context, opt selftest.Options, keep bool) (rep selftest.Report, err error) {
	cfg, err := s.load()
	if err != nil {
		return rep, err
	}
	l, err := newLab(cfg)
	if err != nil {
		return rep, err
	}
	defer func() {
		if err == nil && keep && rep.Verdict == selftest.Failed {
			rep.Kept = l.base
			l.note(rep)
			return
		}
		if e := l.remove(); e != nil {
			rep.Failures = append(rep.Failures, selftest.Failure{Edge: "clean-up", Problem: e.Error()})
			rep.Verdict = selftest.Failed
		}
		rep.CleanUp.HomeRemoved = l.gone()
	}()
	parts, stop, err := wiring.OpenSelftest(ctx, l.cfg)
	if err != nil {
		return rep, err
	}
	defer stop()
	svc := &selftest.Service{
		Runs: parts.Runs, Drydocks: parts.Drydocks, Approvals: parts.Approvals, StandardCode: parts.StandardCode,
		Ledger: parts.Ledger, Engine: parts.Engine, Locks: parts.Locks, Clock: parts.Clock,
		Processes: l, Files: l, Decoys: &decoys{lab: l, containers: parts.Decoys},
	}
	rep, err = svc.Crash(ctx, opt)
	if err != nil && rep.Verdict != selftest.Failed && ctx.Err() != nil {
		_, _ = fmt.Fprintln(s.err, "cyberagent: interrupted; cleaning up")
		err = nil
	}
	return rep, err
}

// selftestChild is what the selftest kills. It refuses every home but the
// selftest's own, and it is the only code that arms a fail point.
func selftestChild(s *session) *cli.Command {
	var order string
	return &cli.Command{
		Name: childVerb, Hidden: true, HideHelpCommand: true,
		Flags: []cli.Flag{&cli.StringFlag{Name: "order", Destination: &order}},
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(true)
			var o selftest.Order
			if err := canon.Strict([]byte(order), &o); err != nil {
				return fault.Wrap(fault.InvalidArgument, err, "not an order").At("order")
			}
			cfg, err := s.load()
			if err != nil {
				return err
			}
			if err := checkSeal(cfg.Home, o.Seal); err != nil {
				return err
			}
			app, stop, err := wiring.OpenArmed(ctx, cfg, o.Point, o.Delay())
			if err != nil {
				return err
			}
			defer stop()
			if o.Act == standardcode.Executor {
				v, _, err := app.StandardCode.Execute(ctx, o.Execute())
				if err != nil {
					return err
				}
				return s.answerResult(v)
			}
			v, err := app.StandardCode.Recover(ctx, standardcode.RecoverInput{Run: o.Run, Admission: o.Admission})
			if err != nil {
				return err
			}
			return s.answer(v, func(io.Writer) {})
		},
	}
}
