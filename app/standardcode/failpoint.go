package standardcode

import "cyberagent/domain/lifecycle"

// Fail points are the moments at which `selftest crash` ends the process. They
// are compiled in and do nothing while Service.Fail is nil, which it is in every
// verb but that one's own child.

// Actor is who reaches a moment.
type Actor string

// The actors: the owner of an attempt, and a recovery in its place.
const (
	Executor  Actor = "execute"
	Recoverer Actor = "recover"
)

// Moment is a place in the code that an actor passes.
type Moment string

// Before is ahead of the transaction that writes an entry of the log.
func Before(e lifecycle.Event) Moment { return Moment("before." + e.String()) }

// Within is inside that transaction, after its last statement. Only the two that
// keep more than the entry have it: create:intent and finalize:done.
func Within(e lifecycle.Event) Moment { return Moment("within." + e.String()) }

// After is after the commit.
func After(e lifecycle.Event) Moment { return Moment("after." + e.String()) }

// The moments between the log's entries: around each call of the engine, around
// the Capture, and where recovery decides.
const (
	MomentCreating  Moment = "creating"
	MomentCreated   Moment = "created"
	MomentStarting  Moment = "starting"
	MomentStarted   Moment = "started"
	MomentAttaching Moment = "attaching"
	MomentAttached  Moment = "attached"
	MomentOutput    Moment = "output" // the first bytes of the command arrived
	MomentExited    Moment = "exited"
	MomentLooked    Moment = "looked"
	MomentTaken     Moment = "taken"
	MomentStopping  Moment = "stopping"
	MomentStopped   Moment = "stopped"
	MomentRemoving  Moment = "removing"
	MomentAbsent    Moment = "absent"
	MomentCapturing Moment = "capturing"
	MomentCaptured  Moment = "captured"
)

// At is the fail point's name.
func (a Actor) At(m Moment) string { return string(a) + "." + string(m) }

func (s *Service) hit(a Actor, m Moment) {
	if s.Fail != nil {
		s.Fail.Hit(a.At(m))
	}
}
