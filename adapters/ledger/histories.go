package ledger

import (
	"fmt"
	"strings"
	"time"

	"cyberagent/domain/id"
	"cyberagent/domain/retention"
)

// hanging are the tables with what hangs on a Run, by the column that leads to it,
// those that lead to others last. Runs, their two kinds of snapshots, prunings and
// the installation stay.
var hanging = []struct{ table, key string }{
	{"job_transitions", "job_id"},
	{"approval_consumptions", "approval_id"},
	{"approval_decisions", "approval_id"},
	{"approval_requests", "approval_id"},
	{"approval_revocations", "approval_id"},
	{"cancellations", "admission_id"},
	{"leases", "admission_id"},
	{"lifecycle_log", "admission_id"},
	{"log_receipts", "admission_id"},
	{"receipts", "admission_id"},
	{"checkpoints", "drydock_id"},
	{"drydock_steps", "drydock_id"},
	{"jobs", "run_id"},
	{"job_owners", "run_id"},
	{"admissions", "run_id"},
	{"approvals", "run_id"},
	{"preparations", "run_id"},
	{"drydocks", "run_id"},
	{"events", "run_id"},
	{"operations", "run_id"},
}

// parents are the tables whose ids those columns have; run_id has none.
var parents = map[string]string{"job_id": "jobs", "approval_id": "approvals", "admission_id": "admissions", "drydock_id": "drydocks"}

// hangs is the condition that finds the rows of Runs, which a query lists, by the column
// that leads to them. The triggers that let them go find them by the same.
func hangs(key, runs string) string {
	if parent := parents[key]; parent != "" {
		return fmt.Sprintf("%s IN (SELECT id FROM %s WHERE run_id IN (%s))", key, parent, runs)
	}
	return fmt.Sprintf("%s IN (%s)", key, runs)
}

// closed are the Runs in question; its one argument is a time.
const closed = "SELECT id FROM runs AS c WHERE status = 'closed' AND updated_at_us < ? AND NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = c.id)"

// Histories returns the closed Runs that changed last before a time and were not
// pruned, in the order of their ids.
func (r *records) Histories(before time.Time) ([]retention.History, error) {
	found := map[id.Run]*retention.History{}
	at := before.UnixMicro()
	each := func(q string, take func(h *retention.History, v [3]int64)) error {
		return r.perRun(q, at, func(rid id.Run, v [3]int64) {
			h := found[rid]
			if h == nil {
				h = &retention.History{Run: rid}
				found[rid] = h
			}
			take(h, v)
		})
	}
	latest := func(h *retention.History, v [3]int64) {
		if t := moment(&v[0]); t.After(h.Newest) {
			h.Newest = t
		}
	}
	queries := []struct {
		sql  string
		take func(h *retention.History, v [3]int64)
	}{
		{"SELECT id, created_at_us, updated_at_us, 0 FROM runs WHERE id IN (" + closed + ")", func(h *retention.History, v [3]int64) {
			h.Oldest, h.Newest = moment(&v[0]), moment(&v[1])
		}},
		{"SELECT run_id, max(at_us), 0, 0 FROM events WHERE run_id IN (" + closed + ") GROUP BY run_id", latest},
		{"SELECT run_id, max(updated_at_us), sum(status <> 'cleaned'), 0 FROM drydocks WHERE run_id IN (" + closed + ") GROUP BY run_id",
			func(h *retention.History, v [3]int64) { latest(h, v); h.Drydocks = v[1] }},
		{"SELECT run_id, count(*), 0, 0 FROM open_admissions WHERE run_id IN (" + closed + ") GROUP BY run_id",
			func(h *retention.History, v [3]int64) { h.OpenAdmissions = v[0] }},
		{"SELECT run_id, count(*), 0, 0 FROM open_jobs WHERE run_id IN (" + closed + ") GROUP BY run_id",
			func(h *retention.History, v [3]int64) { h.OpenJobs = v[0] }},
	}
	for _, q := range queries {
		if err := each(q.sql, q.take); err != nil {
			return nil, err
		}
	}
	for _, h := range hanging {
		q, err := r.holdings(h.table, h.key)
		if err != nil {
			return nil, err
		}
		err = each(q, func(x *retention.History, v [3]int64) {
			x.Records, x.Bytes = x.Records+v[0], x.Bytes+v[1]
			if h.table == "admissions" {
				x.Admissions = v[0]
			}
		})
		if err != nil {
			return nil, err
		}
	}
	if err := r.owners(at, found); err != nil {
		return nil, err
	}
	all := make([]retention.History, 0, len(found))
	for _, h := range found {
		all = append(all, *h)
	}
	retention.Sort(all)
	return all, nil
}

// holdings counts a table's rows and the bytes of their values by Run.
func (r *records) holdings(table, key string) (string, error) {
	var columns []string
	err := r.tx.NewSelect().TableExpr("pragma_table_info(?)", table).Column("name").Scan(r.ctx, &columns)
	if err != nil {
		return "", r.fault("read columns", err)
	}
	for i, c := range columns {
		columns[i] = "coalesce(octet_length(t." + c + "), 0)"
	}
	run, from := "t.run_id", table+" AS t"
	if parent := parents[key]; parent != "" {
		run, from = "p.run_id", fmt.Sprintf("%s AS p CROSS JOIN %s AS t ON t.%s = p.id", parent, table, key)
	}
	return fmt.Sprintf("SELECT %s, count(*), sum(%s), 0 FROM %s WHERE %s IN (%s) GROUP BY 1",
		run, strings.Join(columns, " + "), from, run, closed), nil
}

// perRun reads rows of a Run's id and three numbers.
func (r *records) perRun(q string, at int64, take func(id.Run, [3]int64)) error {
	rows, err := r.tx.QueryContext(r.ctx, q, at)
	if err != nil {
		return r.fault("read histories", err)
	}
	defer rows.Close() //nolint:errcheck // Err says it
	for rows.Next() {
		var rid string
		var v [3]int64
		if err := rows.Scan(&rid, &v[0], &v[1], &v[2]); err != nil {
			return r.fault("read histories", err)
		}
		take(id.Run(rid), v)
	}
	return r.fault("read histories", rows.Err())
}

// owners fills in who held leases that were never released.
func (r *records) owners(at int64, found map[id.Run]*retention.History) error {
	rows, err := r.tx.QueryContext(r.ctx, "SELECT DISTINCT a.run_id, l.owner FROM admissions AS a CROSS JOIN leases AS l ON l.admission_id = a.id"+
		" WHERE l.released = 0 AND a.run_id IN ("+closed+") ORDER BY 1, 2", at)
	if err != nil {
		return r.fault("read owners", err)
	}
	defer rows.Close() //nolint:errcheck // Err says it
	for rows.Next() {
		var rid, owner string
		if err := rows.Scan(&rid, &owner); err != nil {
			return r.fault("read owners", err)
		}
		if h := found[id.Run(rid)]; h != nil {
			h.Owners = append(h.Owners, id.Owner(owner))
		}
	}
	return r.fault("read owners", rows.Err())
}
