package ledger

import (
	"github.com/uptrace/bun"

	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/result"
	"cyberagent/ports"
)

type receiptRow struct {
	bun.BaseModel `bun:"table:receipts"`

	AdmissionID string `bun:"admission_id"`
	Terminal    string `bun:"terminal"`
	Status      string `bun:"status"`
	Reason      string `bun:"reason"`
	ExitCode    *int   `bun:"exit_code"`
	Signal      string `bun:"signal"`
	Result      []byte `bun:"result"`
	StartedAt   *int64 `bun:"started_at_us"`
	EndedAt     int64  `bun:"ended_at_us"`
}

type logReceiptRow struct {
	bun.BaseModel `bun:"table:log_receipts"`

	AdmissionID string `bun:"admission_id"`
	Position    int64  `bun:"position"`
	Kind        string `bun:"kind"`
	Stream      string `bun:"stream"`
	SHA256      string `bun:"sha256"`
	SizeBytes   int64  `bun:"size_bytes"`
	KeptBytes   int64  `bun:"kept_bytes"`
	Lines       int64  `bun:"lines"`
	Truncated   bool   `bun:"truncated"`
	Lost        bool   `bun:"lost"`
}

// AddReceipts records the one end of an admission; a second is
// operation_conflict.
func (r *records) AddReceipts(aid id.Admission, v ports.Receipts) error {
	err := r.insert("add receipts", &receiptRow{
		AdmissionID: string(aid), Terminal: string(v.Terminal),
		Status: string(v.Verdict.Status), Reason: string(v.Verdict.Reason), ExitCode: v.Verdict.ExitCode, Signal: v.Verdict.Signal,
		Result: v.Result, StartedAt: micros(v.StartedAt), EndedAt: v.EndedAt.UnixMicro(),
	})
	if err != nil || len(v.Logs) == 0 {
		return err
	}
	rows := make([]logReceiptRow, len(v.Logs))
	for i, g := range v.Logs {
		rows[i] = logReceiptRow{
			AdmissionID: string(aid), Position: int64(i), Kind: g.Kind, Stream: g.Stream, SHA256: g.SHA256,
			SizeBytes: g.SizeBytes, KeptBytes: g.KeptBytes, Lines: g.Lines, Truncated: g.Truncated, Lost: g.Lost,
		}
	}
	return r.insert("add log receipts", &rows)
}

// Receipts returns not_found before the end.
func (r *records) Receipts(aid id.Admission) (ports.Receipts, error) {
	row := new(receiptRow)
	if err := r.get(row, "receipts of admission", string(aid), "admission_id = ?", string(aid)); err != nil {
		return ports.Receipts{}, err
	}
	var logs []logReceiptRow
	q := r.tx.NewSelect().Model(&logs).Where("admission_id = ?", string(aid)).OrderExpr("position")
	if err := r.query("read log receipts", q); err != nil {
		return ports.Receipts{}, err
	}
	v := ports.Receipts{
		Terminal: lifecycle.State(row.Terminal), Result: row.Result,
		Verdict: result.Verdict{
			Status: result.Status(row.Status), Reason: result.Reason(row.Reason), ExitCode: row.ExitCode, Signal: row.Signal,
		},
		StartedAt: moment(row.StartedAt), EndedAt: moment(&row.EndedAt),
	}
	for _, g := range logs {
		v.Logs = append(v.Logs, result.LogReceipt{
			Kind: g.Kind, Stream: g.Stream, SHA256: g.SHA256, SizeBytes: g.SizeBytes, KeptBytes: g.KeptBytes,
			Lines: g.Lines, Truncated: g.Truncated, Lost: g.Lost,
		})
	}
	return v, nil
}
