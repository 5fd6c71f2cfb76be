package selftest_test

import (
	"slices"
	"testing"

	"cyberagent/app/selftest"
	"cyberagent/domain/lifecycle"
)

// edges are written out by hand: a new event of the lifecycle changes the derived
// list and fails here until somebody has decided what is right around it.
var edges = []string{
	"execute.before.create:intent", "execute.within.create:intent", "execute.after.create:intent",
	"execute.before.create:done", "execute.after.create:done",
	"execute.before.start:intent", "execute.after.start:intent",
	"execute.before.start:done", "execute.after.start:done",
	"execute.before.attach_stdin:intent", "execute.after.attach_stdin:intent",
	"execute.before.attach_stdin:done", "execute.after.attach_stdin:done",
	"execute.before.exit:done", "execute.after.exit:done",
	"execute.before.remove:intent", "execute.after.remove:intent",
	"execute.before.remove:done", "execute.after.remove:done",
	"execute.before.finalize:done", "execute.within.finalize:done", "execute.after.finalize:done",
	"execute.during.creating", "execute.created", "execute.during.starting", "execute.started",
	"execute.attaching", "execute.attached", "execute.output", "execute.exited", "execute.during.removing", "execute.absent",
	"execute.capturing", "execute.during.capturing", "execute.captured",
	"recover.before.remove:intent", "recover.after.remove:intent",
	"recover.before.remove:done", "recover.after.remove:done",
	"recover.before.finalize:done", "recover.within.finalize:done", "recover.after.finalize:done",
	"recover.looked", "recover.taken", "recover.stopping", "recover.during.stopping", "recover.stopped",
	"recover.removing", "recover.during.removing", "recover.absent",
	"recover.capturing", "recover.during.capturing", "recover.captured",
}

// exempts are the events that nobody is killed around.
var exempts = map[string][]string{
	"execute": nil,
	"recover": {
		"create:intent", "create:done", "start:intent", "start:done", "attach_stdin:intent", "attach_stdin:done", "exit:done",
	},
}

func TestEdges_AreTheOnesWrittenHere(t *testing.T) {
	t.Parallel()
	var got []string
	for _, e := range selftest.Edges() {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, edges) {
		t.Errorf("the edges are\n%q\nwant\n%q", got, edges)
	}
}

func TestEdges_EveryEventHasItsEdgesOrAReason(t *testing.T) {
	t.Parallel()
	for actor, without := range exempts {
		for _, e := range lifecycle.Events() {
			exempt := slices.ContainsFunc(selftest.Exempts(), func(x selftest.Exempt) bool {
				return string(x.Actor) == actor && x.Event == e.String() && x.Reason != ""
			})
			if want := slices.Contains(without, e.String()); exempt != want {
				t.Errorf("%s %s: exempt %t, want %t", actor, e, exempt, want)
			}
			for _, moment := range []string{"before", "after"} {
				has := slices.Contains(edges, actor+"."+moment+"."+e.String())
				if has == exempt {
					t.Errorf("%s %s %s: edge %t, exempt %t", actor, moment, e, has, exempt)
				}
			}
		}
		for _, name := range without {
			if !slices.ContainsFunc(lifecycle.Events(), func(e lifecycle.Event) bool { return e.String() == name }) {
				t.Errorf("%s: the lifecycle has no %s", actor, name)
			}
		}
	}
	for _, x := range selftest.Exempts() {
		if !slices.Contains(exempts[string(x.Actor)], x.Event) {
			t.Errorf("%s %s is exempt and not listed here", x.Actor, x.Event)
		}
	}
}

func TestEdges_EachSaysWhatIsRight(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, e := range selftest.Edges() {
		if seen[e.Name()] {
			t.Errorf("%s is there twice", e.Name())
		}
		seen[e.Name()] = true
		right := []selftest.Edge{e}
		if e.Actor == "recover" {
			right = nil
			for _, b := range e.Bases {
				right = append(right, b.Right)
				if !slices.Contains(edges, "execute."+string(b.At)) {
					t.Errorf("%s follows execute.%s, which is no edge", e.Name(), b.At)
				}
			}
		}
		for _, r := range right {
			if len(r.Ends) == 0 || r.Least > r.Most || r.Most > 1 {
				t.Errorf("%s: %+v", e.Name(), r)
			}
		}
		if len(right) == 0 {
			t.Errorf("%s follows nothing", e.Name())
		}
	}
}
