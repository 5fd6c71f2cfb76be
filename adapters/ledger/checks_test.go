package ledger

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
	"cyberagent/domain/result"
	"cyberagent/domain/run"
)

// workbench has every table with its CHECKs and a row, and neither triggers nor
// foreign keys, so that only CHECKs can refuse.
func workbench(t *testing.T) *sql.DB {
	t.Helper()
	path := full(t).path
	db := raw(t, filepath.Join(t.TempDir(), "bench.db"))
	sqlExec(t, db, "PRAGMA foreign_keys = OFF")
	sqlExec(t, db, "PRAGMA synchronous = OFF")
	sqlExec(t, db, "ATTACH '"+path+"' AS l")
	unique := regexp.MustCompile(`(?m)( UNIQUE| PRIMARY KEY)( REFERENCES|$)|,?\s*\n\s*(UNIQUE|PRIMARY KEY) \([^)]*\)`)
	rows, err := db.QueryContext(t.Context(), "SELECT name, sql FROM l.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'bun_%' AND name NOT LIKE 'sqlite_%'")
	if err != nil {
		t.Fatal(err)
	}
	ddl := map[string]string{}
	for rows.Next() {
		var n, s string
		if err := rows.Scan(&n, &s); err != nil {
			t.Fatal(err)
		}
		ddl[n] = strings.ReplaceAll(unique.ReplaceAllString(s, "$2"), ", WITHOUT ROWID", "")
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	for n, s := range ddl {
		sqlExec(t, db, s)
		sqlExec(t, db, fmt.Sprintf("INSERT INTO main.%s SELECT * FROM l.%s", n, n))
	}
	return db
}

// accepts says whether the table's CHECKs let a row have value in column.
func accepts(t *testing.T, db *sql.DB, table, column, value string) bool {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() // nothing of this is kept
	res, err := tx.ExecContext(t.Context(), fmt.Sprintf("UPDATE main.%s SET %s = %s", table, column, value))
	if err != nil {
		if !strings.Contains(err.Error(), "CHECK constraint") {
			t.Fatalf("%s.%s = %.80s: %v", table, column, value, err)
		}
		return false
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%s: no row to try on (%v)", table, err)
	}
	return true
}

func text(n int) string { return "'" + strings.Repeat("a", n) + "'" }

func TestChecksRestateTheLimits(t *testing.T) {
	t.Parallel()
	db := workbench(t)
	for _, c := range []struct {
		table, column string
		most          int64
		value         func(n int64) string
	}{
		{"runs", "title", limits.TitleRunes, func(n int64) string { return "'" + strings.Repeat("☂", int(n)) + "'" }},
		{"approval_requests", "requested_by", limits.NameRunes, func(n int64) string { return text(int(n)) }},
		{"approval_decisions", "reviewer", limits.NameRunes, func(n int64) string { return text(int(n)) }},
		{"approval_decisions", "reason", limits.ReasonRunes, func(n int64) string { return text(int(n)) }},
		{"cancellations", "reason", limits.ReasonRunes, func(n int64) string { return text(int(n)) }},
		{"cancellations", "cancelled_by", limits.NameRunes, func(n int64) string { return text(int(n)) }},
		{"drydocks", "reason", limits.ReasonRunes, func(n int64) string { return text(int(n)) }},
		{"operations", "key", limits.OperationKeyLen, func(n int64) string { return text(int(n)) }},
		{"admissions", "operation_key", limits.OperationKeyLen, func(n int64) string { return text(int(n)) }},
		{"events", "subject", limits.IDLen, func(n int64) string { return text(int(n)) }},
		{"approvals", "expires_at_us", limits.ApprovalLifeMax.Microseconds(), func(n int64) string { return fmt.Sprintf("created_at_us + %d", n) }},
		{"approval_decisions", "expires_at_us", limits.ApprovalLifeMax.Microseconds(), func(n int64) string { return fmt.Sprintf("decided_at_us + %d", n) }},
		{"log_receipts", "kept_bytes", limits.OutputKeepBytes, func(n int64) string { return fmt.Sprint(n) }},
	} {
		t.Run(c.table+" "+c.column, func(t *testing.T) {
			if !accepts(t, db, c.table, c.column, c.value(c.most)) {
				t.Errorf("refuses %d", c.most)
			}
			if accepts(t, db, c.table, c.column, c.value(c.most+1)) {
				t.Errorf("accepts %d", c.most+1)
			}
		})
	}
}

func words[T ~string](v ...T) []string {
	out := make([]string, len(v))
	for i, s := range v {
		out[i] = string(s)
	}
	return out
}

func TestChecksKnowExactlyTheClosedWords(t *testing.T) {
	t.Parallel()
	db := workbench(t)
	for _, c := range []struct {
		table, column string
		words         []string
	}{
		{"runs", "status", words(run.Active, run.Paused, run.Closed)},
		{"runs", "kind", words(run.KindCode)},
		{"run_profiles", "profile", words(run.Profiles()...)},
		{"run_permissions", "permission", words(run.Permissions()...)},
		{"drydocks", "status", words(drydock.Preparing, drydock.Ready, drydock.Delivered, drydock.RecoveryRequired, drydock.Cleaned)},
		{"drydocks", "access", words(drydock.AccessOwner, drydock.AccessACL, "")},
		{"preparations", "engine", words(isolation.Docker, isolation.Containerd)},
		{"admissions", "engine", words(isolation.Docker, isolation.Containerd)},
		{"admissions", "permission", words(run.WorkspaceAccess, run.FullAccess, run.Debug)},
		{"admissions", "stdin", words(isolation.StdinClosed, isolation.StdinPipe)},
		{"approvals", "stdin", words(isolation.StdinClosed, isolation.StdinPipe)},
		{"approval_decisions", "decision", []string{"approve", "deny"}},
		{"receipts", "terminal", words(lifecycle.Removed, lifecycle.Finalized)},
		{"log_receipts", "stream", []string{"stdout", "stderr"}},
		{"log_receipts", "kind", []string{"logs"}},
	} {
		t.Run(c.table+" "+c.column, func(t *testing.T) {
			for _, w := range c.words {
				if !accepts(t, db, c.table, c.column, "'"+w+"'") {
					t.Errorf("refuses %q", w)
				}
			}
			for _, w := range []string{"bogus", "DOCKER", " active"} {
				if accepts(t, db, c.table, c.column, "'"+w+"'") {
					t.Errorf("accepts %q", w)
				}
			}
		})
	}
}

func TestChecksKnowTheLifecycleAndTheReasons(t *testing.T) {
	t.Parallel()
	db := workbench(t)
	known := map[lifecycle.Event]bool{}
	for _, e := range lifecycle.Events() {
		known[e] = true
	}
	for _, a := range []lifecycle.Action{lifecycle.Create, lifecycle.Start, lifecycle.AttachStdin, lifecycle.Exit, lifecycle.Remove, lifecycle.Finalize, "restart"} {
		for _, p := range []lifecycle.Phase{lifecycle.Intent, lifecycle.Done, "doing"} {
			e := lifecycle.Event{Action: a, Phase: p}
			got := accepts(t, db, "lifecycle_log", "(action, phase)", fmt.Sprintf("('%s', '%s')", a, p))
			if got != known[e] {
				t.Errorf("%s: accepts %v", e, got)
			}
		}
	}
	for _, r := range append(result.Reasons(), "bogus") {
		code := "NULL"
		if r == result.Exited {
			code = "1"
		}
		got := accepts(t, db, "receipts", "(status, reason, exit_code)", fmt.Sprintf("('failed', '%s', %s)", r, code))
		if got != (r != "bogus") {
			t.Errorf("reason %s: accepts %v", r, got)
		}
	}
	for _, c := range []struct {
		status, reason, code string
		want                 bool
	}{
		{"succeeded", "exited", "0", true}, {"succeeded", "exited", "1", false}, {"succeeded", "timeout", "NULL", false},
		{"failed", "exited", "NULL", false}, {"failed", "timeout", "1", false}, {"timed_out", "timeout", "NULL", true},
		{"cancelled", "cancelled", "NULL", true}, {"failed", "exited", "256", false}, {"bogus", "timeout", "NULL", false},
	} {
		got := accepts(t, db, "receipts", "(status, reason, exit_code)", fmt.Sprintf("('%s', '%s', %s)", c.status, c.reason, c.code))
		if got != c.want {
			t.Errorf("%+v: accepts %v", c, got)
		}
	}
}

func TestChecksKnowIdsDigestsAndKeys(t *testing.T) {
	t.Parallel()
	db := workbench(t)
	ids := map[id.Kind][]string{
		id.KindRun: {"runs.id"}, id.KindDrydock: {"drydocks.id"}, id.KindCheckpoint: {"checkpoints.id"},
		id.KindPreparation: {"preparations.id"}, id.KindApproval: {"approvals.id"}, id.KindAdmission: {"admissions.id"},
		id.KindReceipt: {"checkpoints.receipt_id"}, id.KindOwner: {"leases.owner", "lifecycle_log.owner"},
		id.KindInstallation: {"installation.id"},
	}
	for kind, columns := range ids {
		for _, column := range columns {
			table, col, _ := strings.Cut(column, ".")
			for _, s := range []string{
				id.Format(kind, "0123456789ABCDEFGHJKMNPQRS"), id.Format(kind, "TVWXYZ00000000000000000000"), // valid
				id.Format(kind, "0123456789ABCDEFGHJKMNPQR"), id.Format(kind, "0123456789ABCDEFGHJKMNPQRST"),
				id.Format(kind, "0123456789abcdefghjkmnpqrs"), id.Format(kind, "0123456789ABCDEFGHIKMNPQRS"),
				id.Format(kind, "0123456789ABCDEFGHLKMNPQRS"), id.Format(kind, "0123456789ABCDEFGHOKMNPQRS"),
				id.Format(kind, "0123456789ABCDEFGHUKMNPQRS"), "xxx_0123456789ABCDEFGHJKMNPQRS", "",
			} {
				if got := accepts(t, db, table, col, "'"+s+"'"); got != id.Valid(kind, s) {
					t.Errorf("%s %q: accepts %v", column, s, got)
				}
			}
		}
	}
	for _, column := range []string{
		"preparations.manifest_sha256", "preparations.command_sha256", "preparations.binding_sha256",
		"admissions.manifest_sha256", "admissions.command_sha256", "admissions.binding_sha256",
		"operations.intent", "log_receipts.sha256", "checkpoints.index_sha256", "drydocks.control_sha256",
	} {
		table, col, _ := strings.Cut(column, ".")
		for s, want := range map[string]bool{hex64("a"): true, hex64("A"): false, hex64("g"): false, hex64("a")[1:]: false, hex64("a") + "a": false} {
			if got := accepts(t, db, table, col, "'"+s+"'"); got != want {
				t.Errorf("%s %q: accepts %v", column, s, got)
			}
		}
	}
	for _, column := range []string{"preparations.image_digest", "admissions.image_digest", "admissions.image_id"} {
		table, col, _ := strings.Cut(column, ".")
		for s, want := range map[string]bool{digest("a"): true, digest("A"): false, hex64("a"): false, "go:latest": false, "sha512:" + hex64("a"): false} {
			if got := accepts(t, db, table, col, "'"+s+"'"); got != want {
				t.Errorf("%s %q: accepts %v", column, s, got)
			}
		}
	}
	for s, want := range map[string]bool{"a": true, "A-Z.0_9:x": true, "": false, "a b": false, "a/b": false, "ä": false} {
		if got := accepts(t, db, "operations", "key", "'"+s+"'"); got != want {
			t.Errorf("key %q: accepts %v", s, got)
		}
		if got := checkKey(s) == nil; got != want {
			t.Errorf("checkKey(%q) %v", s, got)
		}
	}
}
