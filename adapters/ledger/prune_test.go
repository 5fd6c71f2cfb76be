package ledger

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/result"
	"cyberagent/domain/retention"
	"cyberagent/domain/run"
	"cyberagent/ports"
)

// prune runs fn in a pruning transaction and fails the test when it fails.
func prune(t testing.TB, l *Ledger, fn func(ports.Records) error) {
	t.Helper()
	if err := l.Prune(t.Context(), fn); err != nil {
		t.Fatalf("prune: %v", err)
	}
}

// over records a whole story to its end: every record that hangs on a Run, which
// is closed and whose Drydock is cleaned.
func (c *chain) over(r ports.Records) error {
	if err := c.admitted(r); err != nil {
		return err
	}
	for _, e := range []lifecycle.Event{lifecycle.CreateIntent, lifecycle.CreateDone, lifecycle.RemoveIntent, lifecycle.RemoveDone, lifecycle.FinalizeDone} {
		if err := r.Append(c.entry(e), boot(0)); err != nil {
			return err
		}
	}
	zero := 0
	n := strings.TrimLeft(string(c.run.ID)[4:], "0")
	after := c.checkpoint
	after.ID, after.Receipt = id.Checkpoint(strings.Replace(string(c.checkpoint.ID), "0", "Z", 1)), id.Receipt(strings.Replace(string(c.checkpoint.Receipt), "0", "Z", 1))
	after.Generation, after.Origin, after.Admission, after.Parent = 2, "command", c.admission.ID, c.checkpoint.ID
	cleaned := c.drydock.Advance(after.ID, t0)
	if err := errors.Join(r.AddCheckpoint(after), r.UpdateDrydock(cleaned)); err != nil {
		return err
	}
	cleaned.Generation, cleaned.Status = cleaned.Generation+1, drydock.Cleaned
	return errors.Join(r.UpdateDrydock(cleaned),
		r.AddStep(drydock.Step{
			Receipt: id.Receipt(strings.Replace(string(c.checkpoint.Receipt), "0", "Y", 1)), Drydock: c.drydock.ID, Run: c.run.ID,
			Verb: "cleanup", Phase: "done", Generation: 3, Checkpoint: after.ID, Key: "k", At: t0,
		}),
		r.AddCancellation(lifecycle.Cancellation{Admission: c.admission.ID, Reason: "enough", By: "ann", At: t0}),
		r.AddReceipts(c.admission.ID, ports.Receipts{
			Terminal: lifecycle.Finalized, Result: []byte("{}"),
			Verdict: result.Verdict{Status: result.Succeeded, Reason: result.Exited, ExitCode: &zero},
			Logs:    []result.LogReceipt{{Kind: "logs", Stream: "stdout", SHA256: hex64("4"), SizeBytes: 1, KeptBytes: 1}},
			EndedAt: t0,
		}),
		r.AddEvent(ports.Event{Run: c.run.ID, Kind: "run_created", Subject: string(c.run.ID), At: t0}),
		r.AddOperation(ports.Operation{Run: c.run.ID, Verb: "execute", Key: "execute-" + n, Intent: hex64("6"), Answer: []byte("{}"), At: t0}),
		r.ReleaseLease(lifecycle.Lease{Admission: c.admission.ID, Owner: c.owner, Generation: 1}),
		r.SetRunStatus(c.run.ID, run.Closed, t0.Add(time.Hour)))
}

// later is when everything of the tests is old.
var later = t0.AddDate(1, 0, 0)

func histories(t testing.TB, l *Ledger, before time.Time) []retention.History {
	t.Helper()
	return read(t, l, func(r ports.Records) ([]retention.History, error) { return r.Histories(before) })
}

func receipts(all []retention.History) []retention.Receipt {
	out := make([]retention.Receipt, len(all))
	for i, h := range all {
		out[i] = h.Receipt("prune-1", later)
	}
	return out
}

// of are the rows of a Run by table: those that name something of number n.
func of(rows map[string][]string, n int) map[string]int {
	out := map[string]int{}
	for table, all := range rows {
		for _, row := range all {
			if strings.Contains(row, fmt.Sprintf("%021d", n)) { // the end of every id of n
				out[table]++
			}
		}
	}
	return out
}

