package main

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cyberagent/domain/fault"
)

// over closes the yard's Run after a whole life of its Drydock.
func (y *yard) over() {
	y.t.Helper()
	y.create()
	y.must(0, "run", "profile", y.run, "docker", "--operation-key", "profile-1")
	y.must(0, "run", "close", y.run)
	y.must(0, "drydock", "cleanup", y.run, "--confirm", y.digest("drydock", "cleanup", y.run), "--operation-key", "clean-1")
}

func TestLedgerPrune_ShowsWhatWouldGoAndTakesIt(t *testing.T) {
	t.Parallel()
	y := mustYard(t)
	other := y.must(0, "run", "create", "another", "--workspace", y.source, "--operation-key", "create-2")["run_id"].(string)
	prune := []string{"ledger", "prune", "--older-than", "0s"}
	for what, args := range map[string][]string{
		"nothing is closed": prune, "nothing is old enough": {"ledger", "prune"},
	} {
		if v := y.must(0, args...); len(v["runs"].([]any)) != 0 || len(v["kept"].([]any)) != 0 {
			t.Errorf("%s: %v", what, v)
		}
	}
	y.create()
	y.must(0, "run", "close", y.run)
	if v := y.must(0, prune...); len(v["runs"].([]any)) != 0 || !strings.Contains(v["kept"].([]any)[0].(map[string]any)["why"].(string), "Drydock") {
		t.Errorf("a Drydock is there: %v", v)
	}
	y.must(0, "drydock", "cleanup", y.run, "--confirm", y.digest("drydock", "cleanup", y.run), "--operation-key", "clean-1")

	v := y.must(0, prune...)
	if runs := v["runs"].([]any); len(runs) != 1 || runs[0].(map[string]any)["run_id"] != y.run || v["dry_run"] != true || v["records"].(float64) < 5 || v["bytes"].(float64) < 500 {
		t.Fatalf("%v", v)
	}
	if young := y.must(0, "ledger", "prune", "--older-than", "1d"); len(young["runs"].([]any)) != 0 {
		t.Errorf("%v", young)
	}
	events := y.must(0, "run", "events", y.run)
	y.must(4, append(prune, "--confirm", strings.Repeat("0", 64))...)
	y.must(2, "ledger", "prune", "--older-than", "soon")
	y.must(2, "ledger", "prune", "--older-than", "-1h")
	if again := y.must(0, "run", "events", y.run); len(again["events"].([]any)) != len(events["events"].([]any)) {
		t.Error("a refusal changed something")
	}

	done := slices.Concat(prune, []string{"--confirm", v["digest"].(string), "--operation-key", "prune-1"})
	p := y.must(0, done...)
	if p["dry_run"] != false || p["records"] != v["records"] || p["file"].(map[string]any)["why"] != "" || p["file"].(map[string]any)["reusable_bytes"].(float64) != 0 {
		t.Errorf("%v", p)
	}
	if again := y.must(0, done...); again["replayed"] != true || again["records"] != v["records"] {
		t.Errorf("%v", again)
	}
	if v := y.must(0, prune...); len(v["runs"].([]any)) != 0 {
		t.Errorf("%v", v)
	}
	// The Run stays as what it is, and nothing of it begins again.
	if r := y.must(0, "run", "show", y.run); r["status"] != "closed" {
		t.Errorf("%v", r)
	}
	if e := y.must(0, "run", "events", y.run)["events"].([]any); len(e) != 1 || e[0].(map[string]any)["kind"] != "run.pruned" {
		t.Errorf("%v", e)
	}
	for _, args := range [][]string{
		{"run", "close", y.run, "--operation-key", "new-1"},
		{"run", "resume", y.run},
		{"run", "profile", y.run, "none", "--operation-key", "profile-1"},
		{"drydock", "cleanup", y.run, "--confirm", "x", "--operation-key", "clean-1"},
		{"drydock", "fork", y.run, "--operation-key", "fork-1"},
	} {
		if e := y.must(3, args...); e["code"] != string(fault.RunNotEligible) {
			t.Errorf("%v: %v", args, e)
		}
	}
	if r := y.must(0, "run", "create", "another", "--workspace", y.source, "--operation-key", "create-2"); r["run_id"] != other || r["replayed"] != true {
		t.Errorf("%v", r)
	}
}

func TestLedgerPrune_AtOnceItIsDoneOnceAndAnswersAlike(t *testing.T) {
	t.Parallel()
	y := mustYard(t)
	y.over()
	digest := y.must(0, "ledger", "prune", "--older-than", "0s")["digest"].(string)
	var calls sync.WaitGroup
	answers := make([]map[string]any, 3)
	for i := range answers {
		calls.Go(func() {
			answers[i] = y.must(0, "ledger", "prune", "--older-than", "0s", "--confirm", digest, "--operation-key", "prune-1")
		})
	}
	calls.Wait()
	first := 0
	for _, v := range answers {
		if v["replayed"] != true {
			first++
		}
		if v["digest"] != digest || len(v["runs"].([]any)) != 1 || v["dry_run"] != false {
			t.Errorf("%v", v)
		}
	}
	if first != 1 {
		t.Errorf("%d calls pruned", first)
	}
}

func TestParseAge(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]time.Duration{"90d": 90 * 24 * time.Hour, "0d": 0, "36h": 36 * time.Hour, "0s": 0, "36500d": 36500 * 24 * time.Hour} {
		if got, err := parseAge(in); err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "d", "-1d", "1.5d", "-1h", "36501d", "99999999d", "1e3d", "900000h", "soon", " 1d"} {
		if got, err := parseAge(in); err == nil {
			t.Errorf("%q is %v", in, got)
		}
	}
}
