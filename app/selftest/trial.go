package selftest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"cyberagent/app/standardcode"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/lifecycle"
	"cyberagent/ports"
)

// trial is one crash at one edge.
type trial struct {
	s     *Service
	l     *lane
	edge  Edge
	nth   int // of the edge's repeats
	order Order
	// admission is empty until one was recorded.
	admission id.Admission
	quiet     bool // nothing else is at work in this home
	// span is how long at the most a process of a soak works before it is killed
	// from outside; 0 in a trial of an edge.
	span time.Duration

	// right is what must hold: the edge's or its base's, or for a random moment of
	// the owner what the log says at its death.
	right    Edge
	kills    int
	rescuers int // of the killed, those that recovered
	late     int
	starts   int
	ended    string
	captured bool
	leaks    int
	touched  int
	problems problems
}

// run crashes, recovers and judges. What does not hold is in problems; an error
// means that the trial itself could not be made.
func (t *trial) run(ctx context.Context, r *random) (err error) {
	before := t.l.drydock
	t.right = t.edge
	if n := len(t.edge.Bases); n > 0 {
		t.right = t.edge.Bases[t.nth%n].Right
	}
	if t.order, err = t.l.approve(ctx, t.token(r), t.stay(r), t.right.Pipe); err != nil {
		return fmt.Errorf("preparing: %w", err)
	}
	if err := t.crash(ctx, r); err != nil {
		return err
	}
	if t.right, err = t.expected(ctx); err != nil {
		return err
	}
	if err := t.recover(ctx, r); err != nil {
		return err
	}
	f, err := t.look(ctx)
	if err != nil {
		return err
	}
	if len(f.containers) > 0 && t.edge.During > 0 {
		// The engine carried out a request of the dead process after recovery had
		// looked. The next recovery finds it by its labels.
		t.late++
		if err := t.again(ctx); err != nil {
			return err
		}
		if f, err = t.look(ctx); err != nil {
			return err
		}
	}
	f.before = before
	t.problems = append(t.problems, judge(t.right, f)...)
	t.starts, t.leaks, t.touched, t.captured = f.starts, len(f.containers), len(f.decoys), f.checkpoint != nil
	if res, err := f.result(); err == nil {
		t.ended = end(res.Status, res.ReasonCode)
	}
	return t.repeat(ctx, f)
}

// stay is how long the command stays.
func (t *trial) stay(r *random) string {
	switch {
	case t.right.Lingers:
		return lingering
	case t.span > 0 && r.below(4) == 0:
		return aMoment
	default:
		return atOnce
	}
}

func (t *trial) token(r *random) string {
	return fmt.Sprintf("%s-%d-%016x", t.edge.Name(), t.l.drydock.Generation, r.next())
}

// crash kills the owner, and for an edge of recovery then a recovery, too.
func (t *trial) crash(ctx context.Context, r *random) error {
	o := t.order
	if t.span > 0 {
		return t.strike(ctx, o, r)
	}
	if t.edge.Actor == standardcode.Executor {
		return t.process(ctx, t.armed(o, r), true)
	}
	o.Point = standardcode.Executor.At(t.edge.Bases[t.nth%len(t.edge.Bases)].At)
	if err := t.process(ctx, o, true); err != nil {
		return err
	}
	return t.process(ctx, t.armed(t.recovery(), r), true)
}

// expected is what is right after the crash. A process that died in the middle of
// a call may have come further than that call before it died: the log tells.
func (t *trial) expected(ctx context.Context) (Edge, error) {
	right := t.right
	if err := t.find(ctx); err != nil {
		return right, err
	}
	if t.span > 0 && t.admission == "" {
		t.edge = unrecorded.during(t.span, t.edge.Actor, t.edge.At)
		return t.edge, nil
	}
	if t.edge.During == 0 || t.edge.Actor == standardcode.Recoverer || t.admission == "" {
		return right, nil
	}
	err := t.s.Ledger.Read(ctx, func(rec ports.Records) error {
		log, err := rec.Log(t.admission)
		if err != nil || len(log) == 0 {
			return err
		}
		e := died(log[len(log)-1].Event)
		right.Least, right.Most, right.Ends = e.Least, e.Most, e.Ends
		return nil
	})
	return right, err
}

// armed is the order with the edge's moment.
func (t *trial) armed(o Order, r *random) Order {
	o.Point = t.edge.Actor.At(t.edge.At)
	if t.edge.During > 0 {
		o.DelayMicros = 1 + int64(r.below(uint64(t.edge.During/time.Microsecond)))
	}
	return o
}

func (t *trial) recovery() Order { return Order{Act: standardcode.Recoverer, Run: t.l.run} }

// recover brings the admission to its end in another process, in one of the ways
// in which that happens: for the Run, for the admission, by repeating the execute,
// or by two recoveries at once.
func (t *trial) recover(ctx context.Context, r *random) error {
	if t.span > 0 {
		return t.converge(ctx, r)
	}
	o := t.recovery()
	if t.admission == "" {
		return t.process(ctx, o, false)
	}
	switch r.below(4) {
	case 1:
		o.Admission = t.admission
	case 2:
		o = t.order
	case 3:
		return t.rivals(ctx, o)
	}
	return t.process(ctx, o, false)
}

// atWork is the exit status of what somebody else still does.
const atWork = 8

