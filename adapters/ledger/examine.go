package ledger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/ports"
)

// Probe examines the ledger at a path without changing it.
type Probe struct{ Config Config }

var _ ports.LedgerProbe = Probe{}

// Examine implements ports.LedgerProbe. It makes, migrates and locks nothing; a
// ledger that others are using is read beside them. It returns ledger_unusable
// for what is no ledger.
func (p Probe) Examine(ctx context.Context) (ports.LedgerFacts, error) {
	path, err := filepath.Abs(p.Config.Path)
	if err != nil {
		return ports.LedgerFacts{}, unusable(p.Config.Path, err, "has no absolute path")
	}
	f := ports.LedgerFacts{Path: path}
	m, err := migrations()
	if err != nil {
		return f, fault.Wrap(fault.Internal, err, "the migrations of this program cannot be read")
	}
	for _, one := range m.Sorted() {
		f.Newest = max(f.Newest, one.Name)
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return f, unusable(path, err, "cannot be examined")
	case !info.Mode().IsRegular():
		return f, unusable(path, nil, "is not a regular file")
	}
	f.Present, f.Mode, f.Foreign = true, uint32(info.Mode().Perm()), foreign(info)
	db, err := handle(readDSN(path), 1)
	if err != nil {
		return f, unusable(path, err, "cannot be opened")
	}
	l := &Ledger{path: path, wait: defaultBusyWait, write: db, read: db}
	defer func() { _ = db.Close() }()
	applied, err := l.applied(ctx)
	if err != nil {
		return f, err
	}
	for _, name := range applied {
		f.Schema = max(f.Schema, name)
	}
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&f.Integrity); err != nil {
		return f, l.translate("examine", err)
	}
	if f.Schema == f.Newest {
		row := new(installationRow)
		if err := db.NewSelect().Model(row).Scan(ctx); err != nil && !isNoRows(err) {
			return f, l.translate("examine", err)
		}
		f.Installation = id.Installation(row.ID)
	}
	return f, nil
}
