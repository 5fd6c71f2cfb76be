//go:build linux

package standardcode_test

import (
	"slices"
	"strings"
	"testing"

	"cyberagent/app/standardcode"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/result"
	"cyberagent/ports"
)

// asked notes every call of the engine.
func (l *lab) asked() *[]string {
	calls := &[]string{}
	l.engine.Before = func(call string) error {
		*calls = append(*calls, call)
		return nil
	}
	return calls
}

func TestRecover_AsksTheEngineUnderTheLeaseAndOnceMoreToProveTheAbsence(t *testing.T) {
	t.Parallel()
	l := mustLab(t)
	l.dies(standardcode.MomentCreating)
	calls := l.asked()
	if r := l.recovered(); r.ReasonCode != result.NeverStarted {
		t.Errorf("%s", r.ReasonCode)
	}
	// The first is for those that appeared late, of which there is none.
	if want := []string{"FindOwned", "Find", "Find"}; !slices.Equal(*calls, want) {
		t.Errorf("the engine was asked %v, want %v", *calls, want)
	}
}

func TestRecover_LeavesTheEngineAloneWhileTheOwnerLives(t *testing.T) {
	t.Parallel()
	l := mustLab(t)
	l.dies(standardcode.MomentCreating)
	all, err := l.service.Status(t.Context(), l.run, "")
	l.must(err)
	aid := all[0].ExecutionID
	owner := id.Owner(l.service.IDs.New(id.KindOwner))
	release, err := l.service.Locks.Hold(owner)
	l.must(err)
	defer release()
	l.must(l.ledger.Write(t.Context(), func(rec ports.Records) error {
		_, err := rec.TakeLease(aid, owner, l.service.Clock.Boot(), true)
		return err
	}))
	calls := l.asked()
	rec, err := l.service.Recover(t.Context(), standardcode.RecoverInput{Admission: aid})
	l.must(err)
	if len(rec.Items) != 1 || rec.Items[0].Outcome != standardcode.OutcomeOwned || len(*calls) > 0 {
		t.Errorf("%+v, and the engine was asked %v", rec.Items, *calls)
	}
}

// What the dead command left are no files of the reader's to record.
func TestPrepare_AfterACrashSaysToRecoverFirst(t *testing.T) {
	t.Parallel()
	l := mustLab(t)
	l.dies(standardcode.MomentExited)
	_, err := l.service.Prepare(t.Context(), l.request(), l.key())
	if e := fault.From(err); e.Code != fault.InProgress || !strings.Contains(e.Remedy, "standard-code recover "+string(l.run)) {
		t.Errorf("%v, what to do: %s", err, e.Remedy)
	}
	l.recovered()
	if _, err := l.service.Prepare(t.Context(), l.request(), l.key()); err != nil {
		t.Error(err)
	}
}
