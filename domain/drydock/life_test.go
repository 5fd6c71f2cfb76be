package drydock_test

import (
	"testing"
	"time"

	"cyberagent/domain/drydock"
)

// life is written out by hand: rows are where a Drydock is, columns where it may
// be next, in the order of Statuses.
var life = map[drydock.Status][5]bool{
	//                    preparing ready  delivered recovery cleaned
	"preparing":         {false, true, false, true, true},
	"ready":             {false, true, true, true, true},
	"delivered":         {false, true, true, true, true},
	"recovery_required": {false, true, true, true, true},
	"cleaned":           {false, false, false, false, false},
}

func TestStatus_TheLifeIsTheMatrix(t *testing.T) {
	t.Parallel()
	all := []drydock.Status{"preparing", "ready", "delivered", "recovery_required", "cleaned"}
	if got := drydock.Statuses(); len(got) != len(all) {
		t.Fatalf("statuses %v", got)
	}
	for _, from := range all {
		for i, to := range all {
			if got := from.CanBecome(to); got != life[from][i] {
				t.Errorf("%s to %s: %v", from, to, got)
			}
		}
	}
}

func TestDrydock_EveryChangeOfStateAddsOneGeneration(t *testing.T) {
	t.Parallel()
	d := drydock.Drydock{Status: drydock.Ready, Generation: 4, Checkpoint: "ckpt_1", Reason: "old"}
	for want, got := range map[drydock.Status]drydock.Drydock{
		"delivered":         d.Deliver(later),
		"cleaned":           d.Clean(later),
		"recovery_required": d.Quarantine("why", later),
		"ready":             d.Settle(drydock.Ready, "", later),
	} {
		if got.Status != want || got.Generation != 5 || got.Checkpoint != "ckpt_1" || !got.UpdatedAt.Equal(later) || got.Reason == "old" {
			t.Errorf("%s: %+v", want, got)
		}
		if !d.Status.CanBecome(got.Status) {
			t.Errorf("%s is not in the life", want)
		}
	}
	if d.Generation != 4 {
		t.Error("the old value changed")
	}
}

func TestDrydock_OnlyAWholeOneIsHandedOut(t *testing.T) {
	t.Parallel()
	for s, want := range map[drydock.Status]bool{"preparing": false, "ready": true, "delivered": true, "recovery_required": false, "cleaned": false} {
		if got := (drydock.Drydock{Status: s}).Whole(); got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
}

func TestDrydock_ExpiresAtItsTime(t *testing.T) {
	t.Parallel()
	d := drydock.Drydock{ExpiresAt: noon}
	for at, want := range map[time.Time]bool{noon.Add(-time.Microsecond): false, noon: true, later: true} {
		if d.Expired(at) != want {
			t.Errorf("at %s: %v", at, !want)
		}
	}
}

func TestSteps_SayWhatIsPending(t *testing.T) {
	t.Parallel()
	step := func(v drydock.Verb, p drydock.Phase) drydock.Step { return drydock.Step{Verb: v, Phase: p} }
	for name, tt := range map[string]struct {
		steps    []drydock.Step
		pending  drydock.Verb
		cleaning bool
	}{
		"nothing":                      {nil, "", false},
		"a verb that was begun":        {[]drydock.Step{step("rewind", "begun")}, "rewind", false},
		"a verb that ended":            {[]drydock.Step{step("rewind", "begun"), step("rewind", "done")}, "", false},
		"a verb that was given up":     {[]drydock.Step{step("rewind", "begun"), step("rewind", "kept")}, "", false},
		"a clean-up":                   {[]drydock.Step{step("cleanup", "begun")}, "cleanup", true},
		"a clean-up behind a repair":   {[]drydock.Step{step("cleanup", "begun"), step("repair", "begun"), step("repair", "done")}, "", true},
		"a repair within the clean-up": {[]drydock.Step{step("cleanup", "begun"), step("repair", "begun")}, "repair", true},
	} {
		p := drydock.Pending(tt.steps)
		if (p == nil) != (tt.pending == "") || p != nil && p.Verb != tt.pending || drydock.Cleaning(tt.steps) != tt.cleaning {
			t.Errorf("%s: %+v %v", name, p, drydock.Cleaning(tt.steps))
		}
	}
}
