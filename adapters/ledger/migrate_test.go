package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/uptrace/bun/migrate"

	"cyberagent/domain/fault"
)

var update = flag.Bool("update", false, "write testdata anew")

// history is written out by hand: a new migration is one more line here, one
// more file in testdata/schema, and one more test of what it does to rows.
var history = []string{"0127", "0128", "0132", "0133", "0134", "0135", "0136", "0137", "0138", "0139", "0140"}

func TestHistoryIsTheSeedsAndOursStartsAt133(t *testing.T) {
	t.Parallel()
	m, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range m.Sorted() {
		names = append(names, one.Name)
	}
	same(t, "migrations", names, history)
	entries, err := fs.ReadDir(files, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(history) {
		t.Errorf("%d files for %d migrations", len(entries), len(history))
	}
}

func TestEveryMigrationLeavesTheRecordedSchema(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("testdata", "schema")
	for _, last := range history {
		t.Run(last, func(t *testing.T) {
			db := migratedTo(t, filepath.Join(t.TempDir(), "l.db"), last)
			got := schemaOf(t, db)
			file := filepath.Join(dir, last+".sql")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("schema after %s differs from %s; if that is meant, run go test -run EveryMigration -update and read the diff", last, file)
			}
		})
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(history) {
		t.Errorf("%s has %d files, want %d", dir, len(entries), len(history))
	}
}

func TestEveryTableIsStrict(t *testing.T) {
	t.Parallel()
	db := migratedTo(t, filepath.Join(t.TempDir(), "l.db"), history[len(history)-1])
	for table, ddl := range tablesOf(t, db) {
		if !strings.Contains(ddl, ") STRICT") {
			t.Errorf("%s is not STRICT", table)
		}
	}
}

// The mark may be lost to a crash between the body and the mark; then the body
// runs again.
func TestEveryMigrationCanRunAgainWithRowsWhenItsMarkWasLost(t *testing.T) {
	t.Parallel()
	for _, last := range history {
		t.Run(last, func(t *testing.T) {
			path := baseline(t)
			db := migratedTo(t, path, last)
			schema, rows := schemaOf(t, db), rowsOf(t, db)
			sqlExec(t, db, "DELETE FROM bun_migrations WHERE name = '"+last+"'")
			if err := runMigrations(t, path, last); err != nil {
				t.Fatal(err)
			}
			if got := schemaOf(t, db); got != schema {
				t.Errorf("schema differs the second time:\n%s", got)
			}
			same(t, "rows", rowsOf(t, db), rows)
			if n := count(t, db, "SELECT count(*) FROM bun_migrations WHERE name = '"+last+"'"); n != 1 {
				t.Errorf("%d marks", n)
			}
		})
	}
}

func TestAFailedMigrationKeepsNothingAndIsTriedAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "l.db")
	db := migratedTo(t, path, "0135")
	before := schemaOf(t, db)
	bad := upTo(t, "0135")
	bad["0136_bad.tx.up.sql"] = &fstest.MapFile{Data: []byte("CREATE TABLE extra (a INTEGER) STRICT; SELECT no_such_column FROM runs;")}
	for range 2 {
		if err := runFS(t, path, bad); err == nil {
			t.Fatal("the bad migration passed")
		}
		if got := schemaOf(t, db); got != before {
			t.Fatal("a failed migration left something")
		}
	}
}

func TestAMigrationThatBreaksReferencesIsRefused(t *testing.T) {
	t.Parallel()
	path := baseline(t)
	if err := runMigrations(t, path, "0135"); err != nil {
		t.Fatal(err)
	}
	bad := upTo(t, "0135")
	bad["0136_bad.tx.up.sql"] = &fstest.MapFile{Data: []byte(
		"DROP TRIGGER runs_no_delete; DELETE FROM runs;")}
	if err := runFS(t, path, bad); err == nil || !strings.Contains(err.Error(), "broken references") {
		t.Fatalf("got %v", err)
	}
	db := raw(t, path)
	if n := count(t, db, "SELECT count(*) FROM runs"); n == 0 {
		t.Error("the rows are gone")
	}
}

func TestANewerSchemaIsRefusedAndNothingChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "l.db")
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	db := raw(t, path)
	sqlExec(t, db, "INSERT INTO bun_migrations (name, group_id) VALUES ('0999', 9)")
	sqlExec(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Config{Path: path})
	if !errors.Is(err, fault.LedgerNewer) {
		t.Fatalf("got %v", err)
	}
	if f := fault.From(err); f.Remedy == "" || f.Details["schema"] != "0999" {
		t.Errorf("remedy %q, details %v", f.Remedy, f.Details)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("the file changed")
	}
}

func TestAnOpenLedgerStopsWhenANewerProgramMigratesUnderIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "l.db")
	l := open(t, path)
	c := chainOf(t, 1)
	sqlExec(t, raw(t, path), "PRAGMA user_version = 999")
	refused(t, l, fault.LedgerNewer, c.prepared)
}

func TestAnotherProgramsDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "l.db")
	db := raw(t, path)
	sqlExec(t, db, "CREATE TABLE cookies (id INTEGER)")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{Path: path}); !errors.Is(err, fault.LedgerUnusable) {
		t.Fatalf("got %v", err)
	}
}

// upTo returns the migrations up to and with last.
func upTo(t testing.TB, last string) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	entries, err := fs.ReadDir(files, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name()[:4] <= last {
			b, err := files.ReadFile("migrations/" + e.Name())
			if err != nil {
				t.Fatal(err)
			}
			out[e.Name()] = &fstest.MapFile{Data: b}
		}
	}
	return out
}

func runMigrations(t testing.TB, path, last string) error {
	t.Helper()
	return runFS(t, path, upTo(t, last))
}

func runFS(t testing.TB, path string, dir fs.FS) error {
	t.Helper()
	m := migrate.NewMigrations()
	if err := m.Discover(dir); err != nil {
		t.Fatal(err)
	}
	db, err := handle(migrateDSN(path), 1)
	if err != nil {
		t.Fatal(err)
	}
	return errors.Join(migrateOnce(context.Background(), db, m), db.Close())
}

// migratedTo migrates the file at path up to last and returns a raw handle.
func migratedTo(t testing.TB, path, last string) *sql.DB {
	t.Helper()
	db := raw(t, path)
	sqlExec(t, db, "PRAGMA journal_mode = WAL")
	if err := runMigrations(t, path, last); err != nil {
		t.Fatal(err)
	}
	return db
}

// raw opens a file as any SQLite program would.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path, map[string][]string{}, []string{"foreign_keys(1)"}))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func sqlExec(t testing.TB, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.ExecContext(context.Background(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func count(t testing.TB, db *sql.DB, query string) int {
	t.Helper()
	var n int
	if err := db.QueryRowContext(context.Background(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// schemaOf returns the whole schema but bun's and SQLite's own tables.
func schemaOf(t testing.TB, db *sql.DB) string {
	t.Helper()
	rows, err := db.QueryContext(context.Background(), `SELECT type, name, sql FROM sqlite_schema
		WHERE name NOT LIKE 'sqlite_%' AND tbl_name NOT LIKE 'bun_%' ORDER BY tbl_name, type = 'trigger', type = 'index', name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var kind, name string
		var ddl sql.NullString
		if err := rows.Scan(&kind, &name, &ddl); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "-- %s %s\n%s;\n\n", kind, name, ddl.String)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// tablesOf returns the product's tables with their definitions.
func tablesOf(t testing.TB, db *sql.DB) map[string]string {
	t.Helper()
	rows, err := db.QueryContext(context.Background(), `SELECT name, sql FROM sqlite_schema
		WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'bun_%'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var name, ddl string
		if err := rows.Scan(&name, &ddl); err != nil {
			t.Fatal(err)
		}
		out[name] = ddl
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// rowsOf returns every row of every table of the product, as "column=type:value"
// in the order of the primary key.
func rowsOf(t testing.TB, db *sql.DB) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for table := range tablesOf(t, db) {
		out[table] = rowsIn(t, db, table, "*")
	}
	return out
}

func rowsIn(t testing.TB, db *sql.DB, table, columns string) []string {
	t.Helper()
	rows, err := db.QueryContext(context.Background(), "SELECT "+columns+" FROM "+table+" ORDER BY 1, 2")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for rows.Next() {
		values := make([]any, len(names))
		into := make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		line := make([]string, len(names))
		for i, n := range names {
			line[i] = fmt.Sprintf("%s=%T:%v", n, values[i], values[i])
		}
		out = append(out, strings.Join(line, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
