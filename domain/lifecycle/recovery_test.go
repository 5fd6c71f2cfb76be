package lifecycle_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"cyberagent/domain/lifecycle"
	"cyberagent/domain/result"
)

var zero = 0

// succeeded is a verdict that an owner recorded with exit:done.
func succeeded() *result.Verdict {
	return &result.Verdict{Status: "succeeded", Reason: "exited", ExitCode: &zero}
}

// row is one line of the architecture's recovery table for one state. A row that
// preserves has no steps and no end.
type row struct {
	states []lifecycle.State
	seen   []lifecycle.Seen
	given  string // what else must hold
	with   func(*lifecycle.Situation)
	// preserve, or steps with the end that they record
	preserve bool
	steps    []lifecycle.Step
	status   result.Status
	reason   result.Reason
}

type (
	states = []lifecycle.State
	seen   = []lifecycle.Seen
	steps  = []lifecycle.Step
)

func unchanged(s *lifecycle.Situation) { s.DrydockUnchanged = true }
func reported(s *lifecycle.Situation)  { s.Reported = succeeded() }
func expected(s *lifecycle.Situation) {
	s.Reported = &result.Verdict{Status: "cancelled", Reason: "never_started"}
}
func refused(s *lifecycle.Situation) {
	s.Reported = &result.Verdict{Status: "failed", Reason: "isolation_mismatch"}
}
func checkpointed(s *lifecycle.Situation) { s.Checkpointed = true }
func cancelled(s *lifecycle.Situation)    { s.Cancelled = true }
func started(s *lifecycle.Situation)      { s.StartIntended = true }

func both(a, b func(*lifecycle.Situation)) func(*lifecycle.Situation) {
	return func(s *lifecycle.Situation) { a(s); b(s) }
}

