package ledger

import (
	"github.com/uptrace/bun"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

type operationRow struct {
	bun.BaseModel `bun:"table:operations"`

	RunID  string `bun:"run_id"`
	Verb   string `bun:"verb"`
	Key    string `bun:"key"`
	Intent string `bun:"intent"`
	Answer []byte `bun:"answer"` // NULL while the work is under way
	At     int64  `bun:"at_us"`
}

// FindOperation returns (nil, nil) when the key is new, operation_conflict when
// it was used with another intent, invalid_argument for a key that is none, and
// run_not_eligible for a Run whose records were pruned, its keys among them.
func (r *records) FindOperation(run id.Run, verb, key, intent string) (*ports.Operation, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	row, err := r.operation(run, verb, key)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, r.pruned(run)
	}
	if row.Intent != intent {
		return nil, fault.New(fault.OperationConflict, "the key %q was used for another %s", key, verb).
			At("operation_key").Hint("use a new key for a new request, or repeat the first request exactly")
	}
	return &ports.Operation{
		Run: run, Verb: verb, Key: key, Intent: row.Intent, Answer: row.Answer, At: moment(&row.At),
	}, nil
}

// operation returns (nil, nil) when there is none.
func (r *records) operation(run id.Run, verb, key string) (*operationRow, error) {
	row := new(operationRow)
	err := r.tx.NewSelect().Model(row).
		Where("run_id = ? AND verb = ? AND key = ?", string(run), verb, key).Scan(r.ctx)
	if isNoRows(err) {
		return nil, nil
	}
	return row, r.fault("read operation", err)
}

// AddOperation records a new key; one that exists is operation_conflict.
func (r *records) AddOperation(op ports.Operation) error {
	if err := checkKey(op.Key); err != nil {
		return err
	}
	return r.insert("add operation", &operationRow{
		RunID: string(op.Run), Verb: op.Verb, Key: op.Key, Intent: op.Intent,
		Answer: op.Answer, At: op.At.UnixMicro(),
	})
}

// AnswerOperation records the one answer.
func (r *records) AnswerOperation(run id.Run, verb, key string, answer []byte) error {
	row, err := r.operation(run, verb, key)
	switch {
	case err != nil:
		return err
	case row == nil:
		return notFound("operation", key)
	case row.Answer != nil:
		return fault.New(fault.OperationConflict, "the operation %q of %s has its answer", key, verb).At("operation_key").
			Hint("repeat the request to read the recorded answer")
	case answer == nil:
		return fault.New(fault.Internal, "no answer for the operation %q of %s", key, verb)
	}
	_, err = r.tx.NewUpdate().Model((*operationRow)(nil)).Set("answer = ?", answer).
		Where("run_id = ? AND verb = ? AND key = ? AND answer IS NULL", string(run), verb, key).Exec(r.ctx)
	return r.fault("answer operation", err)
}

// checkKey accepts 1 to OperationKeyLen characters of [A-Za-z0-9._:-].
func checkKey(key string) error {
	if id.ValidName(key, limits.OperationKeyLen) {
		return nil
	}
	return fault.New(fault.InvalidArgument, "%.140q is not an operation key", key).At("operation_key").
		Hint("give 1 to %d characters of A-Z a-z 0-9 . _ : -", limits.OperationKeyLen)
}
