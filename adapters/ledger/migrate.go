package ledger

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/migrate"

	"cyberagent/domain/fault"
)

// files are the migrations. A name is four digits, so that names sort as
// numbers do; the baseline is 0127, ours start at 0133.
//
//go:embed migrations/*.tx.up.sql
var files embed.FS

// marks is bun's table of what was applied.
const marks = "bun_migrations"

// errApplied says that another process has applied the migration meanwhile.
var errApplied = errors.New("applied meanwhile")

func migrations() (*migrate.Migrations, error) {
	dir, err := fs.Sub(files, "migrations")
	if err != nil {
		return nil, err
	}
	m := migrate.NewMigrations()
	if err := m.Discover(dir); err != nil {
		return nil, err
	}
	return m, nil
}

// version reads which migrations a file has, without changing anything. It
// says whether the schema is the newest; ledger_schema_newer when the file has a
// migration that this program does not know, ledger_unusable when it is some
// other program's database.
func (l *Ledger) version(ctx context.Context) (newest bool, err error) {
	m, err := migrations()
	if err != nil {
		return false, fault.Wrap(fault.Internal, err, "the migrations of this program cannot be read")
	}
	var known []string
	for _, one := range m.Sorted() {
		known = append(known, one.Name)
		if l.schema, err = strconv.Atoi(one.Name); err != nil {
			return false, fault.Wrap(fault.Internal, err, "the migration %q of this program has no number", one.Name)
		}
	}
	var applied []string
	err = l.retry(ctx, "open", func() error { applied, err = l.applied(ctx); return err })
	if err != nil {
		return false, err
	}
	for i, name := range applied {
		switch {
		case !slices.Contains(known, name):
			return false, newer(l.path, name)
		case known[i] != name:
			return false, broken(l.path, nil, "lacks migration "+known[i]+" and has later ones").
				Hint("the ledger was changed by something else; restore it from a backup")
		}
	}
	return len(applied) == len(known), nil
}

// applied returns the names of the marks, none for an empty file.
func (l *Ledger) applied(ctx context.Context) ([]string, error) {
	var tables []string
	err := l.write.NewSelect().TableExpr("sqlite_schema").Column("name").Where("type = 'table'").Scan(ctx, &tables)
	if err != nil {
		return nil, l.translate("open", err)
	}
	found := map[string]bool{}
	for _, t := range tables {
		found[t] = true
	}
	if !found[marks] {
		if len(tables) > 0 {
			return nil, fault.New(fault.LedgerUnusable, "%s is another program's database", l.path).At("ledger").
				Hint("set another ledger path; nothing was changed")
		}
		return nil, nil
	}
	var names []string
	err = l.write.NewSelect().TableExpr(marks).ColumnExpr("DISTINCT name").OrderExpr("name").Scan(ctx, &names)
	return names, l.translate("open", err)
}

// migrate applies what is missing. Several processes may do so at once: each
// body runs in a transaction that excludes other writers, looks first whether
// its mark is there by now, and sets the mark itself, so that body and mark are
// one. bun sets the mark again after it; a body that runs twice, as it does when
// its mark was lost, changes nothing the second time.
func (l *Ledger) migrate(ctx context.Context) error {
	db, err := handle(migrateDSN(l.path), 1)
	if err != nil {
		return l.translate("migrate", err)
	}
	m, err := migrations()
	if err != nil {
		return errors.Join(fault.Wrap(fault.Internal, err, "the migrations of this program cannot be read"), db.Close())
	}
	err = l.retry(ctx, "migrate", func() error {
		return l.translate("migrate", migrateOnce(ctx, db, m))
	})
	return errors.Join(err, l.translate("migrate", db.Close()))
}

func migrateOnce(ctx context.Context, db *bun.DB, m *migrate.Migrations) error {
	mg := migrate.NewMigrator(db, m,
		// Without it a migration is marked before it runs, and skipped for good
		// after it failed.
		migrate.WithMarkAppliedOnSuccess(true),
		migrate.WithUpsert(true),
		migrate.BeforeMigration(unlessApplied),
		migrate.AfterMigration(checkAndMark))
	for {
		if err := mg.Init(ctx); err != nil {
			return err
		}
		_, err := mg.Migrate(ctx)
		if !errors.Is(err, errApplied) {
			return err
		}
	}
}

// unlessApplied runs first in a migration's transaction.
func unlessApplied(ctx context.Context, tx bun.IConn, m *migrate.Migration) error {
	var n int
	err := tx.QueryRowContext(ctx, "SELECT count(*) FROM "+marks+" WHERE name = ?", m.Name).Scan(&n)
	if err == nil && n > 0 {
		return errApplied
	}
	return err
}

// checkAndMark runs last in a migration's transaction: foreign keys were off
// while tables were built anew, so every reference is checked now.
func checkAndMark(ctx context.Context, tx bun.IConn, m *migrate.Migration) error {
	rows, err := tx.QueryContext(ctx, "PRAGMA foreign_key_check")
	if err != nil {
		return err
	}
	broken := rows.Next()
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	if broken {
		return fmt.Errorf("migration %s leaves broken references", m.Name)
	}
	if _, err = tx.ExecContext(ctx, "INSERT INTO "+marks+" (name, group_id) VALUES (?, ?)", m.Name, m.GroupID); err != nil {
		return err
	}
	number, err := strconv.Atoi(m.Name)
	if err != nil {
		return err
	}
	// Every transaction compares it (checkSchema).
	_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", number))
	return err
}

func newer(path, schema string) error {
	return fault.New(fault.LedgerNewer, "%s has schema %s, which this program does not know", path, schema).
		At("ledger").With("schema", schema).Hint("use the newer cyberagent that wrote it; nothing was changed")
}
