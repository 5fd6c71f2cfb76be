package selftest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"cyberagent/app/drydocks"
	"cyberagent/app/standardcode"
	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/result"
	"cyberagent/ports"
)

const (
	firstCheckpoint = id.Checkpoint("ckpt_00000000000000000000000001")
	nextCheckpoint  = id.Checkpoint("ckpt_00000000000000000000000002")
)

func view(generation int64, c id.Checkpoint) drydocks.View {
	return drydocks.View{Status: drydock.Ready, Intact: true, Generation: generation, CheckpointID: c}
}

// ran are the facts after a command that ran once and was recovered.
func ran() facts {
	f := facts{
		before: view(1, firstCheckpoint), now: view(2, nextCheckpoint), admitted: true, starts: 1,
		log: []lifecycle.Event{
			lifecycle.CreateIntent, lifecycle.CreateDone, lifecycle.StartIntent, lifecycle.StartDone, lifecycle.ExitDone,
			lifecycle.RemoveIntent, lifecycle.RemoveDone, lifecycle.FinalizeDone,
		},
		checkpoint: &drydock.Checkpoint{ID: nextCheckpoint, Parent: firstCheckpoint, Generation: 2},
		recorded:   []id.Checkpoint{firstCheckpoint, nextCheckpoint}, held: []id.Checkpoint{firstCheckpoint, nextCheckpoint},
	}
	f.end(standardcode.Result{
		Status: result.Succeeded, ReasonCode: result.Exited,
		Checkpoint: standardcode.CheckpointResult{
			BeforeID: firstCheckpoint, AfterID: nextCheckpoint, GenerationBefore: 1, GenerationAfter: 2,
			Changed: drydock.Counts{Added: 1},
		},
	})
	return f
}

// neverRan are the facts after a command that was never started.
func neverRan() facts {
	f := ran()
	f.now, f.starts, f.checkpoint = f.before, 0, nil
	f.log = []lifecycle.Event{lifecycle.CreateIntent, lifecycle.RemoveIntent, lifecycle.RemoveDone, lifecycle.FinalizeDone}
	f.recorded, f.held = []id.Checkpoint{firstCheckpoint}, []id.Checkpoint{firstCheckpoint}
	f.end(standardcode.Result{
		Status: result.Cancelled, ReasonCode: result.NeverStarted,
		Checkpoint: standardcode.CheckpointResult{BeforeID: firstCheckpoint, AfterID: firstCheckpoint, GenerationBefore: 1, GenerationAfter: 1},
	})
	return f
}

// end makes r the recorded end.
func (f *facts) end(r standardcode.Result) {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	f.receipts = &ports.Receipts{
		Terminal: lifecycle.Finalized, Result: b, Verdict: result.Verdict{Status: r.Status, Reason: r.ReasonCode},
	}
}

// change edits the recorded end.
func (f *facts) change(edit func(*standardcode.Result)) {
	r, err := f.result()
	if err != nil {
		panic(err)
	}
	edit(&r)
	f.end(r)
}

func TestJudge_FindsNothingWhereAllHolds(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string][]string{
		"ran":         judge(reported, ran()),
		"never ran":   judge(neverStarted, neverRan()),
		"not begun":   judge(unrecorded, facts{before: view(1, firstCheckpoint), now: view(1, firstCheckpoint)}),
		"the repeats": judgeRepeats(reported, ran(), []repeat{answer(ran()), answer(ran())}),
	} {
		if len(bad) > 0 {
			t.Errorf("%s: %q", name, bad)
		}
	}
}

