package ledger

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/result"
	"cyberagent/domain/retention"
	"cyberagent/domain/run"
	"cyberagent/ports"
)

// immutable are the tables whose rows never change, written out by hand.
var immutable = []string{
	"admissions", "approval_consumptions", "approval_decisions", "approval_requests", "approval_revocations",
	"approvals", "cancellations", "checkpoints", "drydock_steps", "events", "installation", "job_transitions", "jobs",
	"lifecycle_log", "log_receipts",
	"preparations", "prunings", "receipts", "run_permissions", "run_profiles",
}

// mutable are the tables that change, each by rules of its own.
var mutable = []string{"drydocks", "job_owners", "leases", "open_admissions", "open_jobs", "operations", "runs"}

// full opens a ledger with a row in every table.
func full(t testing.TB) *Ledger {
	t.Helper()
	return filled.open(t, func(l *Ledger) { fill(t, l) })
}

func fill(t testing.TB, l *Ledger) {
	t.Helper()
	c, other, under := chainOf(t, 1), chainOf(t, 2), chainOf(t, 5)
	zero := 0
	write(t, l, func(r ports.Records) error {
		if err := errors.Join(c.admitted(r), other.prepared(r), under.admitted(r)); err != nil {
			return err
		}
		requested, err := other.approval.Request("bob", t0)
		if err != nil {
			return err
		}
		revoked, err := other.approval.Revoke(t0)
		if err != nil {
			return err
		}
		for _, e := range []lifecycle.Event{lifecycle.CreateIntent, lifecycle.CreateDone, lifecycle.RemoveIntent, lifecycle.RemoveDone, lifecycle.FinalizeDone} {
			if err := r.Append(c.entry(e), boot(0)); err != nil {
				return err
			}
		}
		after := c.checkpoint
		after.ID, after.Receipt = name[id.Checkpoint](id.KindCheckpoint, 3), name[id.Receipt](id.KindReceipt, 3)
		after.Generation, after.Origin, after.Admission, after.Parent = 2, "command", c.admission.ID, c.checkpoint.ID
		return errors.Join(
			r.AddRequest(requested), r.AddRevocation(revoked), r.AddCheckpoint(after),
			r.UpdateDrydock(c.drydock.Advance(after.ID, t0)),
			r.AddStep(drydock.Step{
				Receipt: name[id.Receipt](id.KindReceipt, 8), Drydock: c.drydock.ID, Run: c.run.ID, Verb: "deliver", Phase: "done",
				Generation: 2, Checkpoint: after.ID, Key: "k", At: t0,
			}),
			r.AddCancellation(lifecycle.Cancellation{Admission: c.admission.ID, Reason: "enough", By: "ann", At: t0}),
			r.AddReceipts(c.admission.ID, ports.Receipts{
				Terminal: lifecycle.Finalized, Result: []byte("{}"),
				Verdict: result.Verdict{Status: result.Succeeded, Reason: result.Exited, ExitCode: &zero},
				Logs:    []result.LogReceipt{{Kind: "logs", Stream: "stdout", SHA256: hex64("4"), SizeBytes: 1, KeptBytes: 1}},
				EndedAt: t0,
			}),
			r.AddEvent(ports.Event{Run: c.run.ID, Kind: "run_created", Subject: string(c.run.ID), Detail: map[string]string{"a": "b"}, At: t0}),
			addJob(r, c),
			r.AddOperation(ports.Operation{Run: c.run.ID, Verb: "prepare", Key: "k", Intent: hex64("6"), Answer: []byte("{}"), At: t0}),
		)
	})
	prune(t, l, func(r ports.Records) error {
		gone := chainOf(t, 6).run
		return errors.Join(r.AddRun(gone), r.SetRunStatus(gone.ID, run.Closed, t0),
			r.Prune([]retention.Receipt{{Run: gone.ID, Key: "k", Oldest: t0, Newest: t0, At: t0}}))
	})
}

func TestEveryTableIsKnownAsImmutableOrNot(t *testing.T) {
	t.Parallel()
	l := full(t)
	db := raw(t, l.path)
	same(t, "tables", slices.Sorted(maps.Keys(tablesOf(t, db))), slices.Sorted(slices.Values(slices.Concat(immutable, mutable))))
	for table, rows := range rowsOf(t, db) {
		if len(rows) == 0 {
			t.Errorf("%s has no rows: nothing is proven about it", table)
		}
	}
}

func TestImmutableTablesRefuseEverySQLThatChangesARow(t *testing.T) {
	t.Parallel()
	fresh := full(t)
	upgraded := open(t, baseline(t))
	for ledger, l := range map[string]*Ledger{"new": fresh, "upgraded": upgraded} {
		// Any SQLite program, with its own settings: triggers must do without
		// foreign keys and without recursive triggers.
		db := raw(t, l.path)
		sqlExec(t, db, "PRAGMA foreign_keys = OFF")
		for _, table := range append(slices.Clone(immutable), mutable...) {
			t.Run(ledger+" "+table, func(t *testing.T) {
				before := rowsIn(t, db, table, "*")
				if len(before) == 0 && ledger == "new" {
					t.Fatal("no rows")
				}
				columns := strings.Split(columnsOf(t, db, table), ", ")
				statements := []string{"DELETE FROM " + table, "INSERT OR REPLACE INTO " + table + " SELECT * FROM " + table + " LIMIT 1"}
				if slices.Contains(immutable, table) {
					for _, c := range columns {
						statements = append(statements,
							fmt.Sprintf("UPDATE %s SET %s = %s", table, c, c),
							fmt.Sprintf("UPDATE OR REPLACE %s SET %s = %s", table, c, c),
							fmt.Sprintf("UPDATE OR IGNORE %s SET %s = NULL", table, c))
					}
				}
				for _, s := range statements {
					if _, err := db.ExecContext(t.Context(), s); err == nil && len(before) > 0 {
						t.Errorf("%s passed", s)
					}
				}
				same(t, "rows", rowsIn(t, db, table, "*"), before)
			})
		}
	}
}

