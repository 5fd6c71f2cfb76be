package ledger

import (
	"context"
	"crypto/rand"

	"github.com/oklog/ulid/v2"
	"github.com/uptrace/bun"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
)

type installationRow struct {
	bun.BaseModel `bun:"table:installation"`

	Singleton int64  `bun:"singleton"`
	ID        string `bun:"id"`
}

// installation returns this ledger's identity and makes it the first time.
func (l *Ledger) installation(ctx context.Context) (id.Installation, error) {
	var inst id.Installation
	find := func(db bun.IDB) error {
		row := new(installationRow)
		err := db.NewSelect().Model(row).Scan(ctx)
		if isNoRows(err) {
			return nil
		}
		inst = id.Installation(row.ID)
		return l.translate("read installation", err)
	}
	if err := l.retry(ctx, "open", func() error { return find(l.read) }); err != nil || inst != "" {
		return inst, err
	}
	err := l.retry(ctx, "open", func() error {
		tx, err := l.write.BeginTx(ctx, nil)
		if err != nil {
			return l.translate("begin", err)
		}
		defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
		if err := find(tx); err != nil || inst != "" {
			return err // another process was faster
		}
		// All 128 bits are random: no time is told to whoever sees the label.
		var u ulid.ULID
		if _, err := rand.Read(u[:]); err != nil {
			return fault.Wrap(fault.Internal, err, "no randomness")
		}
		made := id.Installation(id.Format(id.KindInstallation, u.String()))
		if _, err := tx.NewInsert().Model(&installationRow{Singleton: 1, ID: string(made)}).Exec(ctx); err != nil {
			return l.translate("add installation", err)
		}
		if err := tx.Commit(); err != nil {
			return l.translate("commit", err)
		}
		inst = made
		return nil
	})
	return inst, err
}
