package lifecycle

import (
	"slices"

	"cyberagent/domain/result"
)

// Seen is what the engine says about an admission's container.
type Seen string

// What can be seen. Exact means: the deterministic name and every label match,
// and there is one.
const (
	SeenAbsent      Seen = "absent"
	SeenCreated     Seen = "created" // exact owned, never started
	SeenRunning     Seen = "running" // exact owned
	SeenExited      Seen = "exited"  // exact owned
	SeenForeign     Seen = "foreign" // our name, other labels
	SeenAmbiguous   Seen = "ambiguous"
	SeenPaused      Seen = "paused"
	SeenOther       Seen = "other"
	SeenUnreachable Seen = "unreachable"
)

// AllSeen returns every observation.
func AllSeen() []Seen {
	return []Seen{SeenAbsent, SeenCreated, SeenRunning, SeenExited, SeenForeign, SeenAmbiguous, SeenPaused, SeenOther, SeenUnreachable}
}

// Step is one thing that recovery does. There is no step that starts anything.
type Step string

// The steps, in the order in which a plan has them.
const (
	StepStop       Step = "stop"
	StepRemove     Step = "remove"
	StepCheckpoint Step = "checkpoint"
	StepFinalize   Step = "finalize"
)

// Situation is what recovery knows about one admission whose owner is dead.
type Situation struct {
	State State
	Seen  Seen
	// StartIntended says whether the log has a start intent (MayHaveStarted).
	StartIntended bool
	// Reported is the last verdict that the log holds: with exit:done from a valid
	// report, or with the remove:intent of an earlier recovery; nil when there is
	// none.
	Reported *result.Verdict
	// Checkpointed says that the admission's Checkpoint receipt exists.
	Checkpointed bool
	// Cancelled says that an operator cancelled it; a lost owner is then a
	// cancelled command.
	Cancelled bool
	// DrydockUnchanged says that the files equal the Checkpoint before the run.
	DrydockUnchanged bool
}

// Plan is what recovery will do. Preserve means: touch nothing and say what was
// seen; then Steps is empty.
type Plan struct {
	Preserve bool
	Why      string
	Steps    []Step
	// Status and Reason are what finalize records.
	Status result.Status
	Reason result.Reason
	// EvidenceOnly says that the engine's exit code goes into details only.
	EvidenceOnly bool
}

func preserve(why string) Plan { return Plan{Preserve: true, Why: why} }

// Decide is the recovery table. It looks at nothing but its argument, so the
// same situation gives the same plan, and it never starts or adopts anything.
//
// A plan without StepFinalize for an admission that is not finalized means: do
// it, look again, and decide again.
func Decide(s Situation) Plan {
	p := decide(s)
	switch s.State {
	case Admitted, Creating, Created, Finalized:
		return p
	default:
	}
	if p.Preserve || !s.StartIntended || p.Reason != result.NeverStarted {
		return p
	}
	// A start request that was sent before its owner died may take effect until
	// the container is gone (found by the model check). So never_started is only
	// expected until the container is proven absent and the files are compared.
	if s.State != Removed || s.Seen != SeenAbsent {
		p.Steps = slices.DeleteFunc(p.Steps, func(step Step) bool { return step == StepCheckpoint || step == StepFinalize })
		return p
	}
	if s.DrydockUnchanged {
		return p
	}
	s.Reported = &result.Verdict{Status: result.Failed, Reason: result.EngineLost}
	return decide(s)
}

func decide(s Situation) Plan {
	switch s.Seen {
	case SeenUnreachable:
		return preserve("the engine cannot be reached")
	case SeenForeign:
		return preserve("a container of that name has other labels")
	case SeenAmbiguous:
		return preserve("more than one container matches")
	case SeenPaused:
		// The quota's backstop freezes the container for moments; an owner that dies
		// then leaves it so. It is exactly ours, so it is ended like a running one.
		s.Seen = SeenRunning
	case SeenAbsent, SeenCreated, SeenRunning, SeenExited:
	default:
		return preserve("the engine reports a state that the product does not know")
	}
	switch s.State {
	case Finalized:
		return finalized(s)
	case Admitted, Creating, Created:
		return neverStarted(s)
	case Starting, Running, Attaching, Attached, Exited:
		return mayHaveRun(s)
	case Removing, Removed:
		return ending(s)
	}
	return preserve("the ledger has a state that the product does not know")
}

// finalized: a paused stale owner may have created the container late.
func finalized(s Situation) Plan {
	switch s.Seen {
	case SeenAbsent:
		return Plan{Why: "already final"}
	case SeenRunning:
		return Plan{Why: "a container of a finished command is running", Steps: []Step{StepStop, StepRemove}}
	default:
		return Plan{Why: "a container appeared after the end", Steps: []Step{StepRemove}}
	}
}

