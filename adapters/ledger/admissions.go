package ledger

import (
	"github.com/uptrace/bun"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/run"
)

type admissionRow struct {
	bun.BaseModel `bun:"table:admissions"`

	ID             string           `bun:"id"`
	RunID          string           `bun:"run_id"`
	PreparationID  string           `bun:"preparation_id"`
	ApprovalID     string           `bun:"approval_id"`
	Permission     string           `bun:"permission"`
	ManifestSHA256 string           `bun:"manifest_sha256"`
	CommandSHA256  string           `bun:"command_sha256"`
	Authority      authorityColumns `bun:"embed:"`
	ImageID        string           `bun:"image_id"`
	Stdin          string           `bun:"stdin"`
	OperationKey   string           `bun:"operation_key"`
	CreatedAt      int64            `bun:"created_at_us"`
}

// AddAdmission records an immutable admission: one a preparation and one an
// approval, or approval_consumed.
func (r *records) AddAdmission(a lifecycle.Admission) error {
	if err := r.begins("add admission"); err != nil {
		return err
	}
	if err := checkKey(a.OperationKey); err != nil {
		return err
	}
	used, err := r.tx.NewSelect().Model((*admissionRow)(nil)).
		Where("preparation_id = ? OR approval_id = ?", string(a.Preparation), string(a.Approval)).Exists(r.ctx)
	if err != nil {
		return r.fault("read admission", err)
	}
	if used {
		return fault.New(fault.ApprovalConsumed, "preparation %s was admitted before", a.Preparation).At("preparation").
			Hint("prepare the command again and have the new preparation reviewed")
	}
	return r.insert("add admission", &admissionRow{
		ID: string(a.ID), RunID: string(a.Run), PreparationID: string(a.Preparation), ApprovalID: string(a.Approval),
		Permission: string(a.Permission), ManifestSHA256: a.ManifestSHA256, CommandSHA256: a.CommandSHA256,
		Authority: authorityOf(a.Authority), ImageID: a.ImageID, Stdin: string(a.Stdin),
		OperationKey: a.OperationKey, CreatedAt: a.CreatedAt.UnixMicro(),
	})
}

// Admission returns one by id.
func (r *records) Admission(aid id.Admission) (lifecycle.Admission, error) {
	return r.admission("admission", string(aid), "id = ?")
}

// AdmissionOfPreparation returns not_found when there is none.
func (r *records) AdmissionOfPreparation(pid id.Preparation) (lifecycle.Admission, error) {
	return r.admission("admission of preparation", string(pid), "preparation_id = ?")
}

func (r *records) admission(what, key, where string) (lifecycle.Admission, error) {
	row := new(admissionRow)
	if err := r.get(row, what, key, where, key); err != nil {
		return lifecycle.Admission{}, err
	}
	return row.value(), nil
}

// ListAdmissions returns a Run's, the oldest first; an empty Run means all.
func (r *records) ListAdmissions(rid id.Run) ([]lifecycle.Admission, error) {
	return r.admissions(rid, false)
}

// OpenAdmissions returns all that are not finalized, the oldest first; an empty
// Run means all.
func (r *records) OpenAdmissions(rid id.Run) ([]lifecycle.Admission, error) {
	return r.admissions(rid, true)
}

func (r *records) admissions(rid id.Run, open bool) ([]lifecycle.Admission, error) {
	var rows []admissionRow
	q := r.tx.NewSelect().Model(&rows).ModelTableExpr("admissions AS a").ColumnExpr("a.*").OrderExpr("a.created_at_us, a.id")
	of := "a.run_id = ?"
	if open {
		// From the few, which SQLite would not choose by itself.
		q = q.ModelTableExpr("open_admissions AS o CROSS JOIN admissions AS a ON a.id = o.admission_id")
		of = "o.run_id = ?"
	}
	if rid != "" {
		q = q.Where(of, string(rid))
	}
	if err := r.query("list admissions", q); err != nil {
		return nil, err
	}
	out := make([]lifecycle.Admission, len(rows))
	for i := range rows {
		out[i] = rows[i].value()
	}
	return out, nil
}

func (w admissionRow) value() lifecycle.Admission {
	return lifecycle.Admission{
		ID: id.Admission(w.ID), Run: id.Run(w.RunID), Preparation: id.Preparation(w.PreparationID),
		Approval: id.Approval(w.ApprovalID), Permission: run.Permission(w.Permission),
		ManifestSHA256: w.ManifestSHA256, CommandSHA256: w.CommandSHA256, Authority: w.Authority.value(),
		ImageID: w.ImageID, Stdin: isolation.Stdin(w.Stdin), OperationKey: w.OperationKey, CreatedAt: moment(&w.CreatedAt),
	}
}
