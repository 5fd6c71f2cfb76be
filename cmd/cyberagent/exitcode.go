package main

import (
	"cyberagent/app/standardcode"
	"cyberagent/domain/fault"
	"cyberagent/domain/result"
)

// The exit statuses (contract section 5).
const (
	exitDone      = 0
	exitInternal  = 1
	exitUsage     = 2
	exitBlocked   = 3
	exitConflict  = 4
	exitFailed    = 5
	exitTimedOut  = 6
	exitCancelled = 7
	exitRecovery  = 8
)

// exitOf maps an error's class.
func exitOf(e *fault.Error) int {
	switch e.Code.Class() {
	case fault.ClassUsage:
		return exitUsage
	case fault.ClassBlocked:
		return exitBlocked
	case fault.ClassConflict:
		return exitConflict
	case fault.ClassRecovery:
		return exitRecovery
	case fault.ClassCancelled:
		return exitCancelled
	default:
		return exitInternal
	}
}

// exitOfResult maps how a command ended. What never ran, or ended with the
// engine or the runner, did not fail by itself: that is internal.
func exitOfResult(r standardcode.Result) int {
	if r.Recovery {
		return exitRecovery
	}
	switch r.Status {
	case result.Succeeded:
		return exitDone
	case result.TimedOut:
		return exitTimedOut
	case result.Cancelled:
		return exitCancelled
	case result.Failed:
	}
	switch r.ReasonCode {
	case result.IsolationMismatch, result.NeverStarted, result.StartFailed, result.EngineLost, result.RunnerFailure:
		return exitInternal
	default:
		return exitFailed
	}
}
