package selftest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cyberagent/domain/canon"
	"cyberagent/domain/fault"
)

// Document renders reports of any engines as one document: the answers of
// `selftest crash` and `selftest soak`, as JSON. A report that did not hold is
// rendered as what it is.
func Document(answers ...[]byte) (string, error) {
	var crashes []Report
	var soaks []SoakReport
	for _, a := range answers {
		var kind struct {
			Protocol string `json:"protocol_version"`
		}
		if err := json.Unmarshal(a, &kind); err != nil {
			return "", notAReport(err)
		}
		var err error
		switch kind.Protocol {
		case Protocol:
			crashes, err = read(crashes, a)
		case SoakProtocol:
			soaks, err = read(soaks, a)
		default:
			err = fmt.Errorf("protocol_version is %q", kind.Protocol)
		}
		if err != nil {
			return "", notAReport(err)
		}
	}
	return markdown(crashes, soaks), nil
}

func read[T any](all []T, answer []byte) ([]T, error) {
	var r T
	err := canon.Strict(answer, &r)
	return append(all, r), err
}

func notAReport(err error) error {
	return fault.Wrap(fault.InvalidArgument, err, "this is no report of a selftest").At("report").
		Hint("give what `cyberagent --output json selftest crash` and `selftest soak` answered")
}

func markdown(crashes []Report, soaks []SoakReport) string {
	var b strings.Builder
	p := func(format string, a ...any) { _, _ = fmt.Fprintf(&b, format, a...) }
	p("%s", markdownHead)
	for _, r := range crashes {
		p("Verdict: **%s**. %s, %s %s, %d edges, %d repeats each, seed %d, %d in parallel, %d s.\n\n",
			r.Verdict, r.CompletedAt.UTC().Format("2006-01-02"), r.Engine, r.EngineVersion, len(r.Edges), r.Repeat, r.Seed, r.Parallel, r.TookMillis/1000)
	}
	p("| edge | engine | repeats | kills | starts | most of one | leaks | late | ended | verdict |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, row := range rows(crashes) {
		p("| `%s` | %s | %d | %d | %d | %d | %d | %d | %s | %s |\n",
			row.Edge, row.Engine, row.Repeats, row.Kills, row.Starts, row.MostStarts, row.Leaks, row.Late, row.ends(), row.Verdict)
	}
	for _, r := range crashes {
		failed(&b, r.Common)
	}
	p("%s", markdownColumns)
	p("Without an edge, because the actor does not write the event:\n\n| actor | event | reason |\n| --- | --- | --- |\n")
	for _, x := range Exempts() {
		p("| %s | `%s` | %s |\n", x.Actor, x.Event, x.Reason)
	}
	p("%s", markdownSoak)
	for _, r := range soaks {
		p("| %s %s | %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %s | %d | %d | %s |\n",
			r.Engine, r.EngineVersion, r.CompletedAt.UTC().Format("2006-01-02"), r.Seed, r.Parallel, r.Kills, r.Recoveries, r.Commands,
			r.Starts, r.MostStarts, r.Admissions, r.Receipts, ends(r.Ends), r.Leaks, r.TookMillis/1000, r.Verdict)
	}
	for _, r := range soaks {
		failed(&b, r.Common)
	}
	p("%s", markdownMethod)
	return b.String()
}

// rows are all reports' in the order of the edges, so that the engines of one
// edge stand together.
func rows(crashes []Report) []Row {
	place := map[string]int{}
	for i, e := range Edges() {
		place[e.Name()] = i
	}
	var all []Row
	for _, r := range crashes {
		all = append(all, r.Edges...)
	}
	slices.SortStableFunc(all, func(a, b Row) int { return cmp.Compare(place[a.Edge], place[b.Edge]) })
	return all
}

func failed(b *strings.Builder, r Common) {
	for _, f := range r.Failures {
		_, _ = fmt.Fprintf(b, "\nFailed on %s: `%s`: %s\n", r.Engine, f.Edge, f.Problem)
	}
}
