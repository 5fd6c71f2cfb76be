package ledger

import (
	"net/url"
	"path/filepath"
	"strings"
)

// busyMillis is how long SQLite itself waits for a lock. It is short, for
// transact tries again, and between tries a context can end the wait.
const busyMillis = "250"

// writeDSN: BEGIN IMMEDIATE, because a transaction that reads before it writes
// gets SQLITE_BUSY at once, whatever the timeout, when it has to be upgraded;
// synchronous FULL, because what the ledger says must survive a power loss;
// recursive triggers, because a REPLACE fires no delete trigger without them.
func writeDSN(path string, more []string) string {
	pragmas := append([]string{"foreign_keys(1)", "synchronous(FULL)", "recursive_triggers(1)"}, more...)
	return dsn(path, url.Values{"_txlock": {"immediate"}}, pragmas)
}

// readDSN makes connections on which every write fails.
func readDSN(path string) string {
	return dsn(path, url.Values{"mode": {"ro"}}, nil)
}

// pruneDSN is a writer without foreign keys, which Prune checks itself.
func pruneDSN(path string) string {
	return dsn(path, url.Values{"_txlock": {"immediate"}}, []string{"foreign_keys(0)", "synchronous(FULL)", "recursive_triggers(1)"})
}

// migrateDSN is a writer without foreign keys: a table that is built anew is
// dropped while others refer to it. migrate checks them before each commit. It
// need not be durable by itself: what a power loss takes is migrated again, and
// the first transaction after it syncs the log with everything before.
func migrateDSN(path string) string {
	return dsn(path, url.Values{"_txlock": {"immediate"}}, []string{"foreign_keys(0)", "synchronous(NORMAL)"})
}

// dsn makes the URI that SQLite and its driver share. Everything special in
// the path is escaped, so a directory called "a?b" is nothing but a directory.
func dsn(path string, q url.Values, pragmas []string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // C:/… on Windows
	}
	q["_pragma"] = append([]string{"busy_timeout(" + busyMillis + ")"}, pragmas...)
	return "file://" + (&url.URL{Path: p}).EscapedPath() + "?" + q.Encode()
}