func TestPrune_TakesWhatHangsOnARunAndNothingElse(t *testing.T) {
	t.Parallel()
	l := fresh(t)
	gone, open, active := chainOf(t, 1), chainOf(t, 2), chainOf(t, 3)
	write(t, l, gone.over)
	write(t, l, open.admitted)
	write(t, l, func(r ports.Records) error { return r.SetRunStatus(open.run.ID, run.Closed, t0) })
	write(t, l, active.admitted)
	db := raw(t, l.path)
	before := rowsOf(t, db)

	all := histories(t, l, later)
	if len(all) != 2 || all[0].Run != gone.run.ID || all[1].OpenAdmissions != 1 || all[1].Drydocks != 1 {
		t.Fatalf("%+v", all)
	}
	h := all[0]
	rows := of(before, 1)
	want := int64(-rows["runs"] - rows["run_profiles"] - rows["run_permissions"])
	for _, n := range rows {
		want += int64(n)
	}
	if h.Admissions != 1 || h.Records != want || h.Bytes < 1000 || !h.Newest.Equal(t0.Add(time.Hour).UTC()) || !h.Oldest.Equal(gone.run.CreatedAt) {
		t.Errorf("%+v, want %d records", h, want)
	}
	if young := histories(t, l, t0.Add(time.Hour)); len(young) != 1 || young[0].Run != open.run.ID {
		t.Errorf("what changed later is in question: %+v", young)
	}

	prune(t, l, func(r ports.Records) error { return r.Prune(receipts(all[:1])) })
	after := rowsOf(t, db)
	same(t, "rows of the pruned Run", of(after, 1), map[string]int{"runs": 1, "run_profiles": 1, "run_permissions": 1, "prunings": 1})
	for _, n := range []int{2, 3} {
		same(t, "rows of another", of(after, n), of(before, n))
	}
	same(t, "receipt", read(t, l, func(r ports.Records) (*retention.Receipt, error) { return r.Pruning(gone.run.ID) }), &receipts(all[:1])[0])
	if again := histories(t, l, later); len(again) != 1 || again[0].Run != open.run.ID {
		t.Errorf("%+v", again)
	}
}

