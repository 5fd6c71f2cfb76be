package lifecycle_test

import (
	"fmt"
	"strings"

	"cyberagent/domain/lifecycle"
	"cyberagent/domain/result"
	"cyberagent/domain/runnerproto"
)

// Where the owner is. The order is the program's: each place is before one
// transaction, one request, or one look.
const (
	ownerBegins    uint8 = iota // one transaction: admission, lease, create:intent
	ownerMayCreate              // does it still own the admission?
	ownerCreates
	ownerAwaitsCreate
	ownerCreated // create:done
	ownerReady   // authority, then start:intent
	ownerMayStart
	ownerStarts
	ownerAwaitsStart
	ownerAsksAgain // a fault: start:intent once more
	ownerStarted   // start:done
	ownerAttaches  // stdin, between its intent and its done
	ownerAttached  // attach_stdin:done
	ownerWatches
	ownerAwaitsStop
	ownerDecided    // exit:done
	ownerMustRemove // remove:intent
	ownerFinds
	ownerAwaitsRemove
	ownerRemoved // remove:done
	ownerCaptures
	ownerFinalizes
	ownerGone // ended or killed
)

// evidence is how an attempt ended, with what follows from it.
type evidence struct {
	verdict uint8
	exit    bool // exit:done is written
	touched bool // the files are captured
}

// The owner's evidence.
const (
	neverStarted uint8 = iota
	cancelledBefore
	mismatched
	startFailed
	engineLost
	exitedWithReport
	exitedWithoutReport
	refusedByRunner
	cancelledAndEnded
	cancelledAndLost
)

func gatherEvidence(m *model) []evidence {
	report := &runnerproto.Report{Outcome: runnerproto.OutcomeExited, MaskIntact: true, WorkspaceIntact: true}
	decided := func(e result.Evidence, exit, touched bool) evidence {
		return evidence{m.code(result.Decide(e)), exit, touched}
	}
	return []evidence{
		neverStarted:        decided(result.Evidence{NotStarted: result.NeverStarted}, false, false),
		cancelledBefore:     decided(result.Evidence{NotStarted: result.NeverStarted, HostStop: result.CancelledReason}, false, false),
		mismatched:          decided(result.Evidence{NotStarted: result.IsolationMismatch}, false, false),
		startFailed:         decided(result.Evidence{NotStarted: result.StartFailed}, false, false),
		engineLost:          decided(result.Evidence{EngineLost: true}, false, true),
		exitedWithReport:    decided(result.Evidence{Report: report}, true, true),
		exitedWithoutReport: decided(result.Evidence{}, true, true),
		refusedByRunner:     decided(result.Evidence{Report: &runnerproto.Report{Outcome: runnerproto.OutcomeRefused}}, true, false),
		cancelledAndEnded:   decided(result.Evidence{HostStop: result.CancelledReason, Report: report}, true, true),
		cancelledAndLost:    decided(result.Evidence{HostStop: result.CancelledReason, EngineLost: true}, false, true),
	}
}

// emit adds a successor.
func (m *model) emit(s system, who uint8, what string) {
	s.answerAtOnce()
	m.out = append(m.out, successor{s, who, what})
}

// successors are all systems one step away.
func (m *model) successors(s system) []successor {
	m.out = m.out[:0]
	m.own(&s)
	m.recover(&s, 0)
	if !m.lone {
		m.recover(&s, 1)
	}
	m.killings(&s)
	m.environment(&s)
	return m.out
}

// leave ends the owner's process; the kernel frees its lock.
func leave(s system) system {
	s.owner = ownerProcess{at: ownerGone}
	if s.holder == theOwner {
		s.holder, s.expired = nobody, false
	}
	return s
}

