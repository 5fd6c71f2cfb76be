package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/run"
	"cyberagent/ports"
)

func TestTenThousandRunsAreListedByTheIndex(t *testing.T) {
	t.Parallel()
	const many = 10_000
	l := fresh(t)
	db := raw(t, l.path)
	for _, insert := range []string{
		"INSERT INTO runs SELECT printf('run_%026d', n), 'a run', '/src', 'code', 'active', n, n FROM numbers",
		"INSERT INTO run_profiles SELECT printf('run_%026d', n), r, 'docker', n FROM numbers, (SELECT 1 AS r UNION SELECT 2)",
		"INSERT INTO run_permissions SELECT printf('run_%026d', n), 1, 'debug', n FROM numbers",
	} {
		sqlExec(t, db, fmt.Sprintf("WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < %d) %s", many, insert))
	}
	began := time.Now()
	got := read(t, l, func(r ports.Records) ([]run.Run, error) { return r.ListRuns(50) })
	newest := time.Since(began)
	if len(got) != 50 || got[0].ID != name[id.Run](id.KindRun, many) || got[49].ID != name[id.Run](id.KindRun, many-49) {
		t.Errorf("%d runs from %s to %s", len(got), got[0].ID, got[49].ID)
	}
	began = time.Now()
	all := read(t, l, func(r ports.Records) ([]run.Run, error) { return r.ListRuns(many) })
	t.Logf("the newest 50 of %d in %s, all in %s", len(all), newest, time.Since(began))
	// What is fast by an index is fast on a busy machine too; a bound on the time
	// alone would not say so.
	if newest > time.Second {
		t.Errorf("50 runs took %s", newest)
	}
	var details []string
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+currentRunsSQL(l))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var a, b, c int
		var d string
		if err := rows.Scan(&a, &b, &c, &d); err != nil {
			t.Fatal(err)
		}
		details = append(details, d)
	}
	if p := strings.Join(details, "; "); !strings.Contains(p, "runs_by_age") || strings.Contains(p, "TEMP B-TREE") {
		t.Errorf("plan: %s", p)
	}
}

// currentRunsSQL is what ListRuns asks.
func currentRunsSQL(l *Ledger) string {
	var rows []currentRun
	return selectCurrentRuns(l.read, &rows).OrderExpr(newestFirst).Limit(50).String()
}

func BenchmarkOpenNew(b *testing.B) {
	dir := b.TempDir()
	for i := 0; b.Loop(); i++ {
		l, err := Open(b.Context(), Config{Path: filepath.Join(dir, itoa(int64(i)))})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func BenchmarkOpenBaseline(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		path := baseline(b)
		b.StartTimer()
		l, err := Open(b.Context(), Config{Path: path})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
		_ = os.Remove(path)
		b.StartTimer()
	}
}

func BenchmarkOpenNewest(b *testing.B) {
	path := filepath.Join(b.TempDir(), "l.db")
	open(b, path) // stays open, as other processes do
	for b.Loop() {
		l, err := Open(b.Context(), Config{Path: path})
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteOneEvent(b *testing.B) {
	l, c := fresh(b), chainOf(b, 1)
	write(b, l, c.prepared)
	for b.Loop() {
		write(b, l, func(r ports.Records) error {
			return r.AddEvent(ports.Event{Run: c.run.ID, Kind: "k", Subject: string(c.run.ID), At: t0})
		})
	}
}

func BenchmarkRenewLease(b *testing.B) {
	l, c := fresh(b), chainOf(b, 1)
	write(b, l, c.admitted)
	lease := lifecycle.Lease{Admission: c.admission.ID, Owner: c.owner, Generation: 1}
	// The clock moves on: SQLite writes nothing for a row that stays the same.
	for at := time.Minute; b.Loop(); at += time.Millisecond {
		write(b, l, func(r ports.Records) error { _, err := r.RenewLease(lease, boot(at)); return err })
	}
}

func BenchmarkAppend(b *testing.B) {
	l, c := fresh(b), chainOf(b, 1)
	write(b, l, c.admitted)
	for _, e := range []lifecycle.Event{lifecycle.CreateIntent, lifecycle.CreateDone, lifecycle.RemoveIntent} {
		write(b, l, func(r ports.Records) error { return r.Append(c.entry(e), boot(0)) })
	}
	n := 0
	for b.Loop() {
		// remove:intent may be repeated; bounded, for Append reads the log.
		if n++; n%20 == 0 {
			b.StopTimer()
			c = chainOf(b, n)
			write(b, l, c.admitted)
			for _, e := range []lifecycle.Event{lifecycle.CreateIntent, lifecycle.CreateDone, lifecycle.RemoveIntent} {
				write(b, l, func(r ports.Records) error { return r.Append(c.entry(e), boot(0)) })
			}
			b.StartTimer()
		}
		write(b, l, func(r ports.Records) error { return r.Append(c.entry(lifecycle.RemoveIntent), boot(time.Minute)) })
	}
}

func BenchmarkReadRun(b *testing.B) {
	l, c := fresh(b), chainOf(b, 1)
	write(b, l, c.prepared)
	for b.Loop() {
		read(b, l, func(r ports.Records) (run.Run, error) { return r.Run(c.run.ID) })
	}
}