// table is written out by hand from architecture section 2.
var table = []row{
	// admitted or creating | nothing. (created | nothing has no row of its own;
	// nothing was started, so it ends alike.)
	{states{"admitted"}, seen{"absent"}, "", nil, false, steps{"finalize"}, "cancelled", "never_started"},
	{states{"creating", "created"}, seen{"absent"}, "", nil, false, steps{"remove", "finalize"}, "cancelled", "never_started"},
	// creating, created | exact owned, never started
	{states{"creating", "created"}, seen{"created"}, "", nil, false, steps{"remove", "finalize"}, "cancelled", "never_started"},
	// starting | looks never started
	// (a start request may still be under way: it is removed, then looked at again)
	{states{"starting"}, seen{"created"}, "the Drydock unchanged", unchanged, false, steps{"remove"}, "cancelled", "never_started"},
	{states{"removed"}, seen{"absent"}, "never_started expected, the Drydock unchanged", both(both(started, unchanged), expected), false, steps{"finalize"}, "cancelled", "never_started"},
	{states{"removed"}, seen{"absent"}, "never_started expected, the Drydock changed", both(started, expected), false, steps{"checkpoint", "finalize"}, "failed", "engine_lost"},
	{states{"starting"}, seen{"created"}, "the Drydock changed", nil, false, steps{"remove", "checkpoint", "finalize"}, "failed", "engine_lost"},
	// starting, running | running
	{states{"starting", "running", "attaching", "attached"}, seen{"running"}, "", nil, false, steps{"stop", "remove", "checkpoint", "finalize"}, "cancelled", "owner_lost"},
	{states{"starting", "running", "attaching", "attached"}, seen{"running"}, "cancelled by an operator", cancelled, false, steps{"stop", "remove", "checkpoint", "finalize"}, "cancelled", "cancelled"},
	// starting, running, exited | exited
	{states{"starting", "running", "attaching", "attached", "exited"}, seen{"exited"}, "", nil, false, steps{"remove", "checkpoint", "finalize"}, "failed", "owner_lost"},
	{states{"starting", "running", "attaching", "attached", "exited"}, seen{"exited"}, "cancelled by an operator", cancelled, false, steps{"remove", "checkpoint", "finalize"}, "cancelled", "cancelled"},
	{states{"exited"}, seen{"exited"}, "a report recorded", reported, false, steps{"remove", "checkpoint", "finalize"}, "succeeded", "exited"},
	{states{"exited"}, seen{"exited"}, "a report recorded, cancelled too late", both(reported, cancelled), false, steps{"remove", "checkpoint", "finalize"}, "succeeded", "exited"},
	// starting, running, exited | nothing
	{states{"starting", "running", "attaching", "attached", "exited"}, seen{"absent"}, "", nil, false, steps{"remove", "checkpoint", "finalize"}, "failed", "engine_lost"},
	{states{"exited"}, seen{"absent"}, "a report recorded", reported, false, steps{"remove", "checkpoint", "finalize"}, "succeeded", "exited"},
	// removing, removed | nothing or exact owned exited
	{states{"removing"}, seen{"absent", "exited"}, "", started, false, steps{"remove", "checkpoint", "finalize"}, "failed", "owner_lost"},
	{states{"removing"}, seen{"absent", "exited"}, "a Checkpoint", both(started, checkpointed), false, steps{"remove", "finalize"}, "failed", "owner_lost"},
	{states{"removing"}, seen{"absent", "exited"}, "a report recorded", both(started, reported), false, steps{"remove", "checkpoint", "finalize"}, "succeeded", "exited"},
	{states{"removing"}, seen{"absent", "exited"}, "cancelled by an operator", both(started, cancelled), false, steps{"remove", "checkpoint", "finalize"}, "cancelled", "cancelled"},
	{states{"removing"}, seen{"absent", "created"}, "never started", nil, false, steps{"remove", "finalize"}, "cancelled", "never_started"},
	{states{"removed"}, seen{"absent"}, "", started, false, steps{"checkpoint", "finalize"}, "failed", "owner_lost"},
	{states{"removed"}, seen{"absent"}, "a Checkpoint", both(started, checkpointed), false, steps{"finalize"}, "failed", "owner_lost"},
	{states{"removed"}, seen{"absent"}, "a report recorded", both(started, reported), false, steps{"checkpoint", "finalize"}, "succeeded", "exited"},
	{states{"removed"}, seen{"absent"}, "never started", nil, false, steps{"finalize"}, "cancelled", "never_started"},
	// removing | running: an owner that gave up on a hung engine. The intent to
	// remove the exact container stands.
	{states{"removing"}, seen{"running"}, "", started, false, steps{"stop", "remove", "checkpoint", "finalize"}, "failed", "owner_lost"},
	{states{"removing"}, seen{"running"}, "a verdict recorded", both(started, reported), false, steps{"stop", "remove", "checkpoint", "finalize"}, "succeeded", "exited"},
	// removing | looks never started: a removal that began from starting.
	{states{"removing"}, seen{"created"}, "started, the Drydock unchanged", both(started, unchanged), false, steps{"remove"}, "cancelled", "never_started"},
	{states{"removing"}, seen{"created"}, "started, the Drydock changed", started, false, steps{"remove", "checkpoint", "finalize"}, "failed", "engine_lost"},
	// removing, removed | exact owned exists although its absence was proven: a
	// stale owner's late create.
	{states{"removed"}, seen{"exited"}, "", started, false, steps{"remove", "checkpoint", "finalize"}, "failed", "owner_lost"},
	{states{"removed"}, seen{"running", "paused"}, "", started, false, steps{"stop", "remove", "checkpoint", "finalize"}, "failed", "owner_lost"},
	{states{"removed"}, seen{"created"}, "never started", nil, false, steps{"remove", "finalize"}, "cancelled", "never_started"},
	{states{"removed"}, seen{"created"}, "a report recorded", both(started, reported), false, steps{"remove", "checkpoint", "finalize"}, "succeeded", "exited"},
	// A verdict that knows that nothing ran needs no Checkpoint.
	{states{"removing"}, seen{"absent"}, "a verdict that nothing ran", both(started, refused), false, steps{"remove", "finalize"}, "failed", "isolation_mismatch"},
	// Paused by the quota's backstop of an owner that died: exactly ours, so ended
	// like a running one (the architecture's table preserves it; that would leak).
	{states{"starting", "running", "attaching", "attached"}, seen{"paused"}, "", nil, false, steps{"stop", "remove", "checkpoint", "finalize"}, "cancelled", "owner_lost"},
	{states{"removing"}, seen{"paused"}, "", started, false, steps{"stop", "remove", "checkpoint", "finalize"}, "failed", "owner_lost"},
	// finalized | exact owned exists
	{states{"finalized"}, seen{"created", "exited"}, "", nil, false, steps{"remove"}, "", ""},
	{states{"finalized"}, seen{"running", "paused"}, "", nil, false, steps{"stop", "remove"}, "", ""},
	{states{"finalized"}, seen{"absent"}, "", nil, false, nil, "", ""},

	// Any other combination: touch nothing.
	{states{"admitted"}, seen{"created", "running", "exited"}, "", nil, true, nil, "", ""},
	{states{"creating", "created"}, seen{"running", "exited"}, "", nil, true, nil, "", ""},
	{states{"running", "attaching", "attached", "exited"}, seen{"created"}, "", nil, true, nil, "", ""},
	{states{"exited"}, seen{"running"}, "", nil, true, nil, "", ""},
	{states{"removing"}, seen{"running", "exited"}, "never started", nil, true, nil, "", ""},
	{states{"removed"}, seen{"running", "paused", "exited"}, "never started", nil, true, nil, "", ""},
	{states{"admitted", "creating", "created", "exited"}, seen{"paused"}, "", nil, true, nil, "", ""},
	{
		states{"admitted", "creating", "created", "starting", "running", "attaching", "attached", "exited", "removing", "removed", "finalized", "", "unknown"},
		seen{"foreign", "ambiguous", "other", "unreachable", "", "dead"}, "", nil, true, nil, "", "",
	},
	{states{"", "unknown"}, seen{"absent", "created", "running", "exited"}, "", nil, true, nil, "", ""},
}