// own is the owner's next step.
func (m *model) own(s *system) {
	step := func(at uint8, what string, change ...func(*system)) {
		n := *s
		n.owner.at = at
		for _, c := range change {
			c(&n)
		}
		m.emit(n, theOwner, what)
	}
	ends := func(e uint8, what string) {
		n := *s
		n.owner = ownerProcess{at: ownerMustRemove, evidence: e}
		if m.evidence[e].exit {
			n.owner.at = ownerDecided
		}
		if m.capturesFirst {
			n.owner.captured = n.files
		}
		m.emit(n, theOwner, what)
	}
	gone := func(what string) { m.emit(leave(*s), theOwner, what) }
	// write appends an entry and goes on, or leaves: lease_lost or no such edge.
	write := func(e lifecycle.Event, v, at uint8, what string) {
		n := *s
		if !m.appendVerdict(&n, theOwner, e, v) {
			gone(what + ": refused, it leaves")
			return
		}
		n.owner.at = at
		m.emit(n, theOwner, what)
	}
	// The owner's trust ends before the lease does, so it never outlives it.
	trusted := m.holds(s, theOwner)
	ev := m.evidence[s.owner.evidence]

	switch s.owner.at {
	case ownerBegins:
		n := *s
		n.holder = theOwner
		if m.append(&n, theOwner, lifecycle.CreateIntent) {
			n.owner.at = ownerMayCreate
			m.emit(n, theOwner, "admits: lease, create:intent")
		}

	case ownerMayCreate:
		if !trusted {
			gone("no longer owns it, leaves before create")
			return
		}
		step(ownerCreates, "still owns it, will create")
		ends(neverStarted, "finds the worktree or the mask unfit")

	case ownerCreates:
		step(ownerAwaitsCreate, "sends create", func(n *system) { n.flight |= createSent })

	case ownerAwaitsCreate:
		answered := s.flight&createSent == 0
		if answered && s.box != boxAbsent {
			step(ownerCreated, "is answered: created")
			ends(mismatched, "is answered: created, but not as asked")
		}
		if answered && s.foreign == foreignName {
			gone("is answered: the name is a stranger's; leaves it all")
		}
		ends(neverStarted, "gets no good answer to create")

	case ownerCreated:
		write(lifecycle.CreateDone, 0, ownerReady, "writes create:done")

	case ownerReady:
		if s.cancelled {
			ends(cancelledBefore, "sees the cancellation before the start")
			return
		}
		if m.startsFirst {
			step(ownerAwaitsStart, "sends start without an intent", func(n *system) { n.flight |= startSent })
		} else {
			write(lifecycle.StartIntent, 0, ownerMayStart, "writes start:intent")
		}
		ends(neverStarted, "cannot attach or measure")

	case ownerMayStart:
		if !trusted {
			gone("no longer owns it, leaves before start")
			return
		}
		step(ownerStarts, "still owns it, will start")

	case ownerStarts:
		step(ownerAwaitsStart, "sends start", func(n *system) { n.flight |= startSent })
		if !s.up {
			ends(startFailed, "cannot reach the engine for start")
		}

	case ownerAwaitsStart:
		answered := s.flight&startSent == 0
		if answered && s.starts > 0 {
			step(ownerStarted, "is answered: started")
		}
		if answered && s.starts == 0 {
			ends(startFailed, "is answered: not started, for sure")
		}
		if m.asksAgain {
			step(ownerAsksAgain, "gets no clear answer to start, will ask again")
		} else {
			ends(engineLost, "gets no clear answer to start")
		}

	case ownerAsksAgain:
		n := *s
		if m.append(&n, theOwner, lifecycle.StartIntent) {
			n.owner.at = ownerMayStart
			m.emit(n, theOwner, "writes start:intent again")
		} else {
			ends(engineLost, "writes start:intent again: refused")
		}

	case ownerStarted:
		if m.startsFirst && !s.intended {
			write(lifecycle.StartIntent, 0, ownerStarted, "writes start:intent after the start")
			return
		}
		write(lifecycle.StartDone, 0, ownerWatches, "writes start:done")

	case ownerAttaches:
		step(ownerAttached, "attaches stdin", func(n *system) { n.attached = min(n.attached+1, 2) })
		ends(engineLost, "cannot attach stdin")

	case ownerAttached:
		write(lifecycle.StdinDone, 0, ownerWatches, "writes attach_stdin:done")

	case ownerWatches:
		if n := *s; trusted && m.append(&n, theOwner, lifecycle.StdinIntent) {
			n.owner.at = ownerAttaches
			m.emit(n, theOwner, "writes attach_stdin:intent")
		}
		m.watch(s, step, ends, gone, trusted)

	case ownerAwaitsStop:
		if s.box == boxExited {
			ends(cancelledAndEnded, "sees the exit after its stop")
		}
		ends(cancelledAndLost, "sees no exit after its stop")

	case ownerDecided:
		write(lifecycle.ExitDone, ev.verdict, ownerMustRemove, "writes exit:done with its verdict")

	case ownerMustRemove:
		write(lifecycle.RemoveIntent, ev.verdict, ownerFinds, "writes remove:intent with its verdict")

	case ownerFinds:
		switch {
		case !s.up || (s.foreign != noForeign && !m.unlabelled):
			gone("cannot remove now: cleanup pending, leaves")
		case s.box == boxAbsent && s.foreign == noForeign:
			step(ownerRemoved, "finds nothing to remove")
		case m.unproven:
			step(ownerRemoved, "sends remove and does not wait", m.sendRemove)
		default:
			step(ownerAwaitsRemove, "sends remove", m.sendRemove)
		}

	case ownerAwaitsRemove:
		if s.up && s.box == boxAbsent {
			step(ownerRemoved, "sees that it is gone")
		}
		gone("cannot prove the absence in time: cleanup pending, leaves")

	case ownerRemoved:
		at := ownerFinalizes
		if ev.touched && !m.capturesFirst {
			at = ownerCaptures
		}
		write(lifecycle.RemoveDone, 0, at, "writes remove:done")

	case ownerCaptures:
		step(ownerFinalizes, "captures the files", func(n *system) { n.owner.captured = n.files })

	case ownerFinalizes:
		n := *s
		if m.finalize(&n, theOwner, ev.verdict, ev.touched, s.owner.captured) {
			m.emit(leave(n), theOwner, "finalizes")
		} else {
			gone("finalizes: refused, it leaves")
		}
	}
}

