package main

import (
	"bytes"
	"strings"
	"testing"

	"cyberagent/app/standardcode"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/result"
)

func TestPrintRecovery_SaysOnlyWhatWasSeen(t *testing.T) {
	t.Parallel()
	for want, i := range map[string]standardcode.RecoveredItem{
		"adm_1  owned: its owner is alive\n": {ExecutionID: "adm_1", Outcome: standardcode.OutcomeOwned, Why: "its owner is alive"},
		"adm_1  finished (absent): it was removed; remove:done, finalize:done\n": {
			ExecutionID: "adm_1", Outcome: "finished", Seen: "absent", Why: "it was removed", Steps: []lifecycle.Step{"remove:done", "finalize:done"},
		},
	} {
		var w bytes.Buffer
		printRecovery(&w, standardcode.Recovery{Items: []standardcode.RecoveredItem{i}})
		if w.String() != want {
			t.Errorf("%q, want %q", w.String(), want)
		}
	}
}

func TestPrintResult_ACommandThatNeverStartedHasNoOutputToLose(t *testing.T) {
	t.Parallel()
	for reason, shown := range map[result.Reason]bool{
		result.NeverStarted: false, result.StartFailed: false, result.IsolationMismatch: false, result.EngineLost: true,
	} {
		var w bytes.Buffer
		printResult(&w, standardcode.Result{Status: result.Failed, ReasonCode: reason, Artifacts: []result.LogReceipt{{Stream: "stdout", Lost: true}}})
		if strings.Contains(w.String(), "part of it was lost") != shown {
			t.Errorf("%s:\n%s", reason, w.String())
		}
	}
}
