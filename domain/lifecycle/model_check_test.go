package lifecycle_test

import (
	"slices"
	"testing"

	"cyberagent/domain/lifecycle"
)

func TestModelKeepsItsPromises(t *testing.T) {
	t.Parallel()
	holds(t, rules{}, 0)
}

// The table alone keeps an owner from starting twice that would ask again.
func TestModelTableRefusesAnOwnerThatAsksAgain(t *testing.T) {
	t.Parallel()
	holds(t, rules{lone: true, asksAgain: true}, 0)
}

// with is the table with one more edge; an empty to takes the edge away.
func with(from lifecycle.State, on lifecycle.Event, to lifecycle.State) func(lifecycle.State, lifecycle.Event) (lifecycle.State, error) {
	return func(s lifecycle.State, e lifecycle.Event) (lifecycle.State, error) {
		switch {
		case s != from || e != on:
			return s.Next(e)
		case to == "":
			return lifecycle.State("").Next(e)
		default:
			return to, nil
		}
	}
}

// believing is Decide with other facts.
func believing(change func(*lifecycle.Situation)) func(lifecycle.Situation) lifecycle.Plan {
	return func(s lifecycle.Situation) lifecycle.Plan {
		change(&s)
		return lifecycle.Decide(s)
	}
}

// planning is Decide with another plan where it does not preserve.
func planning(change func(lifecycle.Situation, *lifecycle.Plan)) func(lifecycle.Situation) lifecycle.Plan {
	return func(s lifecycle.Situation) lifecycle.Plan {
		p := lifecycle.Decide(s)
		if !p.Preserve {
			change(s, &p)
		}
		return p
	}
}

// dropping is Decide without some steps in one state.
func dropping(state lifecycle.State, drop ...lifecycle.Step) func(lifecycle.Situation) lifecycle.Plan {
	return planning(func(s lifecycle.Situation, p *lifecycle.Plan) {
		if s.State == state {
			p.Steps = slices.DeleteFunc(p.Steps, func(step lifecycle.Step) bool { return slices.Contains(drop, step) })
		}
	})
}

// Each fault is one that a change of the table, of Decide or of the program could
// bring. The search must find each, and shows how.
func TestModelFindsSeededFaults(t *testing.T) {
	t.Parallel()
	preserving := func(s lifecycle.Situation) lifecycle.Plan {
		if s.Seen == lifecycle.SeenPaused {
			return lifecycle.Plan{Preserve: true}
		}
		return lifecycle.Decide(s)
	}
	for _, c := range []struct {
		name   string
		broken string
		rules  rules
	}{
		// In the table.
		{"a second start:intent from starting", promiseOnce, rules{
			next: with(lifecycle.Starting, lifecycle.StartIntent, lifecycle.Starting), asksAgain: true,
		}},
		{"a second attachment of stdin", promiseAttached, rules{
			next: with(lifecycle.Attached, lifecycle.StdinIntent, lifecycle.Attaching),
		}},
		{"removing may be finalized, recovery does not remove", promiseNothing, rules{
			next:   with(lifecycle.Removing, lifecycle.FinalizeDone, lifecycle.Finalized),
			decide: dropping(lifecycle.Removing, lifecycle.StepStop, lifecycle.StepRemove),
		}},
		{"the removal of a late container opens the end again", promiseOneEnd, rules{
			next: with(lifecycle.Finalized, lifecycle.RemoveIntent, lifecycle.Removing),
		}},
		{"the end may be written again, recovery does", promiseOneEnd, rules{
			next: with(lifecycle.Finalized, lifecycle.FinalizeDone, lifecycle.Finalized),
			decide: planning(func(s lifecycle.Situation, p *lifecycle.Plan) {
				if s.State == lifecycle.Finalized {
					p.Steps = append(p.Steps, lifecycle.StepFinalize)
				}
			}),
		}},
		{"no removal begins from removed", promiseConverges, rules{
			next: with(lifecycle.Removed, lifecycle.RemoveIntent, ""),
		}},

		// In Decide.
		{"recovery starts what looks never started", promiseOnce, rules{
			decide: planning(func(s lifecycle.Situation, p *lifecycle.Plan) {
				if s.State == lifecycle.Starting && s.Seen == lifecycle.SeenCreated {
					p.Steps = []lifecycle.Step{stepStart, lifecycle.StepStop, lifecycle.StepRemove, lifecycle.StepCheckpoint, lifecycle.StepFinalize}
				}
			}),
		}},
		{"the start intent is ignored", promiseAttributed, rules{
			decide: believing(func(s *lifecycle.Situation) { s.StartIntended = false }),
		}},
		{"never_started without a look at the files", promiseAttributed, rules{
			decide: believing(func(s *lifecycle.Situation) { s.DrydockUnchanged = true }),
		}},
		{"the recorded verdict is ignored", promiseVerdict, rules{
			decide: believing(func(s *lifecycle.Situation) { s.Reported = nil }),
		}},
		{"a container that appears late is left", promiseQuiet, rules{
			decide: dropping(lifecycle.Finalized, lifecycle.StepStop, lifecycle.StepRemove),
		}},
		{"a frozen container is preserved", promiseConverges, rules{decide: preserving}},

		// In the program.
		{"append does not look at the lease", promiseFenced, rules{unfenced: true}},
		{"removal does not look at the labels", promiseForeign, rules{unlabelled: true}},
		{"remove:done without proof", promiseNothing, rules{unproven: true}},
		{"recovery stops before it records its verdict", promiseVerdict, rules{verdictLate: true}},
		{"start before its intent", promiseWritten, rules{startsFirst: true}},
		{"the files are recorded before the removal", promiseAttributed, rules{capturesFirst: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := explore(newModel(c.rules), 0, c.broken)
			report(t, x)
			if _, ok := x.found[c.broken]; !ok {
				t.Fatalf("not found: %s; instead %v", c.broken, x.found)
			}
			t.Log(x.path(c.broken))
		})
	}
}
