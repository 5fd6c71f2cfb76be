package drydocks

import (
	"context"
	"slices"
	"time"

	"cyberagent/app/operation"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/ports"
)

// state is everything that decides whether a verb may begin.
type state struct {
	drydock drydock.Drydock
	steps   []drydock.Step
	running id.Admission
}

func readState(rec ports.Records, rid id.Run) (s state, err error) {
	if _, err = rec.Run(rid); err != nil {
		return s, err
	}
	if s.drydock, err = rec.DrydockOfRun(rid); err != nil {
		return s, absent(rec, rid, err)
	}
	if s.steps, err = rec.ListSteps(s.drydock.ID); err != nil {
		return s, err
	}
	s.running, err = open(rec, rid)
	return s, err
}

// states reads every Drydock that is wanted. Whose command is open is asked once.
func states(rec ports.Records, wanted func(drydock.Drydock) bool) ([]state, error) {
	list, err := rec.ListDrydocks()
	if err != nil {
		return nil, err
	}
	open, err := rec.OpenAdmissions("")
	if err != nil {
		return nil, err
	}
	running := map[id.Run]id.Admission{}
	for _, a := range slices.Backward(open) {
		running[a.Run] = a.ID
	}
	var all []state
	for _, d := range list {
		if !wanted(d) {
			continue
		}
		st := state{drydock: d, running: running[d.Run]}
		if st.steps, err = rec.ListSteps(d.ID); err != nil {
			return nil, err
		}
		all = append(all, st)
	}
	return all, nil
}

func (s *Service) state(ctx context.Context, rid id.Run) (st state, err error) {
	err = s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
		st, err = readState(rec, rid)
		return err
	})
	return st, err
}

// idle refuses a Drydock that a command, a repair or a clean-up owns.
func (st state) idle() error {
	if st.running != "" {
		return busy(st.running)
	}
	if drydock.Cleaning(st.steps) {
		return cleaning(st.drydock)
	}
	if p := drydock.Pending(st.steps); p != nil && p.Verb == drydock.VerbRepair {
		return fault.New(fault.InProgress, "a repair may still have a container on this Drydock").At("run").
			Hint("wait for it, or repeat `cyberagent drydock repair %s`", st.drydock.Run)
	}
	return nil
}

func cleaning(d drydock.Drydock) error {
	return fault.New(fault.CleanupPending, "the Drydock is being cleaned up").At("run").
		Hint("repeat `cyberagent drydock cleanup %s`", d.Run)
}

// step makes a receipt of a phase of a verb on d as it is after it.
func (s *Service) step(d drydock.Drydock, v drydock.Verb, p drydock.Phase, key string, facts map[string]string, now time.Time) drydock.Step {
	return drydock.Step{
		Receipt: id.Receipt(s.IDs.New(id.KindReceipt)), Drydock: d.ID, Run: d.Run, Verb: v, Phase: p,
		Generation: d.Generation, Checkpoint: d.Checkpoint, Key: key, Facts: facts, At: now,
	}
}

// take writes a Drydock's next state with its receipt and its event.
func (s *Service) take(rec ports.Records, d drydock.Drydock, step drydock.Step) error {
	old, err := rec.Drydock(d.ID)
	if err != nil {
		return err
	}
	if !old.Status.CanBecome(d.Status) {
		return fault.New(fault.DrydockNotReady, "a Drydock that is %s cannot become %s", old.Status, d.Status).At("run").
			Hint("look at `cyberagent drydock status %s`", d.Run)
	}
	if err := rec.UpdateDrydock(d); err != nil {
		return err
	}
	return s.note(rec, step)
}

// note writes a receipt with its event.
func (s *Service) note(rec ports.Records, step drydock.Step) error {
	if err := rec.AddStep(step); err != nil {
		return err
	}
	return rec.AddEvent(ports.Event{
		Run: step.Run, Kind: "drydock." + string(step.Verb) + "." + string(step.Phase), Subject: string(step.Drydock),
		Detail: step.Facts, At: step.At,
	})
}

// recall finds what an operation key did before: answered fills v; begun says
// that its work was begun and has no answer yet.
func (s *Service) recall(ctx context.Context, key operation.Key, v any) (answered, begun bool, err error) {
	err = s.Ledger.Read(ctx, func(rec ports.Records) error {
		answered, begun, err = key.Recall(rec, v)
		return err
	})
	return answered, begun, err
}

// resumed returns the pending step that an operation key began, or says that
// something else happened to the Drydock since.
func (st state) resumed(verb drydock.Verb, key operation.Key) (drydock.Step, error) {
	if p := drydock.Pending(st.steps); p != nil && p.Verb == verb && p.Key == key.Name() {
		return *p, nil
	}
	return drydock.Step{}, overtaken(st.drydock)
}

func overtaken(d drydock.Drydock) error {
	return fault.New(fault.OperationConflict, "the Drydock has changed since this operation was cut off").At("operation_key").
		Hint("look at `cyberagent drydock status %s`, and ask again with a new key", d.Run)
}
