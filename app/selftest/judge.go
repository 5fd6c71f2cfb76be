package selftest

import (
	"encoding/json"
	"fmt"
	"slices"

	"cyberagent/app/drydocks"
	"cyberagent/app/standardcode"
	"cyberagent/domain/canon"
	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/ports"
)

// facts are what was found after a crash and its recovery.
type facts struct {
	// before is the Drydock when the command was approved, now what its status says.
	before, now drydocks.View

	admitted   bool
	log        []lifecycle.Event
	receipts   *ports.Receipts
	checkpoint *drydock.Checkpoint
	// recorded and held are the Drydock's Checkpoints in the ledger and on disk.
	recorded, held []id.Checkpoint

	starts     int      // by the command's own evidence
	containers []string // owned, of this admission
	owners     []id.Owner
	files      []string // that a quiet installation does not have
	decoys     []string // that were touched
}

// repeat is what the same execute under the same key answered afterwards.
type repeat struct {
	result standardcode.Result
	err    error
	starts int
}

// judge returns what does not hold after recovery.
func judge(e Edge, f facts) []string {
	var bad problems
	bad.when(f.starts < e.Least || f.starts > e.Most, "the command started %d times, right is %d to %d", f.starts, e.Least, e.Most)
	for _, c := range f.containers {
		bad.add("a container is left: %s", c)
	}
	for _, d := range f.decoys {
		bad.add("a decoy was touched: %s", d)
	}
	for _, n := range f.files {
		bad.add("a file is left: %s", n)
	}
	for _, o := range f.owners {
		bad.add("the lock of %s is held though its process is dead", o)
	}
	bad.when(f.now.Status != drydock.Ready, "the Drydock is %s: %s", f.now.Status, f.now.Reason)
	bad.when(!f.now.Intact, "the Drydock is not intact: %s", f.now.IntactError)
	bad.when(len(f.now.Drift) > 0, "the Drydock's files differ from its Checkpoint: %v", f.now.Drift)
	bad.when(f.now.Running != "", "%s is not final", f.now.Running)
	if extra := missing(f.held, f.recorded); len(extra) > 0 {
		bad.add("Checkpoints that no record knows: %v", extra)
	}
	if lost := missing(f.recorded, f.held); len(lost) > 0 {
		bad.add("recorded Checkpoints without their files: %v", lost)
	}
	if e.Unrecorded {
		bad.when(f.admitted, "an admission was recorded")
		bad.when(!same(f.before, f.now), "the Drydock is another one")
		return bad
	}
	if !f.admitted {
		return append(bad, "no admission was recorded")
	}
	return append(bad, judgeEnd(e, f)...)
}

// judgeEnd is about the one recorded end of an admission.
func judgeEnd(e Edge, f facts) []string {
	var bad problems
	state, err := lifecycle.Replay(f.log)
	bad.when(err != nil, "the log does not replay: %v", err)
	bad.when(state != lifecycle.Finalized, "the log ends %s: %v", state, f.log)
	bad.when(count(f.log, lifecycle.StartIntent) > 1, "the log intends two starts: %v", f.log)
	bad.when(count(f.log, lifecycle.FinalizeDone) != 1, "the log has %d ends", count(f.log, lifecycle.FinalizeDone))
	if f.receipts == nil {
		return append(bad, "there is no terminal receipt")
	}
	r, err := f.result()
	if err != nil {
		return append(bad, "the terminal receipt is unreadable: "+err.Error())
	}
	v := f.receipts.Verdict
	bad.when(f.receipts.Terminal != lifecycle.Finalized, "the receipt's terminal state is %s", f.receipts.Terminal)
	bad.when(v.Status != r.Status || v.Reason != r.ReasonCode, "the receipt says %s, the result %s", end(v.Status, v.Reason), end(r.Status, r.ReasonCode))
	bad.when(!slices.Contains(e.Ends, end(r.Status, r.ReasonCode)), "it ended %s, right is %v: %v", end(r.Status, r.ReasonCode), e.Ends, r.Details)
	bad.when(r.Recovery, "the Drydock needs an operator: %s", r.Details["recovery"])
	bad.when(r.Replayed, "the recorded result calls itself replayed")
	return append(bad, judgeCheckpoint(f, r)...)
}

