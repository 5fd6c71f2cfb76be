package ledger

import (
	"github.com/uptrace/bun"

	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
)

type cancellationRow struct {
	bun.BaseModel `bun:"table:cancellations"`

	AdmissionID string `bun:"admission_id"`
	Reason      string `bun:"reason"`
	By          string `bun:"cancelled_by"`
	At          int64  `bun:"at_us"`
}

// AddCancellation records the wish. The first one stays: another is accepted
// and changes nothing.
func (r *records) AddCancellation(c lifecycle.Cancellation) error {
	old, err := r.Cancellation(c.Admission)
	if old != nil || err != nil {
		return err
	}
	return r.insert("add cancellation", &cancellationRow{
		AdmissionID: string(c.Admission), Reason: c.Reason, By: c.By, At: c.At.UnixMicro(),
	})
}

// Cancellation returns (nil, nil) when nobody cancelled.
func (r *records) Cancellation(aid id.Admission) (*lifecycle.Cancellation, error) {
	row := new(cancellationRow)
	err := r.tx.NewSelect().Model(row).Where("admission_id = ?", string(aid)).Scan(r.ctx)
	if isNoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, r.fault("read cancellation", err)
	}
	return &lifecycle.Cancellation{Admission: aid, Reason: row.Reason, By: row.By, At: moment(&row.At)}, nil
}
