package ledger

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/run"
	"cyberagent/ports"
)

func runs(t testing.TB, l *Ledger) int {
	t.Helper()
	return len(read(t, l, func(r ports.Records) ([]run.Run, error) { return r.ListRuns(1000) }))
}

func TestATransactionIsKeptWholeOrNotAtAll(t *testing.T) {
	boom := errors.New("boom")
	for what, f := range map[string]func(*testing.T, *Ledger, *chain){
		"the function fails": func(t *testing.T, l *Ledger, c *chain) {
			err := l.Write(t.Context(), func(r ports.Records) error { return errors.Join(c.prepared(r), boom) })
			if !errors.Is(err, boom) {
				t.Errorf("got %v", err)
			}
		},
		"the function panics": func(t *testing.T, l *Ledger, c *chain) {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_ = l.Write(t.Context(), func(r ports.Records) error { _ = c.prepared(r); panic(boom) })
		},
		"the context ends within": func(t *testing.T, l *Ledger, c *chain) {
			ctx, cancel := context.WithCancel(t.Context())
			err := l.Write(ctx, func(r ports.Records) error {
				err := c.prepared(r)
				cancel()
				return err
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		},
		"the context ended within, a while ago": func(t *testing.T, l *Ledger, c *chain) {
			ctx, cancel := context.WithCancel(t.Context())
			err := l.Write(ctx, func(r ports.Records) error {
				cancel()
				time.Sleep(20 * time.Millisecond) // database/sql has rolled back by now
				if err := c.prepared(r); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
				return nil
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		},
		"the context ended before": func(t *testing.T, l *Ledger, c *chain) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := l.Write(ctx, c.prepared); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		},
		"a failure that ends the transaction is swallowed": func(t *testing.T, l *Ledger, c *chain) {
			err := l.Write(t.Context(), func(r ports.Records) error {
				if err := c.prepared(r); err != nil {
					return err
				}
				bad := c.run
				bad.ID, bad.Status = name[id.Run](id.KindRun, 8), "bogus"
				_ = r.AddRun(bad) // breaks a CHECK
				other := chainOf(t, 2)
				_ = r.AddRun(other.run)
				return nil
			})
			if !errors.Is(err, fault.Internal) {
				t.Errorf("got %v", err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			l, c := fresh(t), chainOf(t, 1)
			f(t, l, &c)
			if n := runs(t, l); n != 0 {
				t.Errorf("%d runs were kept", n)
			}
			// The connection is as good as new.
			write(t, l, c.prepared)
		})
	}
}

// SQLite rolls back by itself after some failures; what the function does then
// would be kept one statement at a time.
func TestNothingIsKeptAfterSQLiteRolledBackByItself(t *testing.T) {
	l, c := fresh(t), chainOf(t, 1)
	boom := errors.New("boom")
	err := l.Write(t.Context(), func(r ports.Records) error {
		rec := r.(*records)
		if _, err := rec.tx.ExecContext(t.Context(), "ROLLBACK"); err != nil {
			t.Error(err)
		}
		_ = rec.fault("a statement", boom)
		if err := r.AddEvent(ports.Event{Kind: "k", At: t0}); !errors.Is(err, boom) {
			t.Errorf("got %v", err)
		}
		return nil
	})
	if !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	if n := len(read(t, l, func(r ports.Records) ([]ports.Event, error) { return r.ListEvents("") })); n != 0 {
		t.Errorf("%d events were kept", n)
	}
	write(t, l, c.prepared)
}

func TestAConflictEndsOnlyItsStatement(t *testing.T) {
	l, c := fresh(t), chainOf(t, 1)
	write(t, l, func(r ports.Records) error {
		if err := c.prepared(r); err != nil {
			return err
		}
		if err := r.AddRun(c.run); !errors.Is(err, fault.OperationConflict) {
			t.Errorf("got %v", err)
		}
		return nil
	})
	if n := runs(t, l); n != 1 {
		t.Errorf("%d runs", n)
	}
}

func TestReadCannotWrite(t *testing.T) {
	l, c := fresh(t), chainOf(t, 1)
	err := l.Read(t.Context(), func(r ports.Records) error { return r.AddRun(c.run) })
	if !errors.Is(err, fault.Internal) || !strings.Contains(err.Error(), "inside Read") {
		t.Errorf("got %v", err)
	}
}

func TestReadSeesOneMomentWhileOthersWrite(t *testing.T) {
	l, c := fresh(t), chainOf(t, 1)
	err := l.Read(t.Context(), func(r ports.Records) error {
		before, err := r.ListRuns(9)
		if err != nil {
			return err
		}
		write(t, l, c.prepared)
		after, err := r.ListRuns(9)
		if len(before) != 0 || len(after) != 0 {
			t.Errorf("%d runs, then %d", len(before), len(after))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := runs(t, l); n != 1 {
		t.Errorf("%d runs", n)
	}
}

func TestAWriteInsideAWriteEndsBusyRatherThanNever(t *testing.T) {
	l, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "l.db"), BusyWait: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = l.Write(t.Context(), func(ports.Records) error {
		return l.Write(t.Context(), func(ports.Records) error { return nil })
	})
	if !errors.Is(err, fault.LedgerBusy) || fault.From(err).Remedy == "" {
		t.Errorf("got %v", err)
	}
}

func TestAnotherWriterIsWaitedForAsLongAsConfigured(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	holder, patient, c := open(t, path), open(t, path), chainOf(t, 1)
	impatient, err := Open(t.Context(), Config{Path: path, BusyWait: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer impatient.Close()

	held, release, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- holder.Write(context.Background(), func(ports.Records) error { close(held); <-release; return nil })
	}()
	<-held
	// Excluded from its first statement: the function does not even begin.
	err = impatient.Write(t.Context(), func(ports.Records) error { t.Error("two writers at once"); return nil })
	if !errors.Is(err, fault.LedgerBusy) || fault.From(err).Remedy == "" {
		t.Errorf("got %v", err)
	}
	// Reading waits for no writer.
	if n := runs(t, patient); n != 0 {
		t.Errorf("%d runs", n)
	}
	// A context ends the wait, also inside SQLite, long before BusyWait.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := patient.Write(ctx, c.prepared); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if d := time.Since(began); d > defaultBusyWait*2/3 {
		t.Errorf("the context ended the wait after %s", d)
	}
	time.AfterFunc(100*time.Millisecond, func() { close(release) })
	write(t, patient, c.prepared)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestManyGoroutinesShareOneLedger(t *testing.T) {
	l, c := fresh(t), chainOf(t, 1)
	write(t, l, c.prepared)
	const goroutines, each = 8, 20
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range each {
				if err := l.Write(t.Context(), func(r ports.Records) error { return bump(r, c.run.ID) }); err != nil {
					t.Error(err)
				}
				_ = runs(t, l)
			}
		})
	}
	wg.Wait()
	got := read(t, l, func(r ports.Records) (run.Run, error) { return r.Run(c.run.ID) })
	if got.Profile.Revision != 1+goroutines*each {
		t.Errorf("revision %d", got.Profile.Revision)
	}
}

// bump reads a Run's profile revision and writes the next: a lost update or a
// transaction that saw an old moment would make it fail or fall short.
func bump(r ports.Records, rid id.Run) error {
	v, err := r.Run(rid)
	if err != nil {
		return err
	}
	return r.AddProfile(rid, run.ProfileSnapshot{Revision: v.Profile.Revision + 1, Profile: run.ProfileDocker, At: t0})
}
