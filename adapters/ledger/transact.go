package ledger

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/uptrace/bun"

	"cyberagent/domain/fault"
	"cyberagent/ports"
)

// The pause between two tries doubles from least to most, with jitter: equal
// pauses would let the same process lose every time.
const (
	leastPause = time.Millisecond
	mostPause  = 32 * time.Millisecond
)

// transact runs fn in one transaction of db, again from the start when the
// database was busy. starts says whether fn began something new.
func (l *Ledger) transact(ctx context.Context, db *bun.DB, fn func(ports.Records) error) (starts bool, err error) {
	err = l.retry(ctx, "transaction", func() error {
		starts, err = l.once(ctx, db, fn)
		return err
	})
	return starts, err
}

// retry repeats f while it returns ledger_busy, for l.wait at the most or until
// ctx ends.
func (l *Ledger) retry(ctx context.Context, op string, f func() error) error {
	deadline := time.Now().Add(l.wait)
	for pause := leastPause; ; pause = min(2*pause, mostPause) {
		err := f()
		if !errors.Is(err, fault.LedgerBusy) || time.Now().After(deadline) {
			return err
		}
		t := time.NewTimer(pause/2 + rand.N(pause)) // jitter
		select {
		case <-ctx.Done():
			t.Stop()
			return l.translate(op, errors.Join(ctx.Err(), err))
		case <-t.C:
		}
	}
}

// once is one try: nothing of it is kept unless it returns nil.
func (l *Ledger) once(ctx context.Context, db *bun.DB, fn func(ports.Records) error) (starts bool, err error) {
	conn, err := l.connection(ctx, db)
	if err != nil {
		return false, err
	}
	defer conn.Close() //nolint:errcheck // gives it back to the pool
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return false, l.translate("begin", err)
	}
	// Also when fn panics; after a commit it does nothing.
	defer tx.Rollback() //nolint:errcheck // a connection that cannot roll back is thrown away
	r := &records{ledger: l, ctx: ctx, tx: tx, reads: db == l.read}
	if err := r.checkSchema(); err != nil {
		return false, err
	}
	if err := fn(r); err != nil || r.failed != nil {
		return r.starts, cmp.Or(r.failed, err)
	}
	return r.starts, r.fault("commit", tx.Commit())
}

// checkSchema refuses to work on what a newer program has migrated meanwhile:
// this one does not know that schema's rules.
func (r *records) checkSchema() error {
	var v int
	if err := r.tx.QueryRowContext(r.ctx, "PRAGMA user_version").Scan(&v); err != nil {
		return r.fault("begin", err)
	}
	if v != r.ledger.schema {
		return newer(r.ledger.path, itoa(int64(v)))
	}
	return nil
}

// connection waits for one of the pool's, no longer than l.wait: a transaction
// inside another of the same process would otherwise wait for ever.
func (l *Ledger) connection(ctx context.Context, db *bun.DB) (bun.Conn, error) {
	wait, cancel := context.WithTimeout(ctx, l.wait)
	defer cancel()
	conn, err := db.Conn(wait)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return conn, busy(errors.New("another transaction of this process did not end"))
	}
	return conn, l.translate("connect", err)
}