func TestDecideIsTheRecoveryTable(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, r := range table {
		for _, state := range r.states {
			for _, observed := range r.seen {
				s := lifecycle.Situation{State: state, Seen: observed, StartIntended: slices.Contains(states{"starting", "running", "attaching", "attached", "exited"}, state)}
				if r.with != nil {
					r.with(&s)
				}
				covered[fmt.Sprint(state, observed)] = true
				got := lifecycle.Decide(s)
				name := fmt.Sprintf("%q, the engine says %q, %s", state, observed, r.given)
				if got.Preserve != r.preserve || !slices.Equal(got.Steps, r.steps) || got.Status != r.status || got.Reason != r.reason {
					t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, r)
				}
				if got.Why == "" {
					t.Errorf("%s: no sentence", name)
				}
				// Without a report the engine's exit code is evidence, not the answer.
				evidence := observed == "exited" && slices.Contains(states{"starting", "running", "attaching", "attached", "exited"}, state) && s.Reported == nil
				if got.EvidenceOnly != evidence {
					t.Errorf("%s: EvidenceOnly is %v", name, got.EvidenceOnly)
				}
			}
		}
	}
	for _, state := range lifecycle.States() {
		for _, observed := range lifecycle.AllSeen() {
			if !covered[fmt.Sprint(state, observed)] {
				t.Errorf("the table has no row for %s and %s", state, observed)
			}
		}
	}
}

// situations visits every combination that Decide can be asked about.
func situations(visit func(lifecycle.Situation)) int {
	verdicts := []*result.Verdict{
		nil, succeeded(), {Status: "failed", Reason: "timeout"}, {Status: "cancelled", Reason: "owner_lost"}, {Status: "cancelled", Reason: "never_started"},
	}
	n := 0
	for _, state := range lifecycle.States() {
		for _, observed := range lifecycle.AllSeen() {
			for _, v := range verdicts {
				for bits := range 16 {
					n++
					visit(lifecycle.Situation{
						State: state, Seen: observed, Reported: v,
						StartIntended: bits&1 != 0, Checkpointed: bits&2 != 0, Cancelled: bits&4 != 0, DrydockUnchanged: bits&8 != 0,
					})
				}
			}
		}
	}
	return n
}

