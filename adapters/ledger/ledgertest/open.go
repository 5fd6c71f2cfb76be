// Package ledgertest opens ledgers for tests: real SQLite files, for they are
// fast enough and a fake would have other rules.
package ledgertest

import (
	"path/filepath"
	"testing"

	"cyberagent/adapters/ledger"
)

// Open opens a new ledger in a directory of the test's and closes it at the end.
func Open(t testing.TB) *ledger.Ledger {
	t.Helper()
	return OpenAt(t, filepath.Join(t.TempDir(), "ledger.db"))
}

// OpenAt opens the ledger at path, new or not, and closes it at the end.
func OpenAt(t testing.TB, path string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), ledger.Config{Path: path})
	if err != nil {
		t.Fatalf("open ledger: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close ledger: %v", err)
		}
	})
	return l
}
