package ledger

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/approval"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/manifest"
	"cyberagent/domain/run"
	"cyberagent/ports"
)

// v127 is a ledger as it was at schema 127, with rows: made once by
// TestMakeTheBaseline -update and committed.
const v127 = "testdata/v127.db"

// baseline copies v127 to a directory of the test's.
func baseline(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile(v127)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ledger.db")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMakeTheBaseline makes testdata/v127.db with -update, and otherwise proves
// that the committed file has schema 127 and the rows below.
func TestMakeTheBaseline(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "v127.db")
	db := migratedTo(t, path, "0127")
	sqlExec(t, db, baselineRows(t))
	sqlExec(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
	made := rowsOf(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if *update {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(v127, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old := raw(t, baseline(t))
	same(t, "rows", rowsOf(t, old), made)
	if got, err := os.ReadFile("testdata/schema/0127.sql"); err != nil || schemaOf(t, old) != string(got) {
		t.Errorf("the committed file does not have schema 127 (%v)", err)
	}
	same(t, "marks", rowsIn(t, old, "bun_migrations", "name, group_id"), []string{"name=string:0127 group_id=int64:1"})
}

func TestABaselineIsUpgradedInPlaceWithItsRowsExactly(t *testing.T) {
	t.Parallel()
	path := baseline(t)
	old := raw(t, path)
	before := rowsOf(t, old)
	columns := map[string]string{}
	for table := range before {
		columns[table] = columnsOf(t, old, table)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}

	open(t, path)

	now := raw(t, path)
	for table, rows := range before {
		if table == "admission_leases" {
			continue // 133 turns them into leases, see below
		}
		same(t, table, rowsIn(t, now, table, columns[table]), rows)
		if len(rows) == 0 {
			t.Errorf("the baseline has no rows in %s: the upgrade of it is not tested", table)
		}
	}
	same(t, "leases", rowsIn(t, now, "leases", "generation, owner, boot_id, expires_boot_ns, released"), []string{
		"generation=int64:1 owner=string:" + string(name[id.Owner](id.KindOwner, 11)) + " boot_id=string:before-schema-133 expires_boot_ns=int64:0 released=int64:1",
		"generation=int64:2 owner=string:" + string(name[id.Owner](id.KindOwner, 12)) + " boot_id=string:before-schema-133 expires_boot_ns=int64:0 released=int64:0",
	})
	if n := count(t, now, "SELECT count(*) FROM pragma_foreign_key_check"); n != 0 {
		t.Errorf("%d broken references", n)
	}
	var ok string
	if err := now.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&ok); err != nil || ok != "ok" {
		t.Errorf("integrity: %q, %v", ok, err)
	}
}

func columnsOf(t *testing.T, db *sql.DB, table string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT name FROM pragma_table_info('"+table+"') ORDER BY cid")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var n string
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		names = append(names, n)
	}
	return strings.Join(names, ", ")
}

func TestAnUpgradedLedgerIsReadAndGoesOn(t *testing.T) {
	t.Parallel()
	l := open(t, baseline(t))
	rid, aid := name[id.Run](id.KindRun, 1), name[id.Admission](id.KindAdmission, 1)

	r := read(t, l, func(r ports.Records) (run.Run, error) { return r.Run(rid) })
	if r.Permission.Permission != run.FullAccess || r.Permission.Revision != 2 || r.Profile.Profile != run.ProfileDocker {
		t.Errorf("run %+v", r)
	}
	p := read(t, l, func(r ports.Records) (approval.Preparation, error) {
		return r.Preparation(name[id.Preparation](id.KindPreparation, 1))
	})
	m, err := manifest.Decode(p.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	if m.Version != 1 || m.Stdin != isolation.StdinClosed || m.SHA256 != p.ManifestSHA256 || m.V1.Run != rid {
		t.Errorf("v1 manifest %+v", m)
	}
	if err := m.Executable(); !errors.Is(err, fault.ManifestV1) {
		t.Errorf("executable: %v", err)
	}
	a := read(t, l, func(r ports.Records) (lifecycle.Admission, error) { return r.Admission(aid) })
	if a.Permission != run.FullAccess || a.Stdin != isolation.StdinClosed || a.Authority != p.Authority {
		t.Errorf("admission %+v", a)
	}
	ap := read(t, l, func(r ports.Records) (approval.Approval, error) { return r.Approval(a.Approval) })
	if ap.Status(t0) != approval.Consumed || ap.ConsumedBy != aid || ap.Stdin != isolation.StdinClosed {
		t.Errorf("approval %+v", ap)
	}
	log := read(t, l, func(r ports.Records) ([]lifecycle.Entry, error) { return r.Log(aid) })
	same(t, "log", lifecycle.EventsOf(log), []lifecycle.Event{lifecycle.CreateIntent, lifecycle.CreateDone, lifecycle.StartIntent, lifecycle.StartDone})
	open := read(t, l, func(r ports.Records) ([]lifecycle.Admission, error) { return r.OpenAdmissions("") })
	if len(open) != 1 || open[0].ID != aid {
		t.Errorf("open %+v", open)
	}

	// Recovery takes the next generation and ends it.
	owner := name[id.Owner](id.KindOwner, 77)
	write(t, l, func(r ports.Records) error {
		lease, err := r.TakeLease(aid, owner, boot(time.Hour), false)
		if err != nil {
			return err
		}
		if lease.Generation != 3 {
			t.Errorf("generation %d", lease.Generation)
		}
		for _, e := range []lifecycle.Event{lifecycle.RemoveIntent, lifecycle.RemoveDone, lifecycle.FinalizeDone} {
			entry := lifecycle.Entry{Admission: aid, Event: e, Owner: owner, Generation: 3, At: t0}
			if err := r.Append(entry, boot(time.Hour)); err != nil {
				return err
			}
		}
		return nil
	})
	if open := read(t, l, func(r ports.Records) ([]lifecycle.Admission, error) { return r.OpenAdmissions(rid) }); len(open) != 0 {
		t.Errorf("still open %+v", open)
	}
}

func TestSchema128AdmitsWorkspaceAccessAndNothingElse(t *testing.T) {
	t.Parallel()
	insert := func(n int, permission string) string {
		row := strings.ReplaceAll(admission127(2), "'full_access'", "'"+permission+"'")
		return strings.ReplaceAll(row, string(name[id.Admission](id.KindAdmission, 2)), string(name[id.Admission](id.KindAdmission, n)))
	}
	for _, c := range []struct {
		schema, permission string
		admitted           bool
	}{
		{"0127", "workspace_access", false}, {"0127", "debug", true}, {"0127", "read_only", false},
		{"0128", "workspace_access", true}, {"0128", "full_access", true}, {"0128", "debug", true},
		{"0128", "read_only", false}, {"0128", "approval", false}, {"0128", "", false},
	} {
		t.Run(c.schema+" "+c.permission, func(t *testing.T) {
			db := migratedTo(t, baseline(t), c.schema)
			_, err := db.ExecContext(t.Context(), insert(2, c.permission))
			if (err == nil) != c.admitted {
				t.Errorf("admitted %v, want %v: %v", err == nil, c.admitted, err)
			}
		})
	}
}

func TestSchema132AdmitsAttachStdin(t *testing.T) {
	t.Parallel()
	for schema, admitted := range map[string]bool{"0127": false, "0128": false, "0132": true} {
		db := migratedTo(t, baseline(t), schema)
		_, err := db.ExecContext(t.Context(), `INSERT INTO lifecycle_log VALUES ('`+string(name[id.Admission](id.KindAdmission, 1))+
			`', 5, 'attach_stdin', 'intent', '`+string(name[id.Owner](id.KindOwner, 12))+`', 2, '{}', 1)`)
		if (err == nil) != admitted {
			t.Errorf("%s: admitted %v, want %v: %v", schema, err == nil, admitted, err)
		}
	}
}

func TestSchema134AdmitsContainerd(t *testing.T) {
	t.Parallel()
	for schema, admitted := range map[string]bool{"0133": false, "0134": true} {
		db := migratedTo(t, baseline(t), schema)
		ddl := tablesOf(t, db)["admissions"]
		if got := strings.Contains(ddl, "'containerd'"); got != admitted {
			t.Errorf("%s: %v", schema, got)
		}
		if got := slices.Contains(strings.Split(columnsOf(t, db, "admissions"), ", "), "stdin"); got != admitted {
			t.Errorf("%s: stdin %v", schema, got)
		}
	}
}
