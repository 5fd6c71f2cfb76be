package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v3"

	"cyberagent/app/selftest"
	"cyberagent/app/standardcode"
	"cyberagent/cmd/cyberagent/internal/wiring"
	"cyberagent/domain/canon"
	"cyberagent/domain/fault"
)

func selftestGroup(s *session) *cli.Command {
	return group("selftest", "prove the product's promises on this machine", selftestCrash(s), selftestSoak(s), selftestReport(s), selftestChild(s))
}

func selftestCrash(s *session) *cli.Command {
	opt := selftest.Options{}
	var keep, list bool
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
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(false)
			if err := none(c); err != nil {
				return err
			}
			if list {
				return s.listEdges()
			}
			opt.Progress = s.selftestProgress()
			var rep selftest.Report
			err := s.inLab(ctx, keep, &rep.Common, func(svc *selftest.Service) (err error) {
				rep, err = svc.Crash(ctx, opt)
				return err
			})
			if err != nil {
				return err
			}
			return s.answer(rep, rep.Text)
		},
	}
}

func selftestSoak(s *session) *cli.Command {
	opt := selftest.SoakOptions{}
	var keep bool
	return &cli.Command{
		Name: "soak", Usage: "kill processes at random moments while others work, and prove the same", HideHelpCommand: true,
		Description: `It works in a temporary home of its own, as ` + "`selftest crash`" + ` does. The seed chooses
which process dies when, but not what else this machine does meanwhile.

EXIT STATUS
  0 everything held   1 something did not, or it was interrupted or too slow
  2 usage   3 the engine or the image is not ready`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "kills", Usage: "how many processes die", Value: 200, Destination: &opt.Kills, Validator: between("kills", 1, selftest.MostKills)},
			&cli.Uint64Flag{Name: "seed", Usage: "chooses commands, moments and ways of recovery", Value: 1, Destination: &opt.Seed},
			&cli.IntFlag{Name: "parallel", Usage: "how many Runs are worked on at once", Value: 4, Destination: &opt.Parallel, Validator: between("parallel", 1, selftest.MostParallel)},
			&cli.DurationFlag{Name: "within", Usage: "give up after this time", Value: 15 * time.Minute, Destination: &opt.Within},
			&cli.BoolFlag{Name: "keep", Usage: "keep the temporary home when something did not hold", Destination: &keep},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(false)
			if err := none(c); err != nil {
				return err
			}
			opt.Progress = s.selftestProgress()
			var rep selftest.SoakReport
			err := s.inLab(ctx, keep, &rep.Common, func(svc *selftest.Service) (err error) {
				rep, err = svc.Soak(ctx, opt)
				return err
			})
			if err != nil {
				return err
			}
			return s.answer(rep, rep.Text)
		},
	}
}

func selftestReport(s *session) *cli.Command {
	return &cli.Command{
		Name: "report", Usage: "write the JSON answers of selftests as one document", HideHelpCommand: true,
		ArgsUsage: "FILE...",
		Description: `EXIT STATUS
  0 written, whatever the verdicts   2 usage`,
		Action: func(_ context.Context, c *cli.Command) error {
			s.begin(false)
			if c.Args().Len() == 0 {
				return fault.New(fault.InvalidArgument, "no report is named").At("report").Hint("give the files that hold the reports")
			}
			var answers [][]byte
			for _, name := range c.Args().Slice() {
				b, err := os.ReadFile(name)
				if err != nil {
					return fault.Wrap(fault.InvalidArgument, err, "the report cannot be read").At("report").Hint("give a file that holds a report")
				}
				answers = append(answers, b)
			}
			doc, err := selftest.Document(answers...)
			if err != nil {
				return err
			}
			return s.answer(doc, func(w io.Writer) { _, _ = io.WriteString(w, doc) })
		},
	}
}

// selftestProgress tells a person each step.
func (s *session) selftestProgress() func(string) {
	if s.asJSON && !s.errTerminal {
		return nil
	}
	return func(line string) { _, _ = fmt.Fprintln(s.err, "selftest:", printable(line)) }
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

// inLab makes the temporary home, tries, and takes the home away again. rep is
// the part of try's report that is filled here.
func (s *session) inLab(ctx context.Context, keep bool, rep *selftest.Common, try func(*selftest.Service) error) (err error) {
	cfg, err := s.load()
	if err != nil {
		return err
	}
	l, err := newLab(cfg)
	if err != nil {
		return err
	}
	defer func() {
		if err == nil && keep && rep.Verdict == selftest.Failed {
			rep.Kept = l.base
		} else {
			if e := l.remove(); e != nil {
				rep.Failures = append(rep.Failures, selftest.Failure{Edge: "clean-up", Problem: e.Error()})
				rep.Verdict = selftest.Failed
			}
			rep.CleanUp.HomeRemoved = l.gone()
		}
		if rep.Verdict != selftest.Held {
			s.code = exitInternal
		}
	}()
	parts, stop, err := wiring.OpenSelftest(ctx, l.cfg)
	if err != nil {
		return err
	}
	defer stop()
	err = try(&selftest.Service{
		Runs: parts.Runs, Drydocks: parts.Drydocks, Approvals: parts.Approvals, StandardCode: parts.StandardCode,
		Ledger: parts.Ledger, Engine: parts.Engine, Locks: parts.Locks, Clock: parts.Clock,
		Processes: l, Files: l, Decoys: &decoys{lab: l, containers: parts.Decoys},
	})
	if err != nil && rep.Verdict != selftest.Failed && ctx.Err() != nil {
		_, _ = fmt.Fprintln(s.err, "cyberagent: interrupted; cleaning up")
		err = nil
	}
	return err
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