// neverStarted: no start was intended, so nothing ran.
func neverStarted(s Situation) Plan {
	p := Plan{Status: result.Cancelled, Reason: result.NeverStarted, Why: "the command was never started"}
	switch {
	case s.Seen == SeenAbsent:
		p.Steps = []Step{StepRemove, StepFinalize}
	case s.Seen == SeenCreated && s.State != Admitted:
		p.Steps = []Step{StepRemove, StepFinalize}
	default:
		return preserve("a container exists that the log does not account for")
	}
	if s.State == Admitted {
		p.Steps = []Step{StepFinalize}
	}
	return p
}

// mayHaveRun: a start was sent, or may have been.
func mayHaveRun(s Situation) Plan {
	withCheckpoint := []Step{StepRemove, StepCheckpoint, StepFinalize}
	switch s.Seen {
	case SeenCreated:
		if s.State != Starting {
			return preserve("the log says started, the engine says never started")
		}
		// An engine killed between task start and saving its state looks like this,
		// so only an unchanged Drydock proves that nothing ran.
		if s.DrydockUnchanged {
			return Plan{
				Steps: []Step{StepRemove, StepFinalize}, Status: result.Cancelled, Reason: result.NeverStarted,
				Why: "the engine never started it and the Drydock equals its Checkpoint",
			}
		}
		return Plan{
			Steps: withCheckpoint, Status: result.Failed, Reason: result.EngineLost,
			Why: "the engine says never started but the Drydock changed",
		}
	case SeenRunning:
		if s.State == Exited {
			return preserve("the log says exited, the engine says running")
		}
		p := Plan{
			Steps: append([]Step{StepStop}, withCheckpoint...), Status: result.Cancelled, Reason: result.OwnerLost,
			Why: "its owner is gone; nothing adopts a running command",
		}
		return reported(p, s)
	case SeenExited:
		p := Plan{
			Steps: withCheckpoint, Status: result.Failed, Reason: result.OwnerLost, EvidenceOnly: true,
			Why: "it ended while nobody watched",
		}
		return reported(p, s)
	default:
		p := Plan{
			Steps: withCheckpoint, Status: result.Failed, Reason: result.EngineLost,
			Why: "its container is gone",
		}
		return reported(p, s)
	}
}

// ending: the removal was intended; what is left of it is finished. The verdict
// that was recorded with the intent stands.
func ending(s Situation) Plan {
	if s.Seen == SeenCreated && s.StartIntended && s.Reported == nil {
		// A removal that began from starting and was cut off: decide it again.
		s.State = Starting
		return mayHaveRun(s)
	}
	if !s.StartIntended && s.Seen != SeenAbsent && s.Seen != SeenCreated {
		return preserve("the log says never started, the engine says otherwise")
	}
	p := Plan{Status: result.Failed, Reason: result.OwnerLost, Why: "its removal was under way"}
	switch {
	case s.Seen == SeenRunning:
		// The owner gave up on an engine that hung (pitfall F6), or died between its
		// intent and the stop.
		p.Steps = []Step{StepStop, StepRemove}
	case s.State == Removing || s.Seen != SeenAbsent:
		p.Steps = []Step{StepRemove}
	}
	if !s.StartIntended {
		p.Status, p.Reason = result.Cancelled, result.NeverStarted
	} else {
		p.Steps = append(p.Steps, StepCheckpoint)
	}
	p.Steps = append(p.Steps, StepFinalize)
	return reported(p, s)
}

// neverRan says that a recorded verdict knows that the command touched no file.
func neverRan(v *result.Verdict) bool {
	if v == nil {
		return false
	}
	switch v.Reason {
	case result.NeverStarted, result.StartFailed, result.IsolationMismatch:
		return true
	default:
		return false
	}
}

// reported lets a verdict stand that was recorded from a valid report, and
// leaves out a Checkpoint that exists.
func reported(p Plan, s Situation) Plan {
	if s.Reported != nil {
		p.Status, p.Reason, p.EvidenceOnly = s.Reported.Status, s.Reported.Reason, false
	} else if s.Cancelled && p.Reason == result.OwnerLost {
		p.Status, p.Reason = result.Cancelled, result.CancelledReason
	}
	if s.Checkpointed || neverRan(s.Reported) {
		kept := p.Steps[:0:0]
		for _, st := range p.Steps {
			if st != StepCheckpoint {
				kept = append(kept, st)
			}
		}
		p.Steps = kept
	}
	return p
}