// watch is supervision: the exit, the lease, a cancellation, the quota's guard.
func (m *model) watch(s *system, step func(uint8, string, ...func(*system)), ends func(uint8, string), gone func(string), trusted bool) {
	if s.box == boxExited {
		ends(exitedWithReport, "sees the exit and a report")
		ends(exitedWithoutReport, "sees the exit and no report")
		if s.files == 0 {
			ends(refusedByRunner, "sees the exit and the runner's refusal")
		}
	}
	if !s.up || s.box == boxAbsent || s.box == boxCreated || s.box == boxExited {
		ends(engineLost, "loses its wait")
	}
	if !trusted {
		gone("hears that its lease is over, leaves")
		return
	}
	if s.cancelled {
		step(ownerAwaitsStop, "sees the cancellation, sends stop", func(n *system) { n.flight |= stopSent })
	}
	if s.box == boxRunning && s.flight&freezeSent == 0 {
		step(ownerWatches, "sends freeze", func(n *system) { n.flight |= freezeSent })
	}
	if s.box == boxPaused && s.up {
		step(ownerWatches, "thaws", func(n *system) { n.box = boxRunning })
	}
}

// Where a recoverer is. The order is the program's.
const (
	idle            uint8 = iota
	looks                 // at the ledger and the engine, under its lease
	comparesCreated       // the files with their Checkpoint, having seen a created container
	comparesAbsent
	mustIntend // remove:intent with the verdict
	startsIt   // a fault
	stops
	awaitsStop
	finds
	awaitsRemove
	removed // remove:done
	captures
	finalizes
)

// giveUp ends a recoverer's work: its end, an error, or its death. The kernel
// frees its lock.
func giveUp(s system, which int) system {
	s.recoverer[which] = recovererProcess{}
	if s.holder == firstRecoverer+uint8(which) {
		s.holder, s.expired = nobody, false
	}
	return s
}

// proceed puts a recoverer before the next step of its plan.
func (m *model) proceed(s system, which int, r recovererProcess) system {
	for _, next := range []struct{ bit, at uint8 }{
		{planStart, startsIt}, {planStop, stops}, {planRemove, finds}, {planCheckpoint, captures}, {planFinalize, finalizes},
	} {
		if r.plan&next.bit != 0 {
			r.at = next.at
			s.recoverer[which] = r
			return s
		}
	}
	if !m.is(&s, lifecycle.Finalized) {
		s.recoverer[which] = recovererProcess{at: looks}
		return s
	}
	return giveUp(s, which)
}

