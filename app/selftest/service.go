package selftest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"cyberagent/app/approvals"
	"cyberagent/app/drydocks"
	"cyberagent/app/runs"
	"cyberagent/app/standardcode"
	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

// Service is the use case over the product's own use cases, in a home of its own.
type Service struct {
	Runs         *runs.Service
	Drydocks     *drydocks.Service
	Approvals    *approvals.Service
	StandardCode *standardcode.Service

	Ledger    ports.Ledger
	Engine    ports.Engine
	Locks     ports.OwnerLocks
	Clock     ports.Clock
	Processes Processes
	Files     Files
	Decoys    Decoys

	// shapes are the kinds of files of a quiet installation, undisturbed how long
	// the command takes there.
	shapes      map[string]bool
	undisturbed time.Duration
	mu          sync.Mutex
	lanes       int
}

// Options choose what is tried.
type Options struct {
	Repeat   int
	Parallel int
	Seed     uint64
	// Only keeps the edges whose name contains it.
	Only string
	// Progress is told in a few words what was tried; nil for nobody.
	Progress func(string)
}

// The bounds of the options.
const (
	MostRepeats  = 1000
	MostParallel = 8
)

var errNoReceipt = errors.New("no receipt")

// task is one trial that is to be made.
type task struct {
	edge int
	nth  int
	seed uint64
}

// Crash tries every edge. What does not hold is in the report; an error means
// that the selftest could not be made at all. Whatever happens, what it made on
// the engine is taken away again, and the report says so.
func (s *Service) Crash(ctx context.Context, opt Options) (rep Report, err error) {
	edges := chosen(opt.Only)
	if len(edges) == 0 {
		return rep, fault.New(fault.InvalidArgument, "no edge's name contains %q", opt.Only).At("edge").
			Hint("`cyberagent selftest crash --list` names them")
	}
	rep = newReport(edges, opt, string(s.Engine.Engine()), s.Clock.Now())
	end := s.begin(&rep.Common)
	defer func() {
		complete := err == nil && ctx.Err() == nil
		end(ctx, complete)
		rep.conclude(complete)
	}()
	lanes, err := s.stage(ctx, &rep.Common)
	if err != nil {
		return rep, err
	}
	err = s.all(ctx, lanes, edges, opt, &rep)
	return rep, err
}

// begin notes when a selftest begins. The function that it returns takes
// everything away again and says how long that lasted.
func (s *Service) begin(rep *Common) (end func(ctx context.Context, complete bool)) {
	began := s.Clock.Boot().Since
	return func(ctx context.Context, complete bool) {
		s.cleanUp(ctx, rep)
		s.leftFiles(rep, complete && len(rep.Failures) == 0)
		rep.CompletedAt, rep.TookMillis = s.Clock.Now(), (s.Clock.Boot().Since - began).Milliseconds()
	}
}

// stage makes what a selftest works with: a ready engine, decoys, one lane a
// worker, and the proof that the command runs undisturbed.
func (s *Service) stage(ctx context.Context, rep *Common) (lanes []*lane, err error) {
	rep.Image = s.StandardCode.Settings.ImageDigest(s.Engine.Engine(), "")
	if rep.EngineVersion, err = s.ready(ctx); err != nil {
		return nil, err
	}
	if err := s.Decoys.Plant(ctx, s.Ledger.Installation()); err != nil {
		return nil, err
	}
	lanes = make([]*lane, rep.Parallel)
	for i := range lanes {
		if lanes[i], err = s.openLane(ctx, s.nextLane()); err != nil {
			return nil, err
		}
	}
	return lanes, s.control(ctx, lanes[0], rep.Seed)
}

// ready refuses an engine or an image that readiness would refuse.
func (s *Service) ready(ctx context.Context) (version string, err error) {
	settings := s.StandardCode.Settings
	e := admission.Evidence{
		Gates:        admission.AllGates(),
		AllowDesktop: settings.AllowDesktop,
	}
	facts, err := s.Engine.Probe(ctx)
	if err != nil {
		return "", err
	}
	image := admission.ImageFacts{Configured: settings.ImageDigest(s.Engine.Engine(), "")}
	if facts.Reachability == admission.Reachable && facts.APISupported && admission.ValidDigest(image.Configured) {
		configured := image.Configured
		if image, err = s.Engine.InspectImage(ctx, configured); err != nil {
			return "", err
		}
		image.Configured = configured
	}
	e.Engine, e.Image = &facts, &image
	return facts.Version, admission.Error(admission.Evaluate(e))
}

func (s *Service) nextLane() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lanes++
	return s.lanes
}

// control proves that the command runs undisturbed, and notes which kinds of
// files a quiet installation has.
func (s *Service) control(ctx context.Context, l *lane, seed uint64) error {
	o, err := l.approve(ctx, fmt.Sprintf("control-%016x", (&random{seed}).next()), atOnce, false)
	if err != nil {
		return err
	}
	began := s.Clock.Boot().Since
	d, err := s.Processes.Run(ctx, o)
	s.undisturbed = s.Clock.Boot().Since - began
	if err != nil {
		return err
	}
	if d.Killed || d.Status != 0 {
		return fault.New(fault.Internal, "the command does not run undisturbed (exit status %d): %s", d.Status, d.Output).
			Hint("run `cyberagent run standard-code readiness` on a Run of yours; the selftest needs a ready engine and image")
	}
	if l.drydock, err = s.Drydocks.Status(ctx, l.run); err != nil {
		return err
	}
	names, err := s.Files.Listing()
	s.shapes = map[string]bool{}
	for _, n := range names {
		s.shapes[shape(n)] = true
	}
	return err
}

