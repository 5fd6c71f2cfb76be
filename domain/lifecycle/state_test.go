package lifecycle_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/lifecycle"
)

// matrix is the whole state table, written out by hand: one line a state, one
// column an event, "-" where the table must have no edge.
const matrix = `
            create:intent create:done start:intent start:done attach_stdin:intent attach_stdin:done exit:done remove:intent remove:done finalize:done
admitted    creating      -           -            -          -                   -                 -         -             -           finalized
creating    -             created     -            -          -                   -                 -         removing      -           -
created     -             -           starting     -          -                   -                 -         removing      -           -
starting    -             -           -            running    -                   -                 exited    removing      -           -
running     -             -           -            -          attaching           -                 exited    removing      -           -
attaching   -             -           -            -          -                   attached          exited    removing      -           -
attached    -             -           -            -          -                   -                 exited    removing      -           -
exited      -             -           -            -          -                   -                 -         removing      -           -
removing    -             -           -            -          -                   -                 -         removing      removed     -
removed     -             -           -            -          -                   -                 -         removing      -           finalized
finalized   -             -           -            -          -                   -                 -         finalized     finalized   -
`

// cells reads the matrix: state, event, next state ("-" for none).
func cells(t *testing.T) (states, events []string, next map[[2]string]string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(matrix), "\n")
	events = strings.Fields(lines[0])
	next = map[[2]string]string{}
	for _, line := range lines[1:] {
		f := strings.Fields(line)
		if len(f) != len(events)+1 {
			t.Fatalf("the line %q has %d cells", line, len(f))
		}
		states = append(states, f[0])
		for i, e := range events {
			next[[2]string{f[0], e}] = f[i+1]
		}
	}
	return states, events, next
}

func TestEveryStateMeetsEveryEventAsInTheMatrix(t *testing.T) {
	t.Parallel()
	states, events, next := cells(t)

	var gotStates, gotEvents []string
	for _, s := range lifecycle.States() {
		gotStates = append(gotStates, string(s))
	}
	for _, e := range lifecycle.Events() {
		gotEvents = append(gotEvents, e.String())
	}
	if !slices.Equal(gotStates, states) {
		t.Errorf("states %q, the matrix has %q", gotStates, states)
	}
	if !slices.Equal(gotEvents, events) {
		t.Errorf("events %q, the matrix has %q", gotEvents, events)
	}

	for _, s := range lifecycle.States() {
		for _, e := range lifecycle.Events() {
			want := next[[2]string{string(s), e.String()}]
			got, err := s.Next(e)
			switch {
			case want == "-" && err == nil:
				t.Errorf("%s in %s leads to %s, the matrix has no edge", e, s, got)
			case want == "-":
				if f := fault.From(err); f.Code != "operation_conflict" || got != s || f.Details["state"] != string(s) || f.Details["event"] != e.String() {
					t.Errorf("%s in %s: %s, %+v", e, s, got, f)
				}
			case err != nil || string(got) != want:
				t.Errorf("%s in %s leads to %q (%v), the matrix says %q", e, s, got, err, want)
			}
		}
	}
}

func TestTheTableHasEachEdgeOnce(t *testing.T) {
	t.Parallel()
	_, _, next := cells(t)
	want := 0
	for _, to := range next {
		if to != "-" {
			want++
		}
	}
	seen := map[lifecycle.Edge]bool{}
	for _, edge := range lifecycle.Table() {
		if seen[edge] {
			t.Errorf("twice: %+v", edge)
		}
		seen[edge] = true
	}
	if len(lifecycle.Table()) != want {
		t.Errorf("%d edges, the matrix has %d", len(lifecycle.Table()), want)
	}
}

func TestUnknownStatesAndEventsLeadNowhere(t *testing.T) {
	t.Parallel()
	for _, s := range []lifecycle.State{"", "paused", "Admitted"} {
		for _, e := range lifecycle.Events() {
			if got, err := s.Next(e); err == nil {
				t.Errorf("%s in %q leads to %s", e, s, got)
			}
		}
	}
	for _, e := range []lifecycle.Event{{}, {Action: "create"}, {Action: "exit", Phase: "intent"}, {Action: "finalize", Phase: "intent"}, {Action: "kill", Phase: "done"}} {
		for _, s := range lifecycle.States() {
			if got, err := s.Next(e); err == nil {
				t.Errorf("%q in %s leads to %s", e, s, got)
			}
		}
	}
}

