package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	_ "modernc.org/sqlite" // the driver named "sqlite"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/ports"
)

// Config says where a ledger is and how patient it is.
type Config struct {
	// Path is the ledger's file. It and its directory are made when missing.
	Path string
	// BusyWait bounds how long one transaction waits for other processes, and for
	// other transactions of this one; 0 means 30 s.
	BusyWait time.Duration

	// Seams of tests: more pragmas of the write connection, and what a path lies on.
	pragmas    []string
	filesystem func(dir string) (filesystem, error)
}

const (
	defaultBusyWait = 30 * time.Second
	// readers is how many Reads of one process run at once.
	readers = 4
)

// Ledger is an open ledger. It is safe for use by many goroutines; close it
// when done.
type Ledger struct {
	path   string
	wait   time.Duration
	write  *bun.DB // one connection
	read   *bun.DB // cannot write
	schema int     // that this program knows, as user_version
	inst   id.Installation
}

var _ ports.Ledger = (*Ledger)(nil)

// Open opens the ledger at cfg.Path, makes it when it is missing (mode 0600 in a
// directory of mode 0700) and migrates it to the newest schema. Errors:
// ledger_unusable (a link, a network filesystem, a read-only or corrupt file),
// ledger_schema_newer (nothing was changed), ledger_busy, disk_full.
func Open(ctx context.Context, cfg Config) (*Ledger, error) {
	if cfg.BusyWait == 0 {
		cfg.BusyWait = defaultBusyWait
	}
	if cfg.filesystem == nil {
		cfg.filesystem = filesystemOf
	}
	path, err := place(cfg)
	if err != nil {
		return nil, err
	}
	l, err := begin(ctx, path, cfg)
	if errors.Is(err, fault.DiskFull) && (&Ledger{path: path}).giveReserve() {
		// Whoever comes to clean up needs room for the log beside the file already.
		// Nothing begins without the reserve, so this opens the way for nothing else.
		l, err = begin(ctx, path, cfg)
	}
	return l, err
}

func begin(ctx context.Context, path string, cfg Config) (*Ledger, error) {
	l := &Ledger{path: path, wait: cfg.BusyWait}
	var err error
	if l.write, err = handle(writeDSN(path, cfg.pragmas), 1); err != nil {
		return nil, l.translate("open", err)
	}
	if err := l.start(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// start brings an opened file into use: version first, for a newer ledger must
// stay as it is.
func (l *Ledger) start(ctx context.Context) error {
	newest, err := l.version(ctx)
	if err != nil {
		return err
	}
	if err := l.useWAL(ctx); err != nil {
		return err
	}
	if !newest {
		if err := l.migrate(ctx); err != nil {
			return err
		}
	}
	if l.read, err = handle(readDSN(l.path), readers); err != nil {
		return l.translate("open", err)
	}
	l.inst, err = l.installation(ctx)
	return err
}

// useWAL makes the file a WAL database, which lasts, and is a no-op from then
// on. The change needs the file for itself, so it is tried again while others
// are at it.
func (l *Ledger) useWAL(ctx context.Context) error {
	return l.retry(ctx, "open", func() error {
		var mode string
		if err := l.write.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
			return l.translate("open", err)
		}
		if mode != "wal" {
			return fault.New(fault.LedgerUnusable, "the filesystem below %s cannot hold a write-ahead log", l.path).
				At("ledger").Hint("put the ledger on a local disk")
		}
		return nil
	})
}

// Close ends the handle. Transactions under way end first.
func (l *Ledger) Close() error {
	var errs []error
	// The writer closes last: only it may fold the write-ahead log into the file.
	for _, db := range []*bun.DB{l.read, l.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// Installation is the random identity of this ledger.
func (l *Ledger) Installation() id.Installation { return l.inst }

// Read runs fn on one consistent snapshot that cannot be written.
func (l *Ledger) Read(ctx context.Context, fn func(ports.Records) error) error {
	_, err := l.transact(ctx, l.read, fn)
	return err
}

// Write runs fn in one transaction that excludes every other writer from its
// first statement. It is durable when Write returns nil. On a full disk it still
// succeeds for what ends something, as long as the reserve lasts.
func (l *Ledger) Write(ctx context.Context, fn func(ports.Records) error) error {
	starts, err := l.transact(ctx, l.write, fn)
	if errors.Is(err, fault.DiskFull) && !starts && l.giveReserve() {
		_, err = l.transact(ctx, l.write, fn)
	}
	return err
}

// handle makes a pool of at most n connections that stay open.
func handle(dsn string, n int) (*bun.DB, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return bun.NewDB(db, sqlitedialect.New()), nil
}
