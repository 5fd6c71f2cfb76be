package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"cyberagent/app/drydocks"
	"cyberagent/domain/drydock"
)

// text calls the product as a person does, whose files standard output and error
// are.
func (y *yard) text(args ...string) (out, errs string, code int) {
	y.t.Helper()
	var o, e bytes.Buffer
	code = invoke(y.t.Context(), append([]string{"cyberagent", "--home", y.home}, args...), process{
		out: &o, err: &e, lookup: func(string) (string, bool) { return "", false },
	})
	return o.String(), e.String(), code
}

// What the second step of a verb would refuse, the first one refuses, too: nobody is
// shown a line to confirm that cannot work.
func TestPreview_RefusesWhatConfirmingWouldRefuse(t *testing.T) {
	t.Parallel()
	y := mustYard(t)
	trust := y.must(0, "drydock", "create", y.run)["trust_digest"].(string)
	refused := func(code int, kind, remedy string) {
		t.Helper()
		for _, more := range [][]string{nil, {"--trust", trust}} {
			e := y.must(code, append([]string{"drydock", "create", y.run}, more...)...)
			if e["code"] != kind || !strings.Contains(e["remediation"].(string), remedy) {
				t.Errorf("create %v: %v", more, e)
			}
		}
	}
	y.must(0, "run", "pause", y.run)
	refused(3, "run_not_eligible", "cyberagent run resume "+y.run)
	y.must(0, "run", "resume", y.run)
	root := y.create()
	refused(4, "operation_conflict", "cyberagent drydock cleanup "+y.run)

	// A preview that shows why nothing can be done offers no line that would do it.
	if err := os.Rename(root, root+".away"); err != nil {
		t.Fatal(err)
	}
	y.write(root, map[string]string{"precious": "x"})
	out, errs, code := y.text("drydock", "cleanup", y.run)
	if code != 0 || errs != "" || strings.Contains(out, "--confirm") || !strings.Contains(out, "Nothing of it would be removed") {
		t.Errorf("cleanup: %d\n%s%s", code, out, errs)
	}
	y.must(0, "run", "close", y.run)
	refused(3, "run_not_eligible", "cyberagent run create 'a task' --workspace ")
}

func TestPrintPlan_WhatIsBlockedIsNotOfferedForConfirmation(t *testing.T) {
	t.Parallel()
	for blocked, confirm := range map[bool]bool{false: true, true: false} {
		v := drydocks.PlanView{RunID: "run_1", Digest: "d1"}
		if blocked {
			v.Blocked = []drydock.Excluded{{Path: "a", Reason: "fifo"}}
		}
		var w bytes.Buffer
		printPlan(&w, v, "undo", "")
		if strings.Contains(w.String(), "--confirm d1") != confirm || !strings.Contains(w.String(), "cyberagent drydock undo run_1") {
			t.Errorf("blocked %t:\n%s", blocked, w.String())
		}
	}
}