// walk visits every path of at most depth events from admitted.
func walk(depth int, visit func(path []lifecycle.Event, s lifecycle.State)) {
	var step func(path []lifecycle.Event, s lifecycle.State)
	step = func(path []lifecycle.Event, s lifecycle.State) {
		visit(path, s)
		if len(path) == depth {
			return
		}
		for _, e := range lifecycle.Events() {
			if next, err := s.Next(e); err == nil {
				step(append(slices.Clone(path), e), next)
			}
		}
	}
	step(nil, lifecycle.Admitted)
}

func TestEveryPathToDepth12(t *testing.T) {
	t.Parallel()
	reached := map[lifecycle.State]bool{}
	terminal := map[lifecycle.State]bool{}
	for _, s := range lifecycle.States() {
		terminal[s] = true
		for _, e := range lifecycle.Events() {
			if next, err := s.Next(e); err == nil && next != s {
				terminal[s] = false
			}
		}
		// The removal of a late container leaves a finished admission finished.
		if want := s == lifecycle.Finalized; terminal[s] != want {
			t.Errorf("%s terminal: %v", s, terminal[s])
		}
	}

	paths := 0
	walk(12, func(path []lifecycle.Event, s lifecycle.State) {
		paths++
		reached[s] = true
		count := map[lifecycle.Event]int{}
		for i, e := range path {
			count[e]++
			if e != lifecycle.StartIntent {
				continue
			}
			if before, err := lifecycle.Replay(path[:i]); err != nil || before != lifecycle.Created {
				t.Fatalf("%v: start:intent from %s", path, before)
			}
		}
		for _, once := range []lifecycle.Event{
			lifecycle.CreateIntent, lifecycle.CreateDone, lifecycle.StartIntent, lifecycle.StartDone,
			lifecycle.StdinIntent, lifecycle.StdinDone, lifecycle.ExitDone, lifecycle.FinalizeDone,
		} {
			if count[once] > 1 {
				t.Fatalf("%v: %s twice", path, once)
			}
		}
		if count[lifecycle.StartDone] > count[lifecycle.StartIntent] || count[lifecycle.CreateDone] > count[lifecycle.CreateIntent] ||
			// After the end the table keeps no state, so it cannot ask for the intent.
			(s != lifecycle.Finalized && count[lifecycle.RemoveDone] > 0 && count[lifecycle.RemoveIntent] == 0) {
			t.Fatalf("%v: something was done without an intent", path)
		}
		if s == lifecycle.Finalized && path[len(path)-1] == lifecycle.FinalizeDone && count[lifecycle.CreateIntent] > count[lifecycle.RemoveDone] {
			t.Fatalf("%v: finalized although what was created is not proven absent", path)
		}
		if got := lifecycle.MayHaveStarted(path); got != (count[lifecycle.StartIntent] > 0) {
			t.Fatalf("%v: MayHaveStarted is %v", path, got)
		}
		if got, err := lifecycle.Replay(path); err != nil || got != s {
			t.Fatalf("%v: replayed to %s, %v; walked to %s", path, got, err, s)
		}
	})
	for _, s := range lifecycle.States() {
		if !reached[s] {
			t.Errorf("%s is never reached", s)
		}
	}
	if paths < 1000 {
		t.Errorf("only %d paths", paths)
	}
	t.Logf("%d paths", paths)
}

// Whatever happened, an admission can still be brought to its end.
func TestEveryStateLeadsToFinalized(t *testing.T) {
	t.Parallel()
	for _, from := range lifecycle.States() {
		seen := map[lifecycle.State]bool{from: true}
		todo := []lifecycle.State{from}
		for len(todo) > 0 {
			s := todo[0]
			todo = todo[1:]
			for _, e := range lifecycle.Events() {
				if next, err := s.Next(e); err == nil && !seen[next] {
					seen[next] = true
					todo = append(todo, next)
				}
			}
		}
		if !seen[lifecycle.Finalized] {
			t.Errorf("no way from %s to finalized", from)
		}
	}
}