// Each fault of the product must be seen, and by the check that is meant for it.
func TestJudge_SeesEachFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		edge Edge
		from func() facts
		seed func(*facts)
		want string
	}{
		{"a second start", reported, ran, func(f *facts) { f.starts = 2 }, "started 2 times"},
		{"a start that must not be", neverStarted, neverRan, func(f *facts) { f.starts = 1 }, "started 1 times"},
		{"a start that is lost", reported, ran, func(f *facts) { f.starts = 0 }, "started 0 times"},
		{"a container", reported, ran, func(f *facts) { f.containers = []string{"x"} }, "container is left"},
		{"a decoy", reported, ran, func(f *facts) { f.decoys = []string{"x"} }, "decoy was touched"},
		{"a file", reported, ran, func(f *facts) { f.files = []string{"x"} }, "file is left"},
		{"a held lock", reported, ran, func(f *facts) { f.owners = []id.Owner{"own_x"} }, "lock of own_x is held"},
		{"a quarantined Drydock", reported, ran, func(f *facts) { f.now.Status = drydock.RecoveryRequired }, "the Drydock is recovery_required"},
		{"a broken Drydock", reported, ran, func(f *facts) { f.now.Intact = false }, "not intact"},
		{"drift", reported, ran, func(f *facts) { f.now.Drift = []string{"added x"} }, "differ from its Checkpoint"},
		{"an open admission", reported, ran, func(f *facts) { f.now.Running = "adm_x" }, "adm_x is not final"},
		{"a Checkpoint too many", reported, ran, func(f *facts) { f.recorded = f.recorded[:1] }, "no record knows"},
		{"a lost Checkpoint", reported, ran, func(f *facts) { f.held = f.held[:1] }, "without their files"},
		{"no end in the log", reported, ran, func(f *facts) { f.log = f.log[:7] }, "the log ends removed"},
		{"a log that does not replay", reported, ran, func(f *facts) { f.log = slices.Insert(f.log, 3, lifecycle.StartIntent) }, "does not replay"},
		{"no receipt", reported, ran, func(f *facts) { f.receipts = nil }, "no terminal receipt"},
		{"another verdict in the receipt", reported, ran, func(f *facts) { f.receipts.Verdict.Reason = result.OwnerLost }, "the receipt says"},
		{"a wrong end", unwatched, ran, func(*facts) {}, "it ended succeeded/exited"},
		{"an edge that knows no right end", Edge{Most: 1}, ran, func(*facts) {}, "it ended succeeded/exited"},
		{"an operator needed", reported, ran, func(f *facts) { f.change(func(r *standardcode.Result) { r.Recovery = true }) }, "needs an operator"},
		{"no admission", reported, ran, func(f *facts) { f.admitted = false }, "no admission"},
		{"an admission that must not be", unrecorded, ran, func(*facts) {}, "an admission was recorded"},
		{"another generation", reported, ran, func(f *facts) { f.now.Generation = 3 }, "the Drydock is at"},
		{"another beginning", reported, ran, func(f *facts) { f.before.Generation = 0 }, "the Drydock was at"},
		{"changes in no Checkpoint", started, neverRan, func(f *facts) {
			f.starts = 1
			f.change(func(r *standardcode.Result) { r.ReasonCode = result.OwnerLost })
		}, "in no Checkpoint"},
		{"a Checkpoint of nothing", reported, ran, func(f *facts) {
			f.change(func(r *standardcode.Result) { r.Checkpoint.Changed = drydock.Counts{} })
		}, "changed one file, the Checkpoint has 0"},
		{"a Checkpoint that is not recorded", reported, ran, func(f *facts) { f.checkpoint = nil }, "not recorded"},
		{"a Checkpoint of another parent", reported, ran, func(f *facts) { f.checkpoint.Parent = nextCheckpoint }, "the Checkpoint is"},
		{"a Checkpoint of an unchanged result", neverStarted, neverRan, func(f *facts) { f.checkpoint = ran().checkpoint }, "there is a Checkpoint"},
	} {
		f := c.from()
		c.seed(&f)
		if bad := judge(c.edge, f); !slices.ContainsFunc(bad, func(p string) bool { return strings.Contains(p, c.want) }) {
			t.Errorf("%s: %q does not say %q", c.name, bad, c.want)
		}
	}
}

// answer is the right answer of a repeated execute.
func answer(f facts) repeat {
	r, err := f.result()
	r.Replayed = true
	return repeat{result: r, err: err, starts: f.starts}
}

func TestJudge_SeesEachFaultOfARepeat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		edge Edge
		seed func(*repeat)
		want string
	}{
		{"an error", reported, func(r *repeat) { r.err = errors.New("x") }, "failed: x"},
		{"not from the record", reported, func(r *repeat) { r.result.Replayed = false }, "not answered from the record"},
		{"something else", reported, func(r *repeat) { r.result.ExecutionID = "adm_x" }, "something else"},
		{"a second start", reported, func(r *repeat) { r.starts = 2 }, "started the command again"},
		{"a first answer that calls itself replayed", unrecorded, func(*repeat) {}, "calls itself replayed"},
	} {
		again := answer(ran())
		c.seed(&again)
		if bad := judgeRepeats(c.edge, ran(), []repeat{again}); !slices.ContainsFunc(bad, func(p string) bool { return strings.Contains(p, c.want) }) {
			t.Errorf("%s: %q does not say %q", c.name, bad, c.want)
		}
	}
}

func TestShape_LeavesOutOnlyWhatDiffersFromOneToTheNext(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"owners/own_01M8M5A6MM9CZBFXHR8CHH77CB": ownerLock,
		"owners/notes.txt":                      "owners/notes.txt",
		"drydocks/dry_01M8M5A6MM9CZBFXHR8CHH77CB/shadow.git/store/0a/" + strings.Repeat("b", 38): "drydocks/dry_#/shadow.git/store/#/#",
		"locks/source-" + strings.Repeat("0", 32):                                                "locks/source-#",
		"drydocks/x/refs/ckpt_01M8M5A6MM9CZBFXHR8CHH77CB.lock":                                   "drydocks/x/refs/ckpt_#.lock",
		"shadow.git/fast_import_crash_4711":                                                      "shadow.git/fast_import_crash_4711",
	} {
		if got := shape(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestRandom_IsTheSeedsOwn(t *testing.T) {
	t.Parallel()
	order := func(seed uint64) []int {
		all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
		shuffle(&random{seed}, all)
		return all
	}
	if !slices.Equal(order(1), order(1)) || slices.Equal(order(1), order(2)) {
		t.Error("the order does not follow the seed")
	}
	got := order(3)
	slices.Sort(got)
	if !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Error("a shuffle lost something")
	}
}
