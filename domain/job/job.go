package job

import (
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
	"cyberagent/domain/result"
)

// Job is one launch of one Command by a live owner. What the ledger keeps of it
// is metadata: neither its output nor its input is ever part of it.
type Job struct {
	ID           id.Job
	Run          id.Run
	Owner        id.Owner
	Preparation  id.Preparation
	Approval     id.Approval
	Stdin        isolation.Stdin
	OperationKey string
	CreatedAt    time.Time

	// State and what follows are the newest transition's. Version grows by one with
	// each; whoever writes over another than the one he read changes nothing.
	State     State
	Version   int64
	Admission id.Admission // empty before the launch
	Reason    string       // of a terminal state: a reason code or a fault's code
	UpdatedAt time.Time
}

// To returns the Job after one step. It refuses (operation_conflict) what the
// state table does not have.
func (j Job) To(s State, reason string, now time.Time) (Job, error) {
	if err := j.State.Next(s); err != nil {
		return j, err
	}
	j.State, j.Version, j.Reason, j.UpdatedAt = s, j.Version+1, reason, now
	return j, nil
}

// Ended is the terminal state of a command's end.
func Ended(s result.Status) State {
	switch s {
	case result.Succeeded:
		return Succeeded
	case result.Cancelled:
		return Cancelled
	case result.TimedOut:
		return TimedOut
	case result.Failed:
	}
	return Failed
}

// Owner is one process's claim on its Jobs: a heartbeat on the clock of this
// boot, beside the lock that the kernel releases when the process dies.
type Owner struct {
	ID        id.Owner
	Run       id.Run
	BootID    string
	ExpiresAt time.Duration // since boot
	Released  bool
	StartedAt time.Time
}

// Live says whether the claim still counts at a reading of the clock.
func (o Owner) Live(now lifecycle.Boot) bool {
	return !o.Released && o.BootID == now.ID && now.Since < o.ExpiresAt
}

// Room refuses (limit_reached) one more Job where as many as may be are not at
// their end yet.
func Room(open []Job, run id.Run) error {
	ofRun := 0
	for _, j := range open {
		if j.Run == run {
			ofRun++
		}
	}
	switch {
	case ofRun >= limits.JobsPerRun:
		return fault.New(fault.LimitReached, "%d Jobs of this Run have not ended, at most %d may", ofRun, limits.JobsPerRun).
			At("run").Hint("wait for one of them, or cancel it")
	case len(open) >= limits.JobsTotal:
		return fault.New(fault.LimitReached, "%d Jobs of this installation have not ended, at most %d may", len(open), limits.JobsTotal).
			At("run").Hint("wait until one of another Run has ended")
	}
	return nil
}
