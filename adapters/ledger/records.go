package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/uptrace/bun"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"cyberagent/domain/fault"
	"cyberagent/ports"
)

// records is one transaction. It lives as long as the function it is given to,
// and so does its context.
type records struct {
	ledger *Ledger
	ctx    context.Context // it is the transaction's own
	tx     bun.Tx
	reads  bool // it is Read's
	starts bool // it begins something new (reserve.go)
	prunes bool // it is Prune's
	// failed is the first failure that ended the transaction below us.
	failed error
}

var _ ports.Records = (*records)(nil)

// fault translates err. A full disk, a busy or broken file and the end of the
// context may have made SQLite roll back by itself; statements after that would
// be kept one by one. So the first such failure ends the transaction here, and
// once returns it whatever the caller's function made of it. A rule that refuses
// one statement ends nothing.
func (r *records) fault(op string, err error) error {
	if err == nil || r.failed != nil {
		return r.failed
	}
	if r.ctx.Err() != nil && ended(err) {
		err = r.ctx.Err()
	}
	if se, ok := errors.AsType[*sqlite.Error](err); ok && r.reads && se.Code()&0xff == sqlite3.SQLITE_READONLY {
		err = fault.Wrap(fault.Internal, err, "ledger: %s inside Read", op)
	}
	err = r.ledger.translate(op, err)
	switch fault.CodeOf(err) {
	case fault.OperationConflict, fault.NotFound:
	default:
		r.failed = err
		r.tx.Rollback() //nolint:errcheck // done for database/sql, whatever SQLite says
	}
	return err
}

// insert adds one row, or a slice of rows.
func (r *records) insert(op string, row any) error {
	_, err := r.tx.NewInsert().Model(row).Exec(r.ctx)
	return r.fault(op, err)
}

// get fills row, a model, by a condition; what and id name it when it is not
// there.
func (r *records) get(row any, what, id, where string, args ...any) error {
	err := r.tx.NewSelect().Model(row).Where(where, args...).Limit(1).Scan(r.ctx)
	if isNoRows(err) {
		return notFound(what, id)
	}
	return r.fault("read "+what, err)
}

// query fills rows, a pointer to a slice of models.
func (r *records) query(op string, q *bun.SelectQuery) error {
	return r.fault(op, q.Scan(r.ctx))
}

// micros is the one form in which a time is stored; nil for the zero time.
func micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	us := t.UnixMicro()
	return &us
}

// moment reads what micros wrote.
func moment(us *int64) time.Time {
	if us == nil {
		return time.Time{}
	}
	return time.UnixMicro(*us).UTC()
}

// document encodes a value for a JSON column.
func document(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fault.Wrap(fault.Internal, err, "ledger: a value has no JSON")
	}
	return string(b), nil
}

// parse reads what document wrote.
func parse(s string, v any) error {
	if err := json.Unmarshal([]byte(s), v); err != nil {
		return fault.Wrap(fault.LedgerUnusable, err, "ledger: a JSON column cannot be read").
			Hint("the ledger was changed by something else; restore it from a backup")
	}
	return nil
}

// storable refuses text that SQL cannot hold as it is. Names of files are bytes
// on most systems; those that are not UTF-8 are refused rather than changed.
func storable(field, s string) error {
	for _, c := range s {
		if c == 0 {
			return fault.New(fault.InvalidArgument, "a NUL character").At(field).Hint("remove it")
		}
	}
	if !utf8.ValidString(s) {
		return fault.New(fault.InvalidArgument, "%q is not valid UTF-8", s).At(field).
			Hint("use a path whose name is plain UTF-8 text")
	}
	return nil
}
