package drydock

import (
	"time"

	"cyberagent/domain/id"
)

// Verb names what a Step belongs to.
type Verb string

// The verbs that leave Steps. Checkpoints have receipts of their own.
const (
	VerbRewind    Verb = "rewind"
	VerbDeliver   Verb = "deliver"
	VerbFork      Verb = "fork"
	VerbRepair    Verb = "repair"
	VerbCleanup   Verb = "cleanup"
	VerbReconcile Verb = "reconcile"
)

// Phase says how far a verb came.
type Phase string

// The phases: begun is written before anything is touched; kept says that
// nothing was done, or no more, and why.
const (
	Begun Phase = "begun"
	Done  Phase = "done"
	Kept  Phase = "kept"
)

// Step is the ledger's immutable receipt of one phase of a verb. Facts are words,
// numbers, ids and digests: no path of the host, no name of a file.
type Step struct {
	Receipt    id.Receipt
	Drydock    id.Drydock
	Run        id.Run
	Verb       Verb
	Phase      Phase
	Generation int64         // the Drydock's after it
	Checkpoint id.Checkpoint // the Drydock's after it; empty before the first
	Key        string        // of the operation
	Facts      map[string]string
	At         time.Time
}

// Pending returns the newest Step if it was begun and nothing came after it: a
// verb that is at work, or was cut off.
func Pending(steps []Step) *Step {
	if n := len(steps); n > 0 && steps[n-1].Phase == Begun {
		return &steps[n-1]
	}
	return nil
}

// Cleaning says that the clean-up began. It only ends with it.
func Cleaning(steps []Step) bool {
	for _, s := range steps {
		if s.Verb == VerbCleanup && s.Phase == Begun {
			return true
		}
	}
	return false
}

// FactConfirmed is the fact of a clean-up's beginning that says which digest was
// confirmed.
const FactConfirmed = "confirmed"

// Confirmed says that a clean-up began of exactly what the digest stood for.
func Confirmed(steps []Step, digest string) bool {
	for _, s := range steps {
		if s.Verb == VerbCleanup && s.Phase == Begun && digest != "" && s.Facts[FactConfirmed] == digest {
			return true
		}
	}
	return false
}
