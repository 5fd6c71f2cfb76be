package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"cyberagent/domain/fault"
)

// scarce is how little room makes an I/O error a full disk: SQLite reports a
// failed growth of its shared memory as an I/O error.
const scarce = 256 << 10

// translate turns what SQLite and database/sql say into the ledger's faults;
// what is one already, or a context's end, passes through. op is what was being
// done, for the message.
func (l *Ledger) translate(op string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("ledger: %s: %w", op, err)
	}
	se, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		if noSpace(err) {
			return diskFull(l.path, err)
		}
		return fault.Wrap(fault.Internal, err, "ledger: %s failed", op)
	}
	if e := constraint(op, se); e != nil {
		return e
	}
	switch se.Code() & 0xff { // the primary code of an extended one
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return busy(err)
	case sqlite3.SQLITE_FULL:
		return diskFull(l.path, err)
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		if free, ferr := freeBytes(filepath.Dir(l.path)); noSpace(err) || (ferr == nil && free < scarce) {
			return diskFull(l.path, err)
		}
		return broken(l.path, err, "cannot be read or written").Hint("check the disk and the rights of %s and its directory", l.path)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return broken(l.path, err, "cannot be written").
			Hint("make %s, its directory and the files beside it writable for this user, on a filesystem that is not read-only", l.path)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return broken(l.path, err, "is damaged or is not a ledger").
			Hint("keep the file for inspection and restore it from a backup, or set another ledger path")
	}
	return fault.Wrap(fault.Internal, err, "ledger: %s failed", op)
}

// constraint translates what a rule of the schema refused, nil for anything
// else. Reading first usually gives a better error; this is the rule itself.
func constraint(op string, se *sqlite.Error) error {
	switch se.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_TRIGGER:
		return fault.Wrap(fault.OperationConflict, se, "ledger: %s is refused", op).
			Hint("it is recorded already, or what is recorded does not allow it; read it again")
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return fault.Wrap(fault.NotFound, se, "ledger: %s refers to a record that is not there", op)
	}
	if se.Code()&0xff == sqlite3.SQLITE_CONSTRAINT {
		return fault.Wrap(fault.Internal, se, "ledger: %s breaks a rule of the schema", op)
	}
	return nil
}

func busy(err error) error {
	return fault.Wrap(fault.LedgerBusy, err, "other processes kept the ledger busy").At("ledger").
		Hint("try again; if it stays busy, look for a hung cyberagent process")
}

func diskFull(path string, err error) error {
	return fault.Wrap(fault.DiskFull, err, "no room on the disk of %s", path).At("ledger").
		Hint("free some space there; nothing is started until then, and recovery goes on afterwards")
}

func broken(path string, err error, what string) *fault.Error {
	return fault.Wrap(fault.LedgerUnusable, err, "%s %s", path, what).At("ledger")
}

// notFound is what getters answer for what is not there.
func notFound(what, id string) error {
	return fault.New(fault.NotFound, "no %s %s", what, id).Hint("copy the id from the output that made it")
}

// ended says whether err is what the end of a context looks like from within a
// transaction: database/sql rolls back behind its back.
func ended(err error) bool {
	se, ok := errors.AsType[*sqlite.Error](err)
	return errors.Is(err, sql.ErrTxDone) || (ok && se.Code()&0xff == sqlite3.SQLITE_INTERRUPT)
}

func isNoRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }
