package ledger

import (
	"strconv"
	"strings"

	"github.com/uptrace/bun"

	"cyberagent/domain/id"
	"cyberagent/ports"
)

type eventRow struct {
	bun.BaseModel `bun:"table:events"`

	ID      int64  `bun:"id,pk,autoincrement"`
	RunID   string `bun:"run_id,nullzero"`
	Kind    string `bun:"kind"`
	Subject string `bun:"subject"`
	Detail  string `bun:"detail"`
	At      int64  `bun:"at_us"`
}

const (
	// detailBytes bounds one value of an event's detail: words and ids.
	detailBytes = 128
	// withheld stands for a value that does not belong in an event.
	withheld = "withheld"
)

// AddEvent appends one line of history. A detail that looks like a path or an
// image reference, or is no word, is withheld rather than refused: a line of
// history must not undo the work that it tells about.
func (r *records) AddEvent(e ports.Event) error {
	safe := make(map[string]string, len(e.Detail))
	for k, v := range e.Detail {
		safe[k] = word(v)
	}
	detail, err := document(safe)
	if err != nil {
		return err
	}
	return r.insert("add event", &eventRow{
		RunID: string(e.Run), Kind: e.Kind, Subject: e.Subject, Detail: detail, At: e.At.UnixMicro(),
	})
}

// word returns v when it may stand in an event.
func word(v string) string {
	bad := len(v) > detailBytes || strings.Contains(v, "sha256:") ||
		strings.ContainsFunc(v, func(c rune) bool { return c < ' ' || c > '~' || c == '/' || c == '\\' })
	if bad {
		return withheld
	}
	return v
}

// ListEvents returns a Run's, the oldest first; an empty Run means those that
// belong to none.
func (r *records) ListEvents(rid id.Run) ([]ports.Event, error) {
	var rows []eventRow
	q := r.tx.NewSelect().Model(&rows).OrderExpr("id")
	if rid == "" {
		q = q.Where("run_id IS NULL")
	} else {
		q = q.Where("run_id = ?", string(rid))
	}
	if err := r.query("list events", q); err != nil {
		return nil, err
	}
	out := make([]ports.Event, len(rows))
	for i, w := range rows {
		out[i] = ports.Event{Run: id.Run(w.RunID), Kind: w.Kind, Subject: w.Subject, At: moment(&w.At)}
		if err := parse(w.Detail, &out[i].Detail); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
