package standardcode

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/ports"
)

// StatusProtocol names status' answer.
const StatusProtocol = "standard-code-execution.v1"

// Execution is what the ledger knows of one admission.
type Execution struct {
	Protocol    string           `json:"protocol_version"`
	ExecutionID id.Admission     `json:"execution_id"`
	RunID       id.Run           `json:"run_id"`
	Preparation id.Preparation   `json:"preparation_id"`
	Approval    id.Approval      `json:"approval_id"`
	State       lifecycle.State  `json:"state"`
	OwnerLives  bool             `json:"owner_lives"`
	Cancelled   bool             `json:"cancel_requested"`
	Log         []ExecutionEvent `json:"log"`
	CreatedAt   time.Time        `json:"created_at"`
	// Result is the recorded end, nil before it.
	Result *Result `json:"result"`
}

// ExecutionEvent is one line of the write-ahead log.
type ExecutionEvent struct {
	Sequence   int64     `json:"sequence"`
	Event      string    `json:"event"`
	Generation int64     `json:"lease_generation"`
	At         time.Time `json:"at"`
}

// Status returns every execution of a Run, the newest first, or one of them.
func (s *Service) Status(ctx context.Context, rid id.Run, adm id.Admission) ([]Execution, error) {
	out := []Execution{}
	err := s.Ledger.Read(ctx, func(rec ports.Records) error {
		var all []lifecycle.Admission
		var err error
		if adm != "" {
			var a lifecycle.Admission
			a, err = rec.Admission(adm)
			all = []lifecycle.Admission{a}
		} else if _, err = rec.Run(rid); err == nil {
			all, err = rec.ListAdmissions(rid)
			slices.Reverse(all) // the ledger has the oldest first
		}
		if err != nil {
			return err
		}
		for _, a := range all {
			if rid != "" && a.Run != rid {
				return fault.New(fault.NotFound, "%s is not a command of this Run", adm).At("admission").
					Hint("list them with `cyberagent run standard-code status %s`", rid)
			}
			x, err := s.execution(rec, a)
			if err != nil {
				return err
			}
			out = append(out, x)
		}
		return nil
	})
	return out, err
}

func (s *Service) execution(rec ports.Records, a lifecycle.Admission) (Execution, error) {
	x := Execution{
		Protocol: StatusProtocol, ExecutionID: a.ID, RunID: a.Run, Preparation: a.Preparation, Approval: a.Approval,
		Log: []ExecutionEvent{}, CreatedAt: a.CreatedAt,
	}
	log, err := rec.Log(a.ID)
	if err != nil {
		return x, err
	}
	if x.State, err = lifecycle.Replay(lifecycle.EventsOf(log)); err != nil {
		return x, err
	}
	for _, e := range log {
		x.Log = append(x.Log, ExecutionEvent{e.Sequence, e.Event.String(), e.Generation, e.At})
	}
	c, err := rec.Cancellation(a.ID)
	if err != nil {
		return x, err
	}
	x.Cancelled = c != nil
	if x.State != lifecycle.Finalized {
		x.OwnerLives = !s.ownerDead(rec, a.ID)
		return x, nil
	}
	receipts, err := rec.Receipts(a.ID)
	if err != nil {
		return x, err
	}
	x.Result = &Result{}
	return x, json.Unmarshal(receipts.Result, x.Result)
}

// ownerDead says that nobody can act on the admission: there is no lease, it is
// over, or the kernel released its owner's lock.
func (s *Service) ownerDead(rec ports.Records, a id.Admission) bool {
	l, err := rec.Lease(a)
	if errors.Is(err, fault.NotFound) {
		return true
	}
	if err != nil {
		return false
	}
	return !l.Live(s.Clock.Boot()) || s.Locks.Dead(l.Owner)
}
