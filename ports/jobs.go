package ports

import (
	"cyberagent/domain/id"
	"cyberagent/domain/job"
	"cyberagent/domain/lifecycle"
)

// Jobs keeps the Jobs of the Command Runtime and the heartbeats of their owners.
// Every step of a Job is one more record; none is changed.
type Jobs interface {
	// AddJobOwner makes a process the owner of Jobs of one Run, live for LeaseTTL
	// from now on.
	AddJobOwner(o job.Owner, now lifecycle.Boot) (job.Owner, error)
	// RenewJobOwner moves the expiry to now plus LeaseTTL; lease_lost when the
	// claim is over.
	RenewJobOwner(o id.Owner, now lifecycle.Boot) (job.Owner, error)
	ReleaseJobOwner(o id.Owner) error
	JobOwner(o id.Owner) (job.Owner, error)
	// AddJob records a new Job, prepared, at version 1. It begins something.
	AddJob(j job.Job) error
	// StepJob records the state that j has now, made from version j.Version-1;
	// operation_conflict when another step was recorded since, or the state table
	// has none.
	StepJob(j job.Job) error
	Job(jid id.Job) (job.Job, error)
	// ListJobs returns a Run's newest Jobs, the newest first, most at the most.
	ListJobs(rid id.Run, most int) ([]job.Job, error)
	// OpenJobs returns all that are not terminal; an empty Run means all.
	OpenJobs(rid id.Run) ([]job.Job, error)
}
