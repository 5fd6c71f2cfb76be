package main

import (
	"fmt"
	"strings"
	"testing"
)

// cleaned checks what every verb says of the Run's Drydock after its clean-up.
func (y *yard) cleaned() {
	y.t.Helper()
	s := y.status()
	receipt, _ := s["cleaned_by"].(string)
	if s["status"] != "cleaned" || !strings.HasPrefix(receipt, "rcpt_") || s["path"] != "" || s["branch"] != "" || s["intact"] != false {
		y.t.Errorf("the status of a cleaned Drydock is %v", s)
	}
	if out, errs, code := y.text("drydock", "status", y.run); code != 0 || !strings.Contains(out, "cleaned 20") || !strings.Contains(out, receipt) {
		y.t.Errorf("for a person: %d\n%s%s", code, out, errs)
	}
	log := y.log(y.run)
	if len(log) == 0 {
		y.t.Error("the ledger lost its history")
	}
	gates := []string{"--enable-permission-control", "--enable-workspace-sandbox", "--enable-docker-execution"}
	newest := log[len(log)-1]["checkpoint_id"].(string)
	for verb, more := range map[string][]string{
		"use": nil, "checkpoint": nil, "diff": nil, "rewind": {"--checkpoint", newest}, "undo": nil, "fork": nil, "deliver": nil, "repair": gates, "cleanup": nil,
	} {
		e := y.must(3, append([]string{"drydock", verb, y.run}, more...)...)
		d, _ := e["details"].(map[string]any)
		if e["code"] != "drydock_not_ready" || !strings.Contains(e["message"].(string), "was cleaned at 20") || d["cleaned_by"] != receipt ||
			!strings.Contains(e["remediation"].(string), "cyberagent drydock create "+y.run) {
			y.t.Errorf("%s: %v", verb, e)
		}
	}
	typed := []string{"run", "standard-code", "readiness", y.run, "--generation", "1", "--checkpoint", newest, "--toolchain", "go", "--arg", "test", "--purpose", "p"}
	if r := y.must(0, typed...); !strings.Contains(fmt.Sprint(r["blockers"]), "was cleaned at 20") {
		y.t.Errorf("readiness: %v", r)
	}
}

func TestCleaned_AClosedRunIsToldToBeginAnother(t *testing.T) {
	t.Parallel()
	y := mustYard(t)
	y.create()
	y.must(0, "drydock", "cleanup", y.run, "--confirm", y.digest("drydock", "cleanup", y.run))
	y.cleaned()
	y.must(0, "run", "close", y.run)
	e := y.must(3, "drydock", "use", y.run)
	if r := e["remediation"].(string); strings.Contains(r, "drydock create") || !strings.Contains(r, "cyberagent run create 'a task' --workspace "+y.source) {
		t.Errorf("%v", e)
	}
}
