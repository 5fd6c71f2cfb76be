// Package job holds the Jobs of the Command Runtime as values: their one state
// table, what may be asked for, and the output that is kept of one (contract
// section 7).
package job

import "cyberagent/domain/fault"

// State is how far a Job has come.
type State string

// The states. Prepared is a Job whose launch is under way; from Running on its
// command may have run; Stopping is one that somebody asked to end. The others
// are terminal. Interrupted is the end of a Job whose owner is gone: nothing
// adopts it.
const (
	Prepared    State = "prepared"
	Running     State = "running"
	Stopping    State = "stopping"
	Succeeded   State = "succeeded"
	Failed      State = "failed"
	Cancelled   State = "cancelled"
	TimedOut    State = "timed_out"
	Interrupted State = "interrupted"
)

// States returns every state in the order of a life.
func States() []State {
	return []State{Prepared, Running, Stopping, Succeeded, Failed, Cancelled, TimedOut, Interrupted}
}

// next is the whole state table.
var next = map[State][]State{
	Prepared: {Running, Stopping, Failed, Cancelled, Interrupted},
	Running:  {Stopping, Succeeded, Failed, Cancelled, TimedOut, Interrupted},
	// A command may end by itself, or by its clock, while it is being stopped; and
	// one that was stopped before its launch may still be launched and then ended.
	Stopping:    {Succeeded, Failed, Cancelled, TimedOut, Interrupted},
	Succeeded:   nil,
	Failed:      nil,
	Cancelled:   nil,
	TimedOut:    nil,
	Interrupted: nil,
}

// Terminal says whether nothing follows.
func (s State) Terminal() bool { return s.Known() && len(next[s]) == 0 }

// Known says whether s is one of the states.
func (s State) Known() bool {
	_, ok := next[s]
	return ok
}

// Next checks one step; operation_conflict when the table has none.
func (s State) Next(to State) error {
	for _, n := range next[s] {
		if n == to {
			return nil
		}
	}
	return fault.New(fault.OperationConflict, "a Job that is %s does not become %s", s, to).
		With("state", string(s)).With("to", string(to))
}