func TestPrune_NothingOfAPrunedRunBeginsAgain(t *testing.T) {
	t.Parallel()
	l := fresh(t)
	c := chainOf(t, 1)
	write(t, l, c.over)
	prune(t, l, func(r ports.Records) error { return r.Prune(receipts(histories(t, l, later))) })
	// An old key, one that was never used, and the approval that was used.
	for _, key := range []string{"execute-1", "new"} {
		refused(t, l, fault.RunNotEligible, func(r ports.Records) error {
			_, err := r.FindOperation(c.run.ID, "execute", key, hex64("6"))
			return err
		})
	}
	again := chainOf(t, 1)
	for what, fn := range map[string]func(ports.Records) error{
		"operation": func(r ports.Records) error {
			return r.AddOperation(ports.Operation{Run: c.run.ID, Verb: "execute", Key: "new", Intent: hex64("6"), At: t0})
		},
		"preparation": func(r ports.Records) error { return r.AddPreparation(again.preparation) },
		"approval":    func(r ports.Records) error { return r.AddApproval(again.approval) },
		"admission":   func(r ports.Records) error { return r.AddAdmission(again.admission) },
		"drydock":     func(r ports.Records) error { return r.AddDrydock(again.drydock) },
		"reopening": func(r ports.Records) error {
			_, err := r.(*records).tx.ExecContext(r.(*records).ctx, "UPDATE runs SET status = 'active'")
			return r.(*records).fault("reopen", err)
		},
	} {
		if err := l.Write(t.Context(), fn); !errors.Is(err, fault.OperationConflict) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// The key is another Run's, too.
	other := chainOf(t, 2)
	write(t, l, func(r ports.Records) error {
		if err := r.AddRun(other.run); err != nil {
			return err
		}
		op, err := r.FindOperation(other.run.ID, "execute", "execute-1", hex64("6"))
		if op != nil {
			t.Errorf("%+v", op)
		}
		return err
	})
}

func TestPrune_OnlyARunThatIsOverCanGo(t *testing.T) {
	t.Parallel()
	l := full(t)
	for what, n := range map[string]int{"an active Run": 2, "a Run with an open command and a Job": 5, "a Run that was pruned": 6} {
		rid := name[id.Run](id.KindRun, n)
		before := rowsOf(t, raw(t, l.path))
		err := l.Prune(t.Context(), func(r ports.Records) error {
			return r.Prune([]retention.Receipt{{Run: rid, Key: "k", Oldest: t0, Newest: t0, At: t0}})
		})
		if !errors.Is(err, fault.OperationConflict) {
			t.Errorf("%s: %v", what, err)
		}
		same(t, "rows", rowsOf(t, raw(t, l.path)), before)
	}
	sqlExec(t, raw(t, l.path), fmt.Sprintf("UPDATE runs SET status = 'closed' WHERE id = '%s'", chainOf(t, 5).run.ID))
	if err := l.Prune(t.Context(), func(r ports.Records) error { return r.Prune(receipts(histories(t, l, later))) }); !errors.Is(err, fault.OperationConflict) {
		t.Errorf("closed, with an open command: %v", err)
	}
}

func TestPrune_NothingGoesThatTheReceiptDoesNotSayOrOutsideOfItsTransaction(t *testing.T) {
	t.Parallel()
	l := fresh(t)
	c := chainOf(t, 1)
	write(t, l, c.over)
	short := receipts(histories(t, l, later))
	short[0].Records--
	if err := l.Prune(t.Context(), func(r ports.Records) error { return r.Prune(short) }); !errors.Is(err, fault.OperationConflict) {
		t.Error(err)
	}
	short[0].Records++
	refused(t, l, fault.Internal, func(r ports.Records) error { return r.Prune(short) })
	// Somebody who stays refers to what would go.
	other := chainOf(t, 2)
	write(t, l, func(r ports.Records) error {
		other.checkpoint.Parent = c.checkpoint.ID
		return errors.Join(r.AddRun(other.run), r.AddDrydock(other.drydock), r.AddCheckpoint(other.checkpoint))
	})
	before := rowsOf(t, raw(t, l.path))
	if err := l.Prune(t.Context(), func(r ports.Records) error { return r.Prune(short) }); !errors.Is(err, fault.OperationConflict) {
		t.Error(err)
	}
	same(t, "rows", rowsOf(t, raw(t, l.path)), before)
}

func TestPrune_EveryTableIsPrunedOrKept(t *testing.T) {
	t.Parallel()
	// open_admissions and open_jobs are empty for a Run that is over.
	all := []string{"installation", "open_admissions", "open_jobs", "prunings", "run_permissions", "run_profiles", "runs"}
	for _, h := range hanging {
		all = append(all, h.table)
	}
	slices.Sort(all)
	same(t, "tables", slices.Sorted(maps.Keys(tablesOf(t, raw(t, fresh(t).path)))), all)
}

func TestPrune_CompactingGivesTheRoomBack(t *testing.T) {
	t.Parallel()
	l := fresh(t)
	stories(t, l, 40)
	write(t, l, func(r ports.Records) error { kept := chainOf(t, 99); return kept.admitted(r) })
	prune(t, l, func(r ports.Records) error { return r.Prune(receipts(histories(t, l, later))) })
	freed, err := l.Space(t.Context())
	if err != nil || freed.Reusable == 0 {
		t.Fatalf("%+v, %v", freed, err)
	}
	if err := l.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	now, err := l.Space(t.Context())
	if err != nil || now.Reusable != 0 || now.Bytes > freed.Bytes-freed.Reusable {
		t.Errorf("%+v after %+v, %v", now, freed, err)
	}
	if got := read(t, l, func(r ports.Records) (lifecycle.Admission, error) {
		return r.Admission(name[id.Admission](id.KindAdmission, 99))
	}); got.Run == "" {
		t.Error("what stays is gone")
	}
	open(t, l.path) // is a ledger as before
}

// stories records n whole stories.
func stories(t testing.TB, l *Ledger, n int) {
	t.Helper()
	write(t, l, func(r ports.Records) error {
		for i := range n {
			c := chainOf(t, i+1)
			if err := c.over(r); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestPrune_OnlyOneOfFourProcessesPrunes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	stories(t, open(t, path), 20)
	same(t, "codes", together(t, 4, "prune", path), map[fault.Code]int{"": 1, fault.NotFound: 3})
	if n := count(t, raw(t, path), "SELECT count(*) FROM prunings"); n != 20 {
		t.Errorf("%d receipts", n)
	}
}

// A process that prunes is killed with SIGKILL at a random moment: everything is
// there or everything is gone, and the next one ends the work.
func TestPrune_KilledItLeavesAllOrNothing(t *testing.T) {
	rnd := rand.New(rand.NewPCG(140, 9))
	var many template
	first := many.open(t, func(l *Ledger) { stories(t, l, 100) })
	began := time.Now()
	same(t, "codes", together(t, 1, "prune", first.path), map[fault.Code]int{"": 1})
	whole := time.Since(began)
	killed, undone := 0, 0
	for range 8 {
		path := many.open(t, nil).path
		cmd, _ := process(t, "prune", path, 0)
		time.Sleep(time.Duration(rnd.Int64N(int64(whole))))
		_ = cmd.Process.Kill()
		if cmd.Wait() != nil {
			killed++
		}
		db := raw(t, path)
		receipts, admissions := count(t, db, "SELECT count(*) FROM prunings"), count(t, db, "SELECT count(*) FROM admissions")
		if receipts+admissions != 100 || receipts*admissions != 0 {
			t.Fatalf("%d receipts beside %d admissions", receipts, admissions)
		}
		if admissions > 0 {
			undone++
			same(t, "codes", together(t, 1, "prune", path), map[fault.Code]int{"": 1})
		}
		if n := count(t, db, "SELECT count(*) FROM pragma_foreign_key_check"); n != 0 {
			t.Errorf("%d broken references", n)
		}
	}
	t.Logf("%d of 8 were killed at work, %d before the commit; it takes %s", killed, undone, whole.Round(time.Millisecond))
}

// What was recorded before there was a way to let it go, goes like the rest.
func TestPrune_TakesTheRunsOfAnUpgradedBaseline(t *testing.T) {
	t.Parallel()
	l := open(t, baseline(t))
	aid, owner := name[id.Admission](id.KindAdmission, 1), name[id.Owner](id.KindOwner, 13)
	write(t, l, func(r ports.Records) error {
		lease, err := r.TakeLease(aid, owner, boot(0), true)
		for _, e := range []lifecycle.Event{lifecycle.RemoveIntent, lifecycle.RemoveDone, lifecycle.FinalizeDone} {
			err = errors.Join(err, r.Append(lifecycle.Entry{Admission: aid, Event: e, Owner: owner, Generation: lease.Generation, At: t0}, boot(0)))
		}
		return errors.Join(err, r.ReleaseLease(lease))
	})
	db := raw(t, l.path)
	sqlExec(t, db, "UPDATE runs SET status = 'closed'; UPDATE drydocks SET generation = generation + 1, status = 'cleaned'")
	all := histories(t, l, later)
	// The owner that another took over from never released its lease.
	if len(all) != 2 || all[0].Admissions != 1 || !slices.Equal(all[0].Owners, []id.Owner{name[id.Owner](id.KindOwner, 12)}) {
		t.Fatalf("%+v", all)
	}
	prune(t, l, func(r ports.Records) error { return r.Prune(receipts(all)) })
	for table, rows := range rowsOf(t, db) {
		kept := slices.Contains([]string{"runs", "run_profiles", "run_permissions", "prunings", "installation"}, table)
		if strings.HasPrefix(table, "bun_") {
			continue
		}
		if ops := table == "operations"; (len(rows) > 0) != kept && !ops {
			t.Errorf("%s has %d rows", table, len(rows))
		}
	}
}