func TestInvariantsOfAllPlans(t *testing.T) {
	t.Parallel()
	order := steps{"stop", "remove", "checkpoint", "finalize"}
	n := situations(func(s lifecycle.Situation) {
		p := lifecycle.Decide(s)
		fail := func(why string) { t.Errorf("%s: %+v gives %+v", why, s, p) }
		has := func(step lifecycle.Step) bool { return slices.Contains(p.Steps, step) }

		last := -1
		for _, step := range p.Steps {
			i := slices.Index(order, step)
			if i < 0 {
				fail("a step that recovery does not have, such as a start")
			}
			if i <= last {
				fail("steps out of order or twice")
			}
			last = i
		}
		if !reflect.DeepEqual(p, lifecycle.Decide(s)) {
			fail("two answers for one situation")
		}
		if p.Why == "" {
			fail("no sentence")
		}
		if p.Preserve {
			if len(p.Steps) != 0 || p.Status != "" || p.Reason != "" {
				fail("preserves and acts")
			}
			return
		}
		switch s.Seen {
		case "foreign", "ambiguous", "other", "unreachable":
			fail("acts on what is not exactly ours or cannot be seen")
		}
		if s.Seen != "absent" && !has("remove") {
			fail("leaves a container")
		}
		runs := s.Seen == "running" || s.Seen == "paused"
		if runs && !has("stop") {
			fail("removes what runs without stopping it")
		}
		if !runs && has("stop") {
			fail("stops what does not run")
		}
		if s.State == lifecycle.Finalized {
			if has("checkpoint") || has("finalize") || p.Status != "" || p.Reason != "" {
				fail("a second end")
			}
			return
		}
		// A command that may have been started is only finalized as never started
		// after another look.
		again := s.StartIntended && p.Reason == "never_started" && !slices.Contains(states{"admitted", "creating", "created"}, s.State) &&
			(s.State != "removed" || s.Seen != "absent")
		if again == has("finalize") {
			fail("ends with finalize when it must look again, or the other way round")
		}
		if !slices.Contains(result.Reasons(), p.Reason) || p.Status == "" {
			fail("no end to record")
		}
		fromLog := s.Reported != nil && p.Status == s.Reported.Status && p.Reason == s.Reported.Reason
		if !fromLog && (p.Status == "succeeded" || p.Reason == "exited") {
			fail("succeeded without a report")
		}
		if !fromLog && p.Reason == "cancelled" && !s.Cancelled {
			fail("cancelled although nobody cancelled")
		}
		if fromLog && p.EvidenceOnly {
			fail("a recorded verdict is evidence only")
		}
		nothingRan := s.Reported != nil && (s.Reported.Reason == "never_started" || s.Reported.Reason == "isolation_mismatch" || s.Reported.Reason == "start_failed")
		ran := slices.Contains(states{"starting", "running", "attaching", "attached", "exited"}, s.State) || (s.StartIntended && slices.Contains(states{"removing", "removed"}, s.State))
		if ran && p.Reason == "never_started" && !fromLog && (s.Seen != "created" || !s.DrydockUnchanged) {
			fail("never started, without proof")
		}
		if ran && p.Reason != "never_started" && !nothingRan && !s.Checkpointed && !has("checkpoint") {
			fail("may have run and has no Checkpoint")
		}
		if !ran && has("checkpoint") {
			fail("a Checkpoint of what never ran")
		}
		// The plan must fit into the lifecycle's table.
		at := s.State
		for _, step := range p.Steps {
			for _, e := range map[lifecycle.Step][]lifecycle.Event{
				"remove": {lifecycle.RemoveIntent, lifecycle.RemoveDone}, "finalize": {lifecycle.FinalizeDone},
			}[step] {
				next, err := at.Next(e)
				if err != nil {
					fail("the log would refuse " + e.String())
				}
				at = next
			}
		}
		if want := map[bool]lifecycle.State{true: lifecycle.Removed, false: lifecycle.Finalized}[again]; at != want {
			fail("the plan ends in " + string(at))
		}
	})
	if n != 11*9*5*16 {
		t.Errorf("%d situations", n)
	}
}

// TestRecoveryConvergesWhereverItIsInterrupted applies each plan act by act and
// crashes after every one: what is then decided anew, and crashed again, must end
// in the same end.
//
// The first act of a plan that stops or removes is to record remove:intent with
// the verdict (Situation.Reported): the very stopping destroys the evidence, for
// a running container tells cancelled/owner_lost and an exited one
// failed/owner_lost.
func TestRecoveryConvergesWhereverItIsInterrupted(t *testing.T) {
	t.Parallel()
	ends := 0
	situations(func(s lifecycle.Situation) {
		if !possible(s) {
			return
		}
		p := lifecycle.Decide(s)
		if p.Preserve || s.State == lifecycle.Finalized {
			return
		}
		if problem := converge(s, p.Status, p.Reason, 0); problem != "" {
			t.Errorf("%+v, first decided as %s/%s: %s", s, p.Status, p.Reason, problem)
		}
		ends++
	})
	if ends < 200 {
		t.Errorf("only %d situations were played", ends)
	}
}