func TestMutableTablesChangeOnlyWhatMayChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, sql string
		allowed   bool
	}{
		{"a run's status", "UPDATE runs SET status = 'paused', updated_at_us = 1 WHERE status <> 'closed'", true},
		{"a closed run's status", "UPDATE runs SET status = 'closed'; UPDATE runs SET status = 'active'", false},
		{"a run's title", "UPDATE runs SET title = 'x'", false},
		{"a run's workspace", "UPDATE runs SET workspace = '/y'", false},
		{"a run's id", "UPDATE runs SET id = id", false},
		{"a drydock's status with the next generation", "UPDATE drydocks SET generation = generation + 1, status = 'delivered'", true},
		{"a drydock's status with the same generation", "UPDATE drydocks SET status = 'delivered'", false},
		{"a drydock's generation by two", "UPDATE drydocks SET generation = generation + 2", false},
		{"a drydock's source", "UPDATE drydocks SET generation = generation + 1, source = '{}'", false},
		{"a drydock's run", "UPDATE drydocks SET generation = generation + 1, run_id = run_id", false},
		{"an answered operation", "UPDATE operations SET answer = X'00'", false},
		{"an operation's intent", "UPDATE operations SET intent = '" + hex64("9") + "'", false},
		{"a lease's expiry", "UPDATE leases SET expires_boot_ns = 9", true},
		{"a lease's release", "UPDATE leases SET released = 1", true},
		{"a lease's owner", "UPDATE leases SET owner = owner", false},
		{"a lease's generation", "UPDATE leases SET generation = 2", false},
		{"an older lease's expiry", "INSERT INTO leases SELECT admission_id, 2, owner, boot_id, 1, 0 FROM leases; UPDATE leases SET expires_boot_ns = 9 WHERE generation = 1", false},
		{"a released lease", "UPDATE leases SET released = 1; UPDATE leases SET released = 0", false},
		{"a lease's generation with a gap", "INSERT INTO leases SELECT admission_id, 3, owner, boot_id, 1, 0 FROM leases", false},
		{"a Job owner's expiry", "UPDATE job_owners SET expires_boot_ns = 9", true},
		{"a Job owner's Run", "UPDATE job_owners SET run_id = run_id", false},
		{"a released Job owner", "UPDATE job_owners SET released = 1; UPDATE job_owners SET expires_boot_ns = 9", false},
		{"a Job's step with a gap", "INSERT INTO job_transitions SELECT job_id, 4, 'failed', admission_id, reason, at_us FROM job_transitions WHERE version = 2", false},
		{"a Job's step after its end", "INSERT INTO job_transitions SELECT job_id, 3, 'failed', NULL, '', 1 FROM job_transitions WHERE version = 2; INSERT INTO job_transitions SELECT job_id, 4, 'cancelled', NULL, '', 1 FROM job_transitions WHERE version = 2", false},
		{"a log entry by another owner", "INSERT INTO lifecycle_log SELECT admission_id, 6, action, phase, '" + string(name[id.Owner](id.KindOwner, 9)) + "', generation, detail, at_us FROM lifecycle_log WHERE sequence = 5", false},
		{"a log entry with a gap", "INSERT INTO lifecycle_log SELECT admission_id, 7, action, phase, owner, generation, detail, at_us FROM lifecycle_log WHERE sequence = 5", false},
		{"a consumption of what nobody approved", "INSERT INTO approval_consumptions VALUES ('" + string(name[id.Approval](id.KindApproval, 2)) + "', 'x', 1)", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := raw(t, full(t).path)
			if _, err := db.ExecContext(t.Context(), c.sql); (err == nil) != c.allowed {
				t.Errorf("allowed %v, want %v: %v", err == nil, c.allowed, err)
			}
		})
	}
}

func TestHostPathsOfADrydockAreInNoOtherTable(t *testing.T) {
	t.Parallel()
	db := raw(t, full(t).path)
	c := chainOf(t, 1)
	for table, rows := range rowsOf(t, db) {
		for _, path := range []string{c.drydock.Place.Root, c.drydock.Place.Shadow} {
			if found := strings.Contains(strings.Join(rows, "\n"), path); found != (table == "drydocks") {
				t.Errorf("%s: %s found %v", table, filepath.Base(path), found)
			}
		}
		if table != "approvals" && strings.Contains(strings.Join(rows, "\n"), c.approval.Command.Purpose()) {
			t.Errorf("%s holds the command's purpose", table)
		}
	}
}
