package selftest

import (
	"fmt"
	"io"
	"time"

	"cyberagent/domain/phrase"
)

// SoakProtocol names the answer of `selftest soak`.
const SoakProtocol = "selftest-soak.v1"

// SoakReport is the answer of `selftest soak`.
type SoakReport struct {
	Protocol string `json:"protocol_version"`
	Common

	Wanted int `json:"wanted_kills"`
	// Kills counts processes that KILL ended at work, Recoveries those of them that
	// recovered.
	Kills      int `json:"kills"`
	Recoveries int `json:"killed_recoveries"`
	// Commands counts approved commands, Unrecorded those whose first process died
	// before anything was recorded.
	Commands   int `json:"commands"`
	Unrecorded int `json:"unrecorded"`
	// Admissions and Receipts are the ledger's at the end, with the control's.
	Admissions int `json:"admissions"`
	Receipts   int `json:"terminal_receipts"`
	// Starts sums the starts that the commands noted, MostStarts is the most of one.
	Starts      int            `json:"starts"`
	MostStarts  int            `json:"most_starts"`
	Leaks       int            `json:"leaks"`
	Late        int            `json:"late"`
	Checkpoints int            `json:"checkpoints"`
	Ends        map[string]int `json:"ends"`
}

func newSoakReport(opt SoakOptions, engine string, now time.Time) SoakReport {
	return SoakReport{
		Protocol: SoakProtocol, Common: common(engine, opt.Seed, opt.Parallel, now),
		Wanted: opt.Kills, Ends: map[string]int{},
	}
}

// note adds one command.
func (r *SoakReport) note(t *trial) {
	r.Commands++
	r.Kills += t.kills
	r.Recoveries += t.rescuers
	r.Starts += t.starts
	r.MostStarts = max(r.MostStarts, t.starts)
	r.Leaks += t.leaks
	r.Late += t.late
	if t.edge.Unrecorded {
		r.Unrecorded++
	}
	if t.captured {
		r.Checkpoints++
	}
	if t.ended != "" {
		r.Ends[t.ended]++
	}
	for _, p := range t.problems {
		r.Failures = append(r.Failures, Failure{Edge: "soak", ExecutionID: string(t.admission), RunID: string(t.l.run), Problem: p})
	}
}

func (r *SoakReport) conclude(complete bool) {
	switch {
	case len(r.Failures) > 0:
		r.Verdict = Failed
	case !complete || r.Kills < r.Wanted:
		r.Verdict = Incomplete
	default:
		r.Verdict = Held
	}
}

// Text writes the report for a person.
func (r SoakReport) Text(w io.Writer) {
	for _, f := range r.Failures {
		_, _ = fmt.Fprintf(w, "FAILED %s %s: %s\n", f.Edge, f.ExecutionID, f.Problem)
	}
	_, _ = fmt.Fprintf(w, "%s: %d of %d processes killed (%d that recovered), %d at once, %s, %s %s, seed %d, %d s\n",
		r.Verdict, r.Kills, r.Wanted, r.Recoveries, r.Parallel, phrase.Count(r.Commands, "command"), r.Engine, r.EngineVersion, r.Seed, r.TookMillis/1000)
	_, _ = fmt.Fprintf(w, "%s (at most %d of one command), %s with %s (%s), %s, %d late\n",
		phrase.Count(r.Starts, "start"), r.MostStarts, phrase.Count(r.Admissions, "admission"), phrase.Count(r.Receipts, "end"), ends(r.Ends),
		phrase.Count(r.Leaks, "leak"), r.Late)
	r.footer(w)
}
