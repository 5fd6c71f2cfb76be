package ledger

import (
	"github.com/uptrace/bun"

	"cyberagent/domain/approval"
	"cyberagent/domain/id"
)

type preparationRow struct {
	bun.BaseModel `bun:"table:preparations"`

	ID             string           `bun:"id"`
	RunID          string           `bun:"run_id"`
	ManifestSHA256 string           `bun:"manifest_sha256"`
	Manifest       []byte           `bun:"manifest"`
	CommandSHA256  string           `bun:"command_sha256"`
	Authority      authorityColumns `bun:"embed:"`
	CreatedAt      int64            `bun:"created_at_us"`
}

// AddPreparation records an immutable preparation. Its manifest is kept byte by
// byte.
func (r *records) AddPreparation(p approval.Preparation) error {
	if err := r.begins("add preparation"); err != nil {
		return err
	}
	return r.insert("add preparation", &preparationRow{
		ID: string(p.ID), RunID: string(p.Run), ManifestSHA256: p.ManifestSHA256, Manifest: p.Manifest,
		CommandSHA256: p.CommandSHA256, Authority: authorityOf(p.Authority), CreatedAt: p.CreatedAt.UnixMicro(),
	})
}

// Preparation returns one by id.
func (r *records) Preparation(pid id.Preparation) (approval.Preparation, error) {
	row := new(preparationRow)
	if err := r.get(row, "preparation", string(pid), "id = ?", string(pid)); err != nil {
		return approval.Preparation{}, err
	}
	return approval.Preparation{
		ID: id.Preparation(row.ID), Run: id.Run(row.RunID), ManifestSHA256: row.ManifestSHA256, Manifest: row.Manifest,
		CommandSHA256: row.CommandSHA256, Authority: row.Authority.value(), CreatedAt: moment(&row.CreatedAt),
	}, nil
}