// possible says whether a log can have this state together with the rest.
func possible(s lifecycle.Situation) bool {
	switch s.State {
	case "admitted", "creating", "created":
		return !s.StartIntended && s.Reported == nil && !s.Checkpointed
	case "starting", "running", "attaching", "attached":
		return s.StartIntended && s.Reported == nil && !s.Checkpointed
	case "exited":
		return s.StartIntended && !s.Checkpointed
	case "removing":
		return !s.Checkpointed
	default:
		return true
	}
}

// mostCrashes is how often one recovery is interrupted: every plan has at most
// five acts before its end.
const mostCrashes = 5

// converge plays the plan of a situation up to every crash and decides again.
func converge(s lifecycle.Situation, status result.Status, reason result.Reason, crashes int) string {
	p := lifecycle.Decide(s)
	switch {
	case p.Preserve:
		return "preserved after a crash: " + p.Why
	case reason == "never_started" && p.Reason == "engine_lost" && s.State == lifecycle.Removed && s.Seen == lifecycle.SeenAbsent && !s.DrydockUnchanged:
		// The files refute what was expected.
		status, reason = p.Status, p.Reason
	case p.Status != status || p.Reason != reason:
		return fmt.Sprintf("decided as %s/%s after %d crashes in %+v", p.Status, p.Reason, crashes, s)
	}
	verdict := result.Verdict{Status: p.Status, Reason: p.Reason}
	for _, act := range acts(p) {
		switch act {
		case "remove:intent":
			s.State, s.Reported = lifecycle.Removing, &verdict
		case "stop":
			s.Seen = lifecycle.SeenExited
		case "remove":
			s.Seen = lifecycle.SeenAbsent
		case "remove:done":
			s.State = lifecycle.Removed
		case "checkpoint":
			s.Checkpointed = true
		case "finalize":
			s.State = lifecycle.Finalized
			if end := lifecycle.Decide(s); end.Preserve || len(end.Steps) != 0 {
				return fmt.Sprintf("not quiet after the end: %+v", end)
			}
			return ""
		}
		if crashes == mostCrashes {
			continue
		}
		if problem := converge(s, status, reason, crashes+1); problem != "" {
			return "after " + act + ": " + problem
		}
	}
	if s.State == lifecycle.Removed && s.Seen == lifecycle.SeenAbsent {
		// Not the end yet: look and decide again, in the same recovery.
		return converge(s, status, reason, crashes)
	}
	return "the plan does not finalize"
}

// acts are a plan's steps with what is recorded around them.
func acts(p lifecycle.Plan) []string {
	var out []string
	for _, step := range p.Steps {
		if (step == "stop" || step == "remove") && !slices.Contains(out, "remove:intent") {
			out = append(out, "remove:intent")
		}
		out = append(out, string(step))
		if step == "remove" {
			out = append(out, "remove:done")
		}
	}
	return out
}

func TestAContainerThatAppearsAfterTheEndIsRemovedAndTheEndStays(t *testing.T) {
	t.Parallel()
	for observed, want := range map[lifecycle.Seen]steps{
		"created": {"remove"}, "exited": {"remove"}, "running": {"stop", "remove"}, "paused": {"stop", "remove"},
	} {
		s := lifecycle.Situation{State: lifecycle.Finalized, Seen: observed, StartIntended: true, Reported: succeeded(), Checkpointed: true}
		p := lifecycle.Decide(s)
		if !slices.Equal(p.Steps, want) || p.Status != "" {
			t.Errorf("%s: %+v", observed, p)
		}
		s.Seen = lifecycle.SeenAbsent
		if p := lifecycle.Decide(s); p.Preserve || len(p.Steps) != 0 {
			t.Errorf("%s, then absent: %+v", observed, p)
		}
	}
}

func TestDecideDoesNotShareItsSteps(t *testing.T) {
	t.Parallel()
	s := lifecycle.Situation{State: lifecycle.Running, Seen: lifecycle.SeenRunning, StartIntended: true}
	first := lifecycle.Decide(s)
	first.Steps[0] = "finalize"
	if got := lifecycle.Decide(s).Steps[0]; got != lifecycle.StepStop {
		t.Errorf("the second plan begins with %s", got)
	}
}
