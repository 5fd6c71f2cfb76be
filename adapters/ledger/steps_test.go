package ledger

import (
	"reflect"
	"strings"
	"testing"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/ports"
)

func stepOf(c chain, n int, verb drydock.Verb, phase drydock.Phase) drydock.Step {
	return drydock.Step{
		Receipt: name[id.Receipt](id.KindReceipt, 40+n), Drydock: c.drydock.ID, Run: c.run.ID, Verb: verb, Phase: phase,
		Generation: int64(n), Checkpoint: c.checkpoint.ID, Key: "key-1", Facts: map[string]string{"target": "t"}, At: t0,
	}
}

func TestStepsAreKeptInOrder(t *testing.T) {
	t.Parallel()
	l := full(t)
	c := chainOf(t, 1)
	want := []drydock.Step{stepOf(c, 1, "rewind", "begun"), stepOf(c, 2, "rewind", "done"), stepOf(c, 3, "cleanup", "begun")}
	for _, s := range want {
		write(t, l, func(r ports.Records) error { return r.AddStep(s) })
	}
	got := read(t, l, func(r ports.Records) ([]drydock.Step, error) { return r.ListSteps(c.drydock.ID) })
	if len(got) != 4 || !reflect.DeepEqual(got[1:], want) {
		t.Errorf("got %+v", got)
	}
}

func TestAReceiptIsGivenOnce(t *testing.T) {
	t.Parallel()
	l := full(t)
	s := stepOf(chainOf(t, 1), 1, "deliver", "done")
	write(t, l, func(r ports.Records) error { return r.AddStep(s) })
	if err := l.Write(t.Context(), func(r ports.Records) error { return r.AddStep(s) }); fault.CodeOf(err) != fault.OperationConflict {
		t.Errorf("again: %v", err)
	}
}

func TestACleanUpThatBeganIsTheEndOfEveryOtherVerb(t *testing.T) {
	t.Parallel()
	l := full(t)
	c := chainOf(t, 1)
	var d drydock.Drydock
	write(t, l, func(r ports.Records) (err error) {
		if err := r.AddStep(stepOf(c, 1, "cleanup", "begun")); err != nil {
			return err
		}
		if d, err = r.Drydock(c.drydock.ID); err != nil {
			return err
		}
		d = d.Quarantine("cleanup pending", t0)
		return r.UpdateDrydock(d)
	})
	for what, do := range map[string]func(ports.Records) error{
		"a rewind":     func(r ports.Records) error { return r.AddStep(stepOf(c, 2, "rewind", "begun")) },
		"a delivery":   func(r ports.Records) error { return r.AddStep(stepOf(c, 2, "deliver", "done")) },
		"a Checkpoint": func(r ports.Records) error { return r.UpdateDrydock(d.Advance(d.Checkpoint, t0)) },
		"delivered":    func(r ports.Records) error { return r.UpdateDrydock(d.Deliver(t0)) },
	} {
		if err := l.Write(t.Context(), do); fault.CodeOf(err) != fault.OperationConflict || !strings.Contains(err.Error(), "being cleaned up") {
			t.Errorf("%s: %v", what, err)
		}
	}
	write(t, l, func(r ports.Records) error {
		if err := r.AddStep(stepOf(c, 3, "cleanup", "done")); err != nil {
			return err
		}
		return r.UpdateDrydock(d.Clean(t0))
	})
	err := l.Write(t.Context(), func(r ports.Records) error { return r.UpdateDrydock(d.Clean(t0).Quarantine("x", t0)) })
	if fault.CodeOf(err) != fault.OperationConflict {
		t.Errorf("after cleaned: %v", err)
	}
}