// judgeCheckpoint wants one Checkpoint with what the command left, or the word
// that nothing changed.
func judgeCheckpoint(f facts, r standardcode.Result) []string {
	var bad problems
	c := r.Checkpoint
	bad.when(c.BeforeID != f.before.CheckpointID || c.GenerationBefore != f.before.Generation,
		"the result began at %s (%d), the Drydock was at %s (%d)", c.BeforeID, c.GenerationBefore, f.before.CheckpointID, f.before.Generation)
	bad.when(c.AfterID != f.now.CheckpointID || c.GenerationAfter != f.now.Generation,
		"the result ended at %s (%d), the Drydock is at %s (%d)", c.AfterID, c.GenerationAfter, f.now.CheckpointID, f.now.Generation)
	if c.AfterID == c.BeforeID {
		bad.when(f.checkpoint != nil, "the result says unchanged, and there is a Checkpoint")
		bad.when(c.GenerationAfter != c.GenerationBefore, "unchanged, but the generation went from %d to %d", c.GenerationBefore, c.GenerationAfter)
		bad.when(f.starts > 0, "the command ran, and its changes are in no Checkpoint")
		return bad
	}
	if f.checkpoint == nil {
		return append(bad, "the result names a Checkpoint that is not recorded")
	}
	bad.when(f.checkpoint.ID != c.AfterID || f.checkpoint.Parent != c.BeforeID || f.checkpoint.Generation != c.GenerationAfter,
		"the Checkpoint is %s after %s (%d)", f.checkpoint.ID, f.checkpoint.Parent, f.checkpoint.Generation)
	bad.when(c.GenerationAfter != c.GenerationBefore+1, "the generation went from %d to %d", c.GenerationBefore, c.GenerationAfter)
	changed := c.Changed.Added + c.Changed.Modified
	bad.when(f.starts > 0 && changed != 1, "the command changed one file, the Checkpoint has %d", changed)
	bad.when(c.Changed.Deleted != 0, "the Checkpoint has %d deleted files", c.Changed.Deleted)
	return bad
}

// judgeRepeats wants the recorded answer, twice, and no second start.
func judgeRepeats(e Edge, f facts, repeats []repeat) []string {
	var bad problems
	recorded := ""
	if r, err := f.result(); err == nil {
		recorded = canon.Digest(r)
	}
	most := f.starts
	for i, again := range repeats {
		if again.err != nil {
			bad.add("the repeated execute failed: %v", again.err)
			continue
		}
		if e.Unrecorded && i == 0 {
			most = 1
			bad.when(again.result.Replayed, "the first execute that was recorded calls itself replayed")
			bad.when(end(again.result.Status, again.result.ReasonCode) != endSucceeded,
				"the repeated execute ended %s", end(again.result.Status, again.result.ReasonCode))
			recorded = canon.Digest(again.result)
		} else {
			bad.when(!again.result.Replayed, "the repeated execute was not answered from the record")
			again.result.Replayed = false
			bad.when(canon.Digest(again.result) != recorded, "the repeated execute answered something else than what is recorded")
		}
		bad.when(again.starts > most, "the repeated execute started the command again: %d starts", again.starts)
	}
	return bad
}

func (f facts) result() (r standardcode.Result, err error) {
	if f.receipts == nil {
		return r, errNoReceipt
	}
	err = json.Unmarshal(f.receipts.Result, &r)
	return r, err
}

func same(a, b drydocks.View) bool {
	return a.DrydockID == b.DrydockID && a.Generation == b.Generation && a.CheckpointID == b.CheckpointID
}

func count(log []lifecycle.Event, e lifecycle.Event) (n int) {
	for _, x := range log {
		if x == e {
			n++
		}
	}
	return n
}

// missing returns what is in a and not in b.
func missing[T comparable](a, b []T) (out []T) {
	for _, x := range a {
		if !slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	return out
}

type problems []string

func (p *problems) add(format string, a ...any) { *p = append(*p, fmt.Sprintf(format, a...)) }

func (p *problems) when(bad bool, format string, a ...any) {
	if bad {
		p.add(format, a...)
	}
}
