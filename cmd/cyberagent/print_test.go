package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
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

// Numbers with nouns go through phrase.Count: "1 entries" is nowhere.
func TestText_NoNumberIsFollowedByAFixedPlural(t *testing.T) {
	t.Parallel()
	fixed := regexp.MustCompile(`%d [a-z ]*(entries|files|bytes|lines|paths|arguments|packages|containers|commands|directories|changes|Drydocks)\b`)
	sources, err := filepath.Glob("*.go")
	if err != nil || len(sources) < 20 {
		t.Fatal(len(sources), err)
	}
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range fixed.FindAllString(string(b), -1) {
			t.Errorf("%s: %q", name, found)
		}
	}
	var w bytes.Buffer
	printResult(&w, standardcode.Result{
		Resources: result.Resources{GrowthBytes: 1, GrowthEntries: 1, PeakPids: 1}, Artifacts: []result.LogReceipt{{Stream: "stdout", SizeBytes: 1, Lines: 1}},
	})
	for _, want := range []string{"grew by 1 byte and 1 entry\n", ", 1 process\n", "1 byte, 1 line, sha256"} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("no %q in\n%s", want, w.String())
		}
	}
}
