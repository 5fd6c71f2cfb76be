// Package jobs is the Job manager of the Command Runtime: what an agent's
// supervisor talks to (contract section 7). A Manager belongs to one process and
// one Run, and owns the Jobs that it launches; their output and input live in its
// memory and nowhere else. When it is gone its Jobs are interrupted: nothing
// adopts them.
//
// A Job is launched as any command is: prepared, approved by a reviewer, admitted
// once. The manager adds the state in the ledger, the output with its cursor, and
// the input.
package jobs

import (
	"context"
	"errors"

	"cyberagent/app/standardcode"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/job"
	"cyberagent/domain/lifecycle"
	"cyberagent/ports"
)

// Commands are the use cases that a launch goes through.
type Commands interface {
	Prepare(ctx context.Context, r standardcode.Request, operationKey string) (standardcode.Preparation, error)
	Execute(ctx context.Context, in standardcode.ExecuteInput) (standardcode.Result, *standardcode.Output, error)
}

// Cleaner makes one stream of output valid UTF-8 without escape sequences and
// control characters. It keeps state between calls.
type Cleaner interface {
	Clean(p []byte) []byte
	Flush() []byte
}

// Service is what managers are made from.
type Service struct {
	Commands Commands
	Ledger   ports.Ledger
	Clock    ports.Clock
	IDs      ports.IDs
	Locks    ports.OwnerLocks
	Cleaner  func() Cleaner
}

// ownerLost is the reason of a Job whose owner is gone.
const ownerLost = "owner_lost"

// Reconcile makes the Jobs of dead owners interrupted, of one Run or, when it is
// empty, of all, and returns them. It touches no container: `recover` does.
func (s *Service) Reconcile(ctx context.Context, rid id.Run) ([]job.Job, error) {
	var open []job.Job
	if err := s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
		open, err = rec.OpenJobs(rid)
		return err
	}); err != nil {
		return nil, err
	}
	var done []job.Job
	for _, j := range open {
		ended, err := s.interrupt(ctx, j)
		if err != nil {
			return done, err
		}
		if ended {
			done = append(done, j)
		}
	}
	return done, nil
}

// interrupt ends one Job unless its owner lives.
func (s *Service) interrupt(ctx context.Context, j job.Job) (ended bool, err error) {
	released := s.Locks.Dead(j.Owner)
	err = s.Ledger.Write(ctx, func(rec ports.Records) error {
		ended = false
		present, err := rec.Job(j.ID)
		if err != nil || present.State.Terminal() {
			return err
		}
		dead, err := gone(rec, j.Owner, s.Clock.Boot(), released)
		if err != nil || !dead {
			return err
		}
		if present.Admission == "" {
			// It may have died between its admission and its own next step.
			a, err := rec.AdmissionOfPreparation(present.Preparation)
			if err != nil && !errors.Is(err, fault.NotFound) {
				return err
			}
			present.Admission = a.ID
		}
		if present, err = present.To(job.Interrupted, ownerLost, s.Clock.Now()); err != nil {
			return err
		}
		ended = true
		if err := rec.StepJob(present); err != nil {
			return err
		}
		return rec.AddEvent(ports.Event{Run: present.Run, Kind: "job.interrupted", Subject: string(present.ID), At: present.UpdatedAt})
	})
	return ended, err
}

// gone says whether an owner's claim is over: the kernel released its lock, or its
// heart stopped beating.
func gone(rec ports.Records, owner id.Owner, now lifecycle.Boot, released bool) (bool, error) {
	if released {
		return true, nil
	}
	o, err := rec.JobOwner(owner)
	return err == nil && !o.Live(now), err
}