// rivals runs two recoveries at once. One of them finishes; the other finds
// nothing to do, or says that the first is at work.
func (t *trial) rivals(ctx context.Context, o Order) error {
	var deaths [2]Death
	var errs [2]error
	var wait sync.WaitGroup
	for i := range deaths {
		wait.Go(func() { deaths[i], errs[i] = t.s.Processes.Run(ctx, o) })
	}
	wait.Wait()
	done := false
	for _, d := range deaths {
		done = done || d.Status == 0
		if d.Killed || (d.Status != 0 && d.Status != atWork) {
			t.problems.add("one of two recoveries ended with %d: %s", d.Status, d.Output)
		}
	}
	if err := errors.Join(errs[:]...); err != nil || done {
		return err
	}
	t.problems.add("neither of two recoveries finished: %s; %s", deaths[0].Output, deaths[1].Output)
	return nil
}

// again is one more recovery of the Run.
func (t *trial) again(ctx context.Context) error {
	if t.span > 0 {
		return t.settle(ctx)
	}
	return t.process(ctx, t.recovery(), false)
}

// process runs one and checks how it ended.
func (t *trial) process(ctx context.Context, o Order, armed bool) error {
	d, err := t.s.Processes.Run(ctx, o)
	if err != nil {
		return err
	}
	switch {
	case d.Killed:
		t.kills++
		if !armed {
			t.problems.add("a process without a fail point was killed: %s", d.Output)
		}
	case armed && t.edge.During == 0:
		t.problems.add("%s was not reached: exit status %d: %s", o.Point, d.Status, d.Output)
	case !armed && o.Act == standardcode.Recoverer && d.Status != 0:
		t.problems.add("recovery ended with %d: %s", d.Status, d.Output)
	}
	return nil
}

// find looks for the admission of this trial's preparation.
func (t *trial) find(ctx context.Context) error {
	return t.s.Ledger.Read(ctx, func(rec ports.Records) error {
		a, err := rec.AdmissionOfPreparation(t.order.Prep)
		if errors.Is(err, fault.NotFound) {
			return nil
		}
		t.admission = a.ID
		return err
	})
}

// look collects everything that judge needs.
func (t *trial) look(ctx context.Context) (f facts, err error) {
	if err := t.find(ctx); err != nil {
		return f, err
	}
	f.admitted = t.admission != ""
	if f.now, err = t.s.Drydocks.Status(ctx, t.l.run); err != nil {
		return f, err
	}
	if f.starts, err = t.evidence(); err != nil {
		return f, err
	}
	if err := t.records(ctx, &f); err != nil {
		return f, err
	}
	if err := t.listing(&f); err != nil {
		return f, err
	}
	owned, err := t.s.Engine.FindOwned(ctx, t.s.Ledger.Installation())
	if err != nil {
		return f, err
	}
	for _, c := range owned {
		if t.admission != "" && c.Labels[isolation.LabelAdmission] == string(t.admission) {
			f.containers = append(f.containers, c.Name+" "+string(c.State))
		}
	}
	f.decoys, err = t.s.Decoys.Touched(ctx)
	return f, err
}

// evidence counts the starts that the command itself noted.
func (t *trial) evidence() (n int, err error) {
	lines, err := t.s.Files.Lines(t.l.drydock.Path, Evidence)
	for _, line := range lines {
		if line == t.order.Token {
			n++
		}
	}
	return n, err
}

func (t *trial) records(ctx context.Context, f *facts) error {
	return t.s.Ledger.Read(ctx, func(rec ports.Records) error {
		all, err := rec.ListCheckpoints(t.l.drydock.DrydockID)
		if err != nil {
			return err
		}
		for _, c := range all {
			f.recorded = append(f.recorded, c.ID)
			if c.Admission == t.admission && t.admission != "" {
				f.checkpoint = &c
			}
		}
		if !f.admitted {
			return nil
		}
		log, err := rec.Log(t.admission)
		if err != nil {
			return err
		}
		f.log = lifecycle.EventsOf(log)
		for _, e := range log {
			if !t.s.Locks.Dead(e.Owner) && !slices.Contains(f.owners, e.Owner) {
				f.owners = append(f.owners, e.Owner)
			}
		}
		r, err := rec.Receipts(t.admission)
		if errors.Is(err, fault.NotFound) {
			return nil
		}
		f.receipts = &r
		return err
	})
}

// listing sorts what lies below the home.
func (t *trial) listing(f *facts) error {
	names, err := t.s.Files.Listing()
	if err != nil {
		return err
	}
	own := path.Join("drydocks", string(t.l.drydock.DrydockID)) + "/"
	for _, n := range names {
		switch mine := strings.HasPrefix(n, own); {
		case mine && id.Valid(id.KindCheckpoint, path.Base(n)):
			f.held = append(f.held, id.Checkpoint(path.Base(n)))
		case mine:
		case strings.HasPrefix(n, "drydocks/dry_") || !t.quiet:
			continue // another lane's
		}
		if t.s.strange(n) {
			f.files = append(f.files, n)
		}
	}
	return nil
}

// repeat asks twice for the same execute under the same key.
func (t *trial) repeat(ctx context.Context, f facts) error {
	var all []repeat
	for range 2 {
		var again repeat
		again.result, _, again.err = t.s.StandardCode.Execute(ctx, t.order.Execute())
		var err error
		if again.starts, err = t.evidence(); err != nil {
			return err
		}
		t.starts = max(t.starts, again.starts)
		all = append(all, again)
	}
	t.problems = append(t.problems, judgeRepeats(t.edge, f, all)...)
	if !t.edge.Unrecorded {
		t.l.drydock = f.now
		return nil
	}
	// The first of the two was the command's one execution: it is judged like any.
	g, err := t.look(ctx)
	if err != nil {
		return err
	}
	g.before = f.before
	t.problems = append(t.problems, judge(Edge{Least: 1, Most: 1, Ends: t.edge.Ends}, g)...)
	t.l.drydock, t.captured = g.now, g.checkpoint != nil
	if res, err := g.result(); err == nil {
		t.ended = end(res.Status, res.ReasonCode)
	}
	return nil
}
