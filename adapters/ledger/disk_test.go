package ledger

import (
	"errors"
	"path/filepath"
	"testing"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/ports"
)

// A database that may not grow is a full disk on every system.
func TestAFullDatabaseIsDiskFullAndKeepsNothingHalf(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "l.db")
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), Config{Path: path, pragmas: []string{"max_page_count(120)"}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for n := 1; ; n++ {
		c := chainOf(t, n)
		err := l.Write(t.Context(), c.prepared)
		if err == nil {
			continue
		}
		if !errors.Is(err, fault.DiskFull) || fault.From(err).Remedy == "" {
			t.Fatalf("got %v", err)
		}
		if got := runs(t, l); got != n-1 {
			t.Errorf("%d runs after %d whole transactions", got, n-1)
		}
		break
	}
}

func TestAFailureOfTheDiskThatIsSwallowedKeepsNothingHalf(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "l.db")
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), Config{Path: path, pragmas: []string{"max_page_count(120)"}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = l.Write(t.Context(), func(r ports.Records) error {
		for n, after := 1, 0; after < 10; n++ {
			c := chainOf(t, n)
			if c.prepared(r) != nil {
				after++
			}
		}
		return nil
	})
	if !errors.Is(err, fault.DiskFull) {
		t.Fatalf("got %v", err)
	}
	if n := runs(t, l); n != 0 {
		t.Errorf("%d runs of a failed transaction", n)
	}
	if err := l.Read(t.Context(), func(r ports.Records) error { _, err := r.Run(name[id.Run](id.KindRun, 1)); return err }); !errors.Is(err, fault.NotFound) {
		t.Errorf("got %v", err)
	}
}
