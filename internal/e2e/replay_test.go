package e2e

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

const appendLine = "open('lines', 'a').write('line\\n')"

func TestReplay_TheSameKeyAnswersTheSameAndStartsNothing(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	c := python("-c", appendLine)

	prepare := append(append([]string{"run", "standard-code", "prepare"}, f.at(c)...), "--operation-key", "p")
	prep := MustAnswer[preparationView](t, f.call(t, prepare...), 0)
	again := MustAnswer[preparationView](t, f.call(t, prepare...), 0)
	checkReplay(t, &again.Replayed, &prep, &again)

	request := []string{"run", "sandbox", "request", prep.ID, "--by", "agent"}
	asked := MustAnswer[approvalView](t, f.call(t, request...), 0)
	askedAgain := MustAnswer[approvalView](t, f.call(t, request...), 0)
	checkReplay(t, &askedAgain.Replayed, &asked, &askedAgain)

	review := []string{"run", "sandbox", "review", prep.ID, "--decision", "approve", "--operation-key", "r"}
	decided := MustAnswer[approvalView](t, f.call(t, review...), 0)
	decidedAgain := MustAnswer[approvalView](t, f.call(t, review...), 0)
	checkReplay(t, &decidedAgain.Replayed, &decided, &decidedAgain)

	a := approved{c, prep, "e"}
	args := f.execute(a)
	first := MustAnswer[resultView](t, f.Execute(t, a), 0)
	// The very same call, at the generation that is no longer current.
	second := MustAnswer[resultView](t, f.start(t, args...).Wait(t), 0)
	checkReplay(t, &second.Replayed, &first, &second)
	f.MustFollow(t, first)

	lines, err := os.ReadFile(filepath.Join(f.path, "lines"))
	if err != nil || string(lines) != "line\n" {
		t.Errorf("the command ran %d times: %v", len(lines)/len("line\n"), err)
	}
	if x := f.MustExecutions(t); len(x) != 1 || x[0].starts() != 1 {
		t.Errorf("%+v", x)
	}
	preparedLater := MustAnswer[preparationView](t, f.call(t, prepare...), 0)
	checkReplay(t, &preparedLater.Replayed, &prep, &preparedLater)
}

// checkReplay: the second answer says that it is one, and is the first otherwise.
func checkReplay(t *testing.T, replayed *bool, first, second any) {
	t.Helper()
	if !*replayed {
		t.Error("a repeated call does not say that it is one")
	}
	*replayed = false
	if !reflect.DeepEqual(first, second) {
		t.Errorf("a repeated call answers\n%+v\nwant\n%+v", second, first)
	}
}

func TestReplay_TheSameKeyForSomethingElseIsAConflict(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	conflict := refusal{"operation_conflict", 4, "operation_key"}

	c := python("-c", "pass")
	q := f.request("prepare", approved{command: c})
	q.key = "same"
	prep := MustAnswer[preparationView](t, f.call(t, q.args()...), 0)
	q.command = python("-c", "pass ")
	f.MustRefuse(t, q, conflict)

	review := func(more ...string) []string {
		return append([]string{"run", "sandbox", "review", prep.ID, "--operation-key", "same"}, more...)
	}
	MustAnswer[approvalView](t, f.call(t, review("--decision", "approve")...), 0)
	for _, other := range [][]string{{"--decision", "deny"}, {"--decision", "approve", "--reviewer", "another"}, {"--decision", "approve", "--expires-in", "2h"}} {
		f.MustRefuseCall(t, h, review(other...), conflict)
	}

	a := approved{c, prep, "same"}
	f.MustFollow(t, MustAnswer[resultView](t, f.Execute(t, a), 0))
	second := f.MustApprove(t, c)
	second.key = "same"
	q = f.request("execute", second)
	q.key = "same"
	f.MustRefuse(t, q, conflict)
	second.key = "another"
	f.MustFollow(t, MustAnswer[resultView](t, f.Execute(t, second), 0))
}
