package ledgertest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the driver named "sqlite"

	"cyberagent/domain/id"
)

// copied are the tables that hold what belongs to one admission, in an order that
// every reference and trigger accepts, and the column that leads to the admission's
// own rows. Checkpoints are not among them: a Drydock has one a generation.
var copied = []struct{ table, by string }{
	{"preparations", "id = (SELECT preparation_id FROM admissions WHERE id = ?)"},
	{"approvals", "id = (SELECT approval_id FROM admissions WHERE id = ?)"},
	{"approval_requests", "approval_id = (SELECT approval_id FROM admissions WHERE id = ?)"},
	{"approval_decisions", "approval_id = (SELECT approval_id FROM admissions WHERE id = ?)"},
	{"admissions", "id = ?"},
	{"approval_consumptions", "admission_id = ?"},
	{"leases", "admission_id = ?"},
	{"lifecycle_log", "admission_id = ?"},
	{"receipts", "admission_id = ?"},
	{"log_receipts", "admission_id = ?"},
	{"operations", "verb = 'execute' AND (run_id, key) = (SELECT run_id, operation_key FROM admissions WHERE id = ?)"},
}

// Multiply copies a finished admission of the closed ledger at path n times, with all
// that led to it, under numbered ids that begin at first. With cut above 0 the copies
// end with that entry of the log, as those of a process that died there. It makes
// ledgers of a size that would take days to use. Every trigger and reference holds.
func Multiply(ctx context.Context, path string, a id.Admission, first, n int, cut int64) (err error) {
	db, err := sql.Open("sqlite", "file://"+path+"?_pragma=foreign_keys(1)&_pragma=synchronous(0)&_txlock=immediate")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	for _, c := range copied {
		if cut > 0 && strings.HasSuffix(c.table, "receipts") {
			continue
		}
		columns, err := columnsOf(ctx, tx, c.table)
		if err != nil {
			return err
		}
		values := make([]string, len(columns))
		for i, name := range columns {
			values[i] = value(c.table, name, cut)
		}
		where, order := c.by, ""
		if c.table == "lifecycle_log" {
			order = ", t.sequence"
			if cut > 0 {
				where += fmt.Sprintf(" AND sequence <= %d", cut)
			}
		}
		q := fmt.Sprintf("WITH RECURSIVE numbers (n) AS (SELECT %d UNION ALL SELECT n + 1 FROM numbers WHERE n < %d)\n"+
			"INSERT INTO %s (%s) SELECT %s FROM numbers, (SELECT * FROM %s WHERE %s) AS t ORDER BY n%s",
			first, first+n-1, c.table, strings.Join(columns, ", "), strings.Join(values, ", "), c.table, where, order)
		if _, err := tx.ExecContext(ctx, q, string(a)); err != nil {
			return fmt.Errorf("%s: %w", c.table, err)
		}
	}
	if cut == 0 {
		// The log is written under a lease that is not released yet.
		if _, err := tx.ExecContext(ctx, "UPDATE leases SET released = 1 WHERE released = 0 AND admission_id BETWEEN ? AND ?",
			numbered(id.KindAdmission, first), numbered(id.KindAdmission, first+n-1)); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// value is what a copy has in a column: its own ids and key, else the original's.
func value(table, column string, cut int64) string {
	own := map[string]id.Kind{"preparation_id": id.KindPreparation, "approval_id": id.KindApproval, "admission_id": id.KindAdmission}
	owners := map[string]id.Kind{"preparations": id.KindPreparation, "approvals": id.KindApproval, "admissions": id.KindAdmission}
	kind, ok := own[column]
	if column == "id" {
		kind, ok = owners[table]
	}
	switch {
	case ok:
		return fmt.Sprintf("'%s' || printf('%%026d', n)", strings.TrimSuffix(numbered(kind, 0), strings.Repeat("0", 26)))
	case column == "operation_key", table == "operations" && column == "key":
		return "'copy-' || n"
	case table == "operations" && column == "answer" && cut > 0:
		return "NULL"
	case table == "leases" && column == "released":
		return "0"
	}
	return "t." + column
}

// numbered is an id of n.
func numbered(k id.Kind, n int) string { return id.Format(k, fmt.Sprintf("%026d", n)) }

func columnsOf(ctx context.Context, tx *sql.Tx, table string) (names []string, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT name FROM pragma_table_info(?)", table)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err says it
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return slices.Clip(names), rows.Err()
}
