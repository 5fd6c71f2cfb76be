// Package lifecycle is the one state table of an admission's one container, and
// what recovery does about it, as pure functions (architecture section 2).
package lifecycle

import (
	"slices"

	"cyberagent/domain/fault"
)

// State is how far an admission has come.
type State string

// The states. Finalized is terminal. Attaching and Attached are a running
// container whose one stdin attachment is intended or made; the ordinary commands
// never have them.
const (
	Admitted  State = "admitted"
	Creating  State = "creating"
	Created   State = "created"
	Starting  State = "starting"
	Running   State = "running"
	Attaching State = "attaching"
	Attached  State = "attached"
	Exited    State = "exited"
	Removing  State = "removing"
	Removed   State = "removed"
	Finalized State = "finalized"
)

// States returns every state in the order of an undisturbed life.
func States() []State {
	return []State{Admitted, Creating, Created, Starting, Running, Attaching, Attached, Exited, Removing, Removed, Finalized}
}

// Action is a kind of work on the container that the write-ahead log records.
type Action string

// The actions. AttachStdin came with schema 132 and carries metadata only.
const (
	Create      Action = "create"
	Start       Action = "start"
	AttachStdin Action = "attach_stdin"
	Exit        Action = "exit"
	Remove      Action = "remove"
	Finalize    Action = "finalize"
)

// Phase says whether an action is about to happen or proven.
type Phase string

// The phases. Exit and finalize are observations and have only done.
const (
	Intent Phase = "intent"
	Done   Phase = "done"
)

// Event is one entry's kind in the write-ahead log.
type Event struct {
	Action Action
	Phase  Phase
}

// String is "action:phase".
func (e Event) String() string { return string(e.Action) + ":" + string(e.Phase) }

// The events of the log.
var (
	CreateIntent = Event{Create, Intent}
	CreateDone   = Event{Create, Done}
	StartIntent  = Event{Start, Intent}
	StartDone    = Event{Start, Done}
	StdinIntent  = Event{AttachStdin, Intent}
	StdinDone    = Event{AttachStdin, Done}
	ExitDone     = Event{Exit, Done}
	RemoveIntent = Event{Remove, Intent}
	RemoveDone   = Event{Remove, Done}
	FinalizeDone = Event{Finalize, Done}
)

// Events returns every event in the order of an undisturbed life.
func Events() []Event {
	return []Event{
		CreateIntent, CreateDone, StartIntent, StartDone, StdinIntent, StdinDone,
		ExitDone, RemoveIntent, RemoveDone, FinalizeDone,
	}
}

// Edge is one row of the table.
type Edge struct {
	From State
	On   Event
	To   State
}

// Table is the whole state table. Start has one way in: from created, once; and so
// has the attachment of stdin, from running.
// Every state before removed may begin a removal, for cancel, failure and
// recovery all end the same way; only what is proven absent is finalized.
func Table() []Edge {
	return []Edge{
		{Admitted, CreateIntent, Creating},
		{Admitted, FinalizeDone, Finalized},

		{Creating, CreateDone, Created},
		{Creating, RemoveIntent, Removing},

		{Created, StartIntent, Starting},
		{Created, RemoveIntent, Removing},

		{Starting, StartDone, Running},
		{Starting, ExitDone, Exited},
		{Starting, RemoveIntent, Removing},

		{Running, StdinIntent, Attaching},
		{Running, ExitDone, Exited},
		{Running, RemoveIntent, Removing},

		{Attaching, StdinDone, Attached},
		{Attaching, ExitDone, Exited},
		{Attaching, RemoveIntent, Removing},

		{Attached, ExitDone, Exited},
		{Attached, RemoveIntent, Removing},

		{Exited, RemoveIntent, Removing},

		{Removing, RemoveIntent, Removing},
		{Removing, RemoveDone, Removed},

		{Removed, RemoveIntent, Removing},
		{Removed, FinalizeDone, Finalized},

		// A stale owner's container may appear after the end; its removal is written
		// ahead like any other and the end stays the end.
		{Finalized, RemoveIntent, Finalized},
		{Finalized, RemoveDone, Finalized},
	}
}

// Next returns the state after an event, or conflict-class operation_conflict
// when the table has no such edge.
func (s State) Next(e Event) (State, error) {
	for _, edge := range Table() {
		if edge.From == s && edge.On == e {
			return edge.To, nil
		}
	}
	return s, fault.New(fault.OperationConflict, "the lifecycle has no %s in state %s", e, s).
		With("state", string(s)).With("event", e.String())
}

// Replay folds a log into its state.
func Replay(log []Event) (State, error) {
	s := Admitted
	for _, e := range log {
		next, err := s.Next(e)
		if err != nil {
			return s, err
		}
		s = next
	}
	return s, nil
}

// MayHaveStarted says whether the command may have run at all: a start was
// intended.
func MayHaveStarted(log []Event) bool { return slices.Contains(log, StartIntent) }