// all works through the tasks, one lane a worker.
func (s *Service) all(ctx context.Context, lanes []*lane, edges []Edge, opt Options, rep *Report) error {
	r := &random{opt.Seed}
	var tasks []task
	for nth := range opt.Repeat {
		for i := range edges {
			tasks = append(tasks, task{i, nth, r.next()})
		}
	}
	shuffle(r, tasks)
	todo := make(chan task, len(tasks))
	for _, t := range tasks {
		todo <- t
	}
	close(todo)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wait sync.WaitGroup
	for _, l := range lanes {
		wait.Go(func() {
			for t := range todo {
				if ctx.Err() != nil {
					return
				}
				if l = s.one(ctx, l, edges[t.edge], t, len(lanes) == 1, opt, rep); l == nil {
					stop(fault.New(fault.Internal, "no further Drydock could be made"))
					return
				}
			}
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// one makes one trial and notes it. It returns the lane to go on with: a new one
// after a failure, for the old one may be in any state.
func (s *Service) one(ctx context.Context, l *lane, e Edge, k task, alone bool, opt Options, rep *Report) *lane {
	s.mu.Lock()
	failed := rep.Edges[k.edge].Verdict == Failed
	s.mu.Unlock()
	if failed {
		return l // its evidence is there
	}
	t := &trial{s: s, l: l, edge: e, nth: k.nth, quiet: alone}
	began := s.Clock.Boot().Since
	err := t.run(ctx, &random{k.seed})
	if ctx.Err() != nil {
		return l
	}
	if err != nil {
		t.problems.add("it could not be tried: %v", err)
	}
	took := s.Clock.Boot().Since - began
	s.mu.Lock()
	rep.note(k.edge, t, took)
	done := rep.tried()
	s.mu.Unlock()
	if opt.Progress != nil {
		opt.Progress(progress(done, opt.Repeat*len(rep.Edges), e, t, took))
	}
	if len(t.problems) == 0 {
		return l
	}
	next, err := s.openLane(ctx, s.nextLane())
	if err != nil {
		s.mu.Lock()
		rep.Failures = append(rep.Failures, Failure{Edge: e.Name(), Problem: "no further Drydock could be made: " + err.Error()})
		s.mu.Unlock()
		return nil
	}
	return next
}

func progress(done, all int, e Edge, t *trial, took time.Duration) string {
	verdict := "ok"
	if len(t.problems) > 0 {
		verdict = "FAILED: " + strings.Join(t.problems, "; ")
	}
	return fmt.Sprintf("%d/%d %s: %s, %.1fs %s", done, all, e.Name(), t.ended, took.Seconds(), verdict)
}

// cleanUp takes everything from the engine that this installation owns, then the
// decoys. The caller's cancellation does not end it.
func (s *Service) cleanUp(ctx context.Context, rep *Common) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*limits.EngineCall)
	defer cancel()
	fail := func(what string, err error) {
		rep.Failures = append(rep.Failures, Failure{Edge: "clean-up", Problem: what + ": " + err.Error()})
	}
	if touched, err := s.Decoys.Touched(ctx); err != nil {
		fail("the decoys cannot be seen", err)
	} else {
		for _, t := range touched {
			rep.Failures = append(rep.Failures, Failure{Edge: "all", Problem: "a decoy was touched: " + t})
		}
	}
	n, err := s.Decoys.Remove(ctx)
	if rep.CleanUp.Decoys = n; err != nil {
		fail("a decoy cannot be removed", err)
	}
	if _, err := s.StandardCode.Recover(ctx, standardcode.RecoverInput{}); err != nil {
		fail("what was left could not be recovered", err)
	}
	left, err := s.Engine.FindOwned(ctx, s.Ledger.Installation())
	if err != nil {
		fail("containers cannot be seen", err)
	}
	for _, c := range left {
		rep.Failures = append(rep.Failures, Failure{Edge: "all", Problem: "a container is left at the end: " + c.Name})
		owner := ports.Ownership{Admission: id.Admission(c.Labels[isolation.LabelAdmission]), Installation: s.Ledger.Installation()}
		if err := s.Engine.Remove(ctx, c.ID, owner); err != nil {
			fail("container "+c.Name+" cannot be removed", err)
			continue
		}
		rep.CleanUp.Containers++
	}
}

// leftFiles wants no owner's lock, for all are dead now, and after an undisturbed
// end no file that a quiet installation does not have; an interrupt or a failure
// may leave others.
func (s *Service) leftFiles(rep *Common, undisturbed bool) {
	fail := func(problem string) { rep.Failures = append(rep.Failures, Failure{Edge: "all", Problem: problem}) }
	names, err := s.Files.Listing()
	if err != nil {
		fail("the home cannot be listed: " + err.Error())
	}
	for _, n := range names {
		switch {
		case shape(n) == ownerLock && !s.Locks.Dead(id.Owner(path.Base(n))):
			fail("the lock " + n + " is held at the end")
		case shape(n) == ownerLock:
			fail("the lock of a dead owner is left at the end: " + n)
		case undisturbed && s.strange(n):
			fail("a file is left at the end: " + n)
		}
	}
}

// ownerLock is the shape of an owner's lock.
const ownerLock = "owners/own_#"

// strange says whether no quiet installation has such a file.
func (s *Service) strange(name string) bool { return s.shapes != nil && !s.shapes[shape(name)] }

// shape is a file's name without what differs from one to the next.
func shape(name string) string {
	name = identifier().ReplaceAllString(name, "_#")
	return hexDir().ReplaceAllString(hexName().ReplaceAllString(name, "#"), "/#/")
}

// Compiled when they are first used: no other verb does.
var (
	identifier = once(`_[0-9A-HJKMNP-TV-Z]{26}`)
	hexName    = once(`[0-9a-f]{32,64}`)
	hexDir     = once(`/[0-9a-f]{2}/`)
)

func once(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