// recover is a recoverer's next step. What goes well is emitted first.
func (m *model) recover(s *system, which int) {
	who := firstRecoverer + uint8(which)
	r := s.recoverer[which]
	stays := func(at uint8, what string, change ...func(*system)) {
		n := *s
		n.recoverer[which].at = at
		for _, c := range change {
			c(&n)
		}
		m.emit(n, who, what)
	}
	stopsItself := func(what string) { m.emit(giveUp(*s, which), who, what) }
	// without is the recoverer with one step of its plan behind it.
	without := func(bit uint8) recovererProcess {
		return recovererProcess{plan: r.plan &^ bit, verdict: r.verdict, captured: r.captured}
	}

	switch r.at {
	case idle:
		// The look before the lease only refuses what the lease would refuse.
		nothing := m.is(s, lifecycle.Admitted) || (m.is(s, lifecycle.Finalized) && s.box == boxAbsent)
		if nothing || (s.holder != nobody && m.live(s)) {
			return
		}
		stays(looks, "takes the lease", func(n *system) {
			n.holder, n.expired = who, false
		})

	case looks:
		seen := see(s)
		switch {
		case seen == lifecycle.SeenCreated && s.intended:
			stays(comparesCreated, "sees a created container")
		case seen == lifecycle.SeenAbsent && s.intended && m.verdicts[s.verdict].Reason == result.NeverStarted:
			stays(comparesAbsent, "sees no container")
		default:
			m.plan(s, which, seen, false)
		}

	case comparesCreated:
		m.plan(s, which, lifecycle.SeenCreated, s.files == 0)

	case comparesAbsent:
		m.plan(s, which, lifecycle.SeenAbsent, s.files == 0)

	case mustIntend:
		n := *s
		if !m.appendVerdict(&n, who, lifecycle.RemoveIntent, r.verdict) {
			stopsItself("writes remove:intent: refused, it stops")
			return
		}
		m.emit(m.proceed(n, which, r), who, "writes remove:intent with its verdict")

	case startsIt:
		n := *s
		n.flight |= startSent
		m.emit(m.proceed(n, which, without(planStart)), who, "sends start")

	case stops:
		if !s.up || s.box == boxAbsent {
			stopsItself("cannot stop the container, gives up")
			return
		}
		stays(awaitsStop, "thaws, sends stop", func(n *system) { n.flight |= stopSent; m.acts(n, r.verdict) })

	case awaitsStop:
		if s.up && s.box == boxExited {
			next := without(planStop)
			n := m.proceed(*s, which, next)
			if m.verdictLate {
				n.recoverer[which].at = mustIntend
			}
			m.emit(n, who, "sees the exit after its stop")
		}
		stopsItself("sees no exit in time, gives up")

	case finds:
		switch {
		case !s.up || (s.foreign != noForeign && !m.unlabelled):
			stopsItself("cannot remove now, gives up")
		case s.box == boxAbsent && s.foreign == noForeign:
			stays(removed, "finds nothing to remove")
		case m.unproven:
			stays(removed, "sends remove and does not wait", m.sendRemove)
		default:
			stays(awaitsRemove, "sends remove", m.sendRemove, func(n *system) { m.acts(n, r.verdict) })
		}

	case awaitsRemove:
		if s.up && s.box == boxAbsent {
			stays(removed, "sees that it is gone")
		}
		stopsItself("cannot prove the absence in time, gives up")

	case removed:
		n := *s
		if !m.append(&n, who, lifecycle.RemoveDone) {
			stopsItself("writes remove:done: refused, it stops")
			return
		}
		m.emit(m.proceed(n, which, without(planRemove)), who, "writes remove:done")

	case captures:
		next := without(planCheckpoint)
		next.captured = 1 + s.files
		m.emit(m.proceed(*s, which, next), who, "captures the files")

	case finalizes:
		n := *s
		if m.finalize(&n, who, r.verdict, r.captured > 0, max(r.captured, 1)-1) {
			m.emit(giveUp(n, which), who, "finalizes")
		} else {
			stopsItself("finalizes: refused, it stops")
		}
	}
}

// plan asks Decide and begins to follow it.
func (m *model) plan(s *system, which int, seen lifecycle.Seen, unmodified bool) {
	who := firstRecoverer + uint8(which)
	a := m.answer(question{
		state: s.state, verdict: s.verdict, seen: seen,
		intended: s.intended, recorded: s.recorded, cancelled: s.cancelled, unmodified: unmodified,
	})
	n := *s
	n.recoverer[which] = recovererProcess{plan: a.plan, verdict: a.verdict}
	switch {
	case a.preserve, a.plan == 0:
		n = giveUp(n, which)
	case m.verdictLate && a.plan&planStop != 0:
		n.recoverer[which].at = stops
	case a.plan&(planStop|planRemove) != 0:
		n.recoverer[which].at = mustIntend
	default:
		n = m.proceed(n, which, n.recoverer[which])
	}
	m.emit(n, who, m.says(a, seen))
}

// says tells what was decided.
func (m *model) says(a answer, seen lifecycle.Seen) string {
	if !m.telling {
		return ""
	}
	if a.preserve {
		return fmt.Sprintf("sees it %s, preserves it", seen)
	}
	var steps []string
	for i, step := range m.steps {
		if a.plan&(1<<i) != 0 {
			steps = append(steps, string(step))
		}
	}
	v := m.verdicts[a.verdict]
	return fmt.Sprintf("sees it %s, decides %s/%s: %s", seen, v.Status, v.Reason, strings.Join(steps, ", "))
}

// acts remembers under which verdict recovery touched the container, when the
// log does not.
func (m *model) acts(s *system, verdict uint8) {
	if s.acted == 0 && s.verdict != verdict && !m.is(s, lifecycle.Finalized) {
		s.acted = verdict
	}
}

// sendRemove sends the removal of what Find showed.
func (m *model) sendRemove(s *system) {
	if s.foreign != noForeign { // only without the check of labels
		s.foreign = noForeign
		s.wrong |= wrongForeign
	}
	if s.box != boxAbsent {
		s.flight |= removeSent
	}
}
