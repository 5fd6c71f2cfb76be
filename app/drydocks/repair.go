package drydocks

import (
	"context"
	"slices"

	"cyberagent/app/operation"
	"cyberagent/domain/admission"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/ports"
)

// RepairProtocol names the answer of repair.
const RepairProtocol = "drydock-repair.v1"

// Repairer runs the fixed container in its repair mode: no command, only access
// given back to what its user owns.
type Repairer interface {
	// Ready refuses, with the first blocker, what stands in the way.
	Ready(ctx context.Context, rid id.Run, gates admission.Gates) error
	// Clear removes the container of an execution that was cut off, and proves that
	// none is left.
	Clear(ctx context.Context, d drydock.Drydock, execution id.Admission) error
	// Repair runs it and proves that no container is left. An execution id is used
	// once: an engine may still be at work on the request of a process that died,
	// and would take a second container of that name for the first.
	Repair(ctx context.Context, d drydock.Drydock, execution id.Admission) (drydock.Repaired, error)
}

// RepairInput names the Run and the process gates.
type RepairInput struct {
	Run          id.Run
	Gates        admission.Gates
	OperationKey string
}

// RepairView is what a repair left.
type RepairView struct {
	Protocol    string         `json:"protocol_version"`
	RunID       id.Run         `json:"run_id"`
	DrydockID   id.Drydock     `json:"drydock_id"`
	ExecutionID id.Admission   `json:"execution_id"`
	Status      drydock.Status `json:"status"`
	Reason      string         `json:"reason"`
	Generation  int64          `json:"generation"`
	Unreadable  []string       `json:"unreadable"`
	Detail      string         `json:"detail"`
	Replayed    bool           `json:"replayed"`
}

// Repair restores access to what the container's user made unreadable, in the
// same fixed container, without a command. The Drydock keeps the status that it
// had; what was lost of its integrity makes it recovery_required.
func (s *Service) Repair(ctx context.Context, in RepairInput) (RepairView, error) {
	key, err := operation.NewKey(in.Run, "drydock.repair", in.OperationKey, nil)
	if err != nil {
		return RepairView{}, err
	}
	var v RepairView
	answered, begun, err := s.recall(ctx, key, &v)
	if err != nil || answered {
		v.Replayed = answered
		return v, err
	}
	if _, err := s.state(ctx, in.Run); err != nil {
		return v, err // no engine can change that there is none
	}
	if err := s.Repairs.Ready(ctx, in.Run, in.Gates); err != nil {
		return v, err
	}
	step, d, err := s.beginRepair(ctx, key, in.Run, begun)
	if err != nil {
		return v, err
	}
	s.hit("repair.begun")
	r, err := s.Repairs.Repair(ctx, d, executionOf(step))
	if err != nil {
		return v, err
	}
	s.hit("repair.repaired")
	return s.finishRepair(ctx, key, d, step, r)
}

// executionOf is the id that finds the container of a repair's step.
func executionOf(step drydock.Step) id.Admission { return id.Admission(step.Facts["execution"]) }

// beginRepair takes the Drydock out of use, or takes over a repair that was cut
// off once nothing is left of its containers.
func (s *Service) beginRepair(ctx context.Context, key operation.Key, rid id.Run, begun bool) (step drydock.Step, d drydock.Drydock, err error) {
	st, err := s.state(ctx, rid)
	if err != nil {
		return step, d, err
	}
	left := repairsCutOff(st.steps)
	for _, l := range left {
		if err := s.Repairs.Clear(ctx, st.drydock, executionOf(l)); err != nil {
			return step, d, err
		}
	}
	now := s.Clock.Now()
	facts := map[string]string{"execution": s.IDs.New(id.KindAdmission)}
	err = s.Ledger.Write(ctx, func(rec ports.Records) error {
		st, err := readState(rec, rid)
		if err != nil {
			return err
		}
		d = st.drydock
		switch pending := repairsCutOff(st.steps); {
		case !slices.EqualFunc(pending, left, func(a, b drydock.Step) bool { return a.Receipt == b.Receipt }):
			return fault.New(fault.InProgress, "another repair of this Drydock began or ended meanwhile").At("run").
				Hint("look at `cyberagent drydock status %s`, and repeat the repair if it is needed", d.Run)
		case len(pending) > 0:
			facts["status"], facts["reason"] = pending[0].Facts["status"], pending[0].Facts["reason"]
		case begun:
			return overtaken(d)
		case st.running != "":
			return busy(st.running)
		case d.Status == drydock.Preparing:
			return notReady(d)
		default:
			facts["status"], facts["reason"] = string(d.Status), d.Reason
			d = d.Quarantine("a repair is under way, or was cut off", now)
		}
		step = s.step(d, drydock.VerbRepair, drydock.Begun, key.Name(), facts, now)
		if len(left) > 0 { // the Drydock is out of use already
			err = s.note(rec, step)
		} else {
			err = s.take(rec, d, step)
		}
		if err != nil || begun {
			return err
		}
		return key.Record(rec, nil, now)
	})
	return step, d, err
}

// repairsCutOff returns the steps of a repair that began and did not end: one for
// each time that it was taken up again.
func repairsCutOff(steps []drydock.Step) []drydock.Step {
	n := len(steps)
	for n > 0 && steps[n-1].Verb == drydock.VerbRepair && steps[n-1].Phase == drydock.Begun {
		n--
	}
	return steps[n:]
}

func (s *Service) finishRepair(ctx context.Context, key operation.Key, d drydock.Drydock, begun drydock.Step, r drydock.Repaired) (RepairView, error) {
	now := s.Clock.Now()
	status, reason := drydock.Status(begun.Facts["status"]), begun.Facts["reason"]
	switch err := s.Worktrees.Verify(ctx, d.Place); {
	case fault.CodeOf(err) == fault.IntegrityLost || !r.Intact:
		status, reason = drydock.RecoveryRequired, "the worktree or its mask changed during a repair"
	case err != nil: // not known: the repair stays pending, and the same call repeats it
		return RepairView{}, err
	}
	v := RepairView{
		Protocol: RepairProtocol, RunID: d.Run, DrydockID: d.ID, ExecutionID: executionOf(begun),
		Unreadable: r.Unreadable, Detail: r.Detail,
	}
	if v.Unreadable == nil {
		v.Unreadable = []string{}
	}
	err := s.Ledger.Write(ctx, func(rec ports.Records) error {
		if answered, _, err := key.Recall(rec, &v); err != nil || answered {
			v.Replayed = answered
			return err
		}
		done := d.Settle(status, reason, now)
		v.Status, v.Reason, v.Generation = done.Status, done.Reason, done.Generation
		if err := s.take(rec, done, s.step(done, drydock.VerbRepair, drydock.Done, begun.Key, map[string]string{"status": string(status)}, now)); err != nil {
			return err
		}
		return key.Answer(rec, v)
	})
	return v, err
}