func TestReplayStopsAtTheFirstImpossibleEvent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		log  []lifecycle.Event
		want lifecycle.State
		ok   bool
	}{
		{"nothing yet", nil, "admitted", true},
		{"an undisturbed life", []lifecycle.Event{
			lifecycle.CreateIntent, lifecycle.CreateDone, lifecycle.StartIntent, lifecycle.StartDone, lifecycle.StdinIntent, lifecycle.StdinDone,
			lifecycle.ExitDone, lifecycle.RemoveIntent, lifecycle.RemoveDone, lifecycle.FinalizeDone,
		}, "finalized", true},
		{"never created", []lifecycle.Event{lifecycle.FinalizeDone}, "finalized", true},
		{"removed from creating", []lifecycle.Event{lifecycle.CreateIntent, lifecycle.RemoveIntent, lifecycle.RemoveDone}, "removed", true},
		{"a removal tried again", []lifecycle.Event{lifecycle.CreateIntent, lifecycle.RemoveIntent, lifecycle.RemoveIntent, lifecycle.RemoveDone}, "removed", true},
		{"a second start", []lifecycle.Event{lifecycle.CreateIntent, lifecycle.CreateDone, lifecycle.StartIntent, lifecycle.StartIntent}, "starting", false},
		{"a start after the exit", []lifecycle.Event{
			lifecycle.CreateIntent, lifecycle.CreateDone, lifecycle.StartIntent, lifecycle.StartDone, lifecycle.ExitDone, lifecycle.StartIntent,
		}, "exited", false},
		{"a second attachment of stdin", []lifecycle.Event{
			lifecycle.CreateIntent, lifecycle.CreateDone, lifecycle.StartIntent, lifecycle.StartDone, lifecycle.StdinIntent, lifecycle.StdinDone,
			lifecycle.StdinIntent,
		}, "attached", false},
		{"a second intent to attach stdin", []lifecycle.Event{
			lifecycle.CreateIntent, lifecycle.CreateDone, lifecycle.StartIntent, lifecycle.StartDone, lifecycle.StdinIntent, lifecycle.StdinIntent,
		}, "attaching", false},
		{"stdin attached without an intent", []lifecycle.Event{
			lifecycle.CreateIntent, lifecycle.CreateDone, lifecycle.StartIntent, lifecycle.StartDone, lifecycle.StdinDone,
		}, "running", false},
		{"done before its intent", []lifecycle.Event{lifecycle.CreateDone}, "admitted", false},
		{"after the end", []lifecycle.Event{lifecycle.FinalizeDone, lifecycle.CreateIntent}, "finalized", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := lifecycle.Replay(c.log)
			if got != c.want || (err == nil) != c.ok {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

func TestEventsOfKeepsTheOrder(t *testing.T) {
	t.Parallel()
	got := lifecycle.EventsOf([]lifecycle.Entry{{Event: lifecycle.CreateIntent}, {Event: lifecycle.RemoveIntent}, {Event: lifecycle.CreateIntent}})
	if want := []lifecycle.Event{lifecycle.CreateIntent, lifecycle.RemoveIntent, lifecycle.CreateIntent}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestLeaseLive(t *testing.T) {
	t.Parallel()
	lease := lifecycle.Lease{Owner: "own_1", Generation: 1, BootID: "boot-a", ExpiresAt: 100 * time.Second}
	released := lease
	released.Released = true
	for _, c := range []struct {
		name string
		l    lifecycle.Lease
		now  lifecycle.Boot
		want bool
	}{
		{"before its end", lease, lifecycle.Boot{ID: "boot-a", Since: 99 * time.Second}, true},
		{"the last moment", lease, lifecycle.Boot{ID: "boot-a", Since: 100*time.Second - 1}, true},
		{"at its end", lease, lifecycle.Boot{ID: "boot-a", Since: 100 * time.Second}, false},
		{"after another boot, whatever the clock", lease, lifecycle.Boot{ID: "boot-b", Since: time.Second}, false},
		{"released", released, lifecycle.Boot{ID: "boot-a", Since: time.Second}, false},
		{"the zero lease", lifecycle.Lease{}, lifecycle.Boot{ID: "boot-a"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.l.Live(c.now); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestTrustEndsBeforeTheLease(t *testing.T) {
	t.Parallel()
	// The beginning of the last renewal, 15 s of lease, 3 s of margin.
	if got := lifecycle.Trusted(time.Minute); got != 72*time.Second {
		t.Errorf("got %s, want 1m12s", got)
	}
}
