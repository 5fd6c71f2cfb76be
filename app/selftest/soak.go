package selftest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"cyberagent/app/standardcode"
	"cyberagent/domain/fault"
	"cyberagent/ports"
)

// SoakOptions choose how long is killed.
type SoakOptions struct {
	// Kills is how many processes are to die.
	Kills    int
	Parallel int
	Seed     uint64
	// Within bounds the whole; what is not done by then makes it incomplete.
	Within time.Duration
	// Progress is told in a few words what was tried; nil for nobody.
	Progress func(string)
}

// MostKills bounds the option.
const MostKills = 100_000

// Soak kills processes at random moments, from outside, while others work on the
// same ledger; after each kill somebody recovers, and some of those are killed,
// too. What does not hold is in the report; an error means that the soak could not
// be made at all.
func (s *Service) Soak(ctx context.Context, opt SoakOptions) (rep SoakReport, err error) {
	rep = newSoakReport(opt, string(s.Engine.Engine()), s.Clock.Now())
	end := s.begin(&rep.Common)
	defer func() {
		complete := err == nil && ctx.Err() == nil
		s.accounts(ctx, &rep)
		end(ctx, complete)
		rep.conclude(complete)
	}()
	lanes, err := s.stage(ctx, &rep.Common)
	if err != nil {
		return rep, err
	}
	work, stop := context.WithTimeout(ctx, opt.Within)
	defer stop()
	seeds := &random{opt.Seed}
	var wait sync.WaitGroup
	for _, l := range lanes {
		r := &random{seeds.next()}
		wait.Go(func() {
			for l != nil && work.Err() == nil && s.wanted(&rep) {
				l = s.storm(work, l, r, opt, &rep)
			}
		})
	}
	wait.Wait()
	return rep, ctx.Err()
}

// wanted says whether more are to die. The first failure is evidence enough.
func (s *Service) wanted(rep *SoakReport) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return rep.Kills < rep.Wanted && len(rep.Failures) == 0
}

// storm is one command with its deaths. It returns the lane to go on with.
func (s *Service) storm(ctx context.Context, l *lane, r *random, opt SoakOptions, rep *SoakReport) *lane {
	// A busy machine takes longer than the quiet one of the control did.
	span := 2 * s.undisturbed
	t := &trial{s: s, l: l, span: span, edge: Edge{}.during(span, standardcode.Executor, "soak")}
	began := s.Clock.Boot().Since
	err := t.run(ctx, r)
	if ctx.Err() != nil {
		return nil // cut off in the middle: the clean-up ends what is open
	}
	if err != nil {
		t.problems.add("it could not be tried: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rep.note(t)
	if opt.Progress != nil {
		verdict := "ok"
		if len(t.problems) > 0 {
			verdict = "FAILED: " + strings.Join(t.problems, "; ")
		}
		opt.Progress(fmt.Sprintf("%d/%d killed, %s, %.1fs %s", rep.Kills, rep.Wanted, t.ended, (s.Clock.Boot().Since - began).Seconds(), verdict))
	}
	return l
}

// strike lets a process work for a time of the seed's and kills it then.
func (t *trial) strike(ctx context.Context, o Order, r *random) error {
	span := t.span
	if o.Act == standardcode.Recoverer {
		span /= 3 // it has less to do
	}
	d, err := t.s.Processes.Kill(ctx, o, time.Microsecond+time.Duration(r.below(uint64(span))))
	if !d.Killed {
		return err
	}
	t.kills++
	if o.Act == standardcode.Recoverer {
		t.rescuers++
	}
	return err
}

// converge recovers in one of the ways in which that happens, beside others who
// do the same: some recoveries are killed, some are for the whole ledger and so
// meet the other lanes' work.
func (t *trial) converge(ctx context.Context, r *random) error {
	o := t.recovery()
	switch r.below(4) {
	case 1:
		o.Admission = t.admission
	case 2:
		o.Run = ""
	}
	for r.below(2) == 0 {
		if err := t.strike(ctx, o, r); err != nil {
			return err
		}
	}
	d, err := t.s.Processes.Run(ctx, o)
	if err != nil {
		return err
	}
	if d.Killed || (d.Status != 0 && d.Status != atWork) {
		t.problems.add("recovery ended with %d: %s", d.Status, d.Output)
	}
	return t.settle(ctx)
}

// settle recovers the Run until nobody is at work on it.
func (t *trial) settle(ctx context.Context) error {
	for range 300 {
		d, err := t.s.Processes.Run(ctx, t.recovery())
		if err != nil {
			return err
		}
		switch d.Status {
		case 0:
			return nil
		case atWork: // another lane's recovery of the whole ledger has it
		default:
			t.problems.add("recovery ended with %d: %s", d.Status, d.Output)
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.problems.add("somebody is at work for ever")
	return nil
}

// accounts holds the whole ledger against itself: every admission has its one end.
func (s *Service) accounts(ctx context.Context, rep *SoakReport) {
	fail := func(format string, a ...any) {
		rep.Failures = append(rep.Failures, Failure{Edge: "soak", Problem: fmt.Sprintf(format, a...)})
	}
	err := s.Ledger.Read(context.WithoutCancel(ctx), func(rec ports.Records) error {
		all, err := rec.ListAdmissions("")
		if err != nil {
			return err
		}
		rep.Admissions, rep.Receipts = len(all), 0
		for _, a := range all {
			switch _, err := rec.Receipts(a.ID); {
			case err == nil:
				rep.Receipts++
			case !errors.Is(err, fault.NotFound):
				return err
			}
		}
		return nil
	})
	if err != nil {
		fail("the ledger cannot be read: %v", err)
	}
	if rep.Receipts != rep.Admissions && ctx.Err() == nil && rep.Kills >= rep.Wanted {
		fail("%d admissions have %d ends", rep.Admissions, rep.Receipts)
	}
}
