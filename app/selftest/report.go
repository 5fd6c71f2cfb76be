package selftest

import (
	"slices"
	"strings"
	"time"

	"cyberagent/app/standardcode"
)

// Protocol names the answer.
const Protocol = "selftest-crash.v1"

// Verdict is a row's or the report's.
type Verdict string

// The verdicts. An edge that nothing was tried on, or not often enough because
// the selftest was interrupted, is incomplete.
const (
	Held       Verdict = "held"
	Failed     Verdict = "failed"
	Incomplete Verdict = "incomplete"
)

// Common is what every report of a selftest says.
type Common struct {
	Engine        string    `json:"engine"`
	EngineVersion string    `json:"engine_version"`
	Image         string    `json:"image_digest"`
	Seed          uint64    `json:"seed"`
	Parallel      int       `json:"parallel"`
	StartedAt     time.Time `json:"started_at"`
	CompletedAt   time.Time `json:"completed_at"`
	TookMillis    int64     `json:"took_ms"`
	Verdict       Verdict   `json:"verdict"`
	Failures      []Failure `json:"failures"`
	CleanUp       CleanUp   `json:"clean_up"`
	// Kept is where the evidence is, empty when it was removed.
	Kept string `json:"kept"`
}

// Report is the answer of `selftest crash`.
type Report struct {
	Protocol string `json:"protocol_version"`
	Common

	Repeat        int      `json:"repeat"`
	Edges         []Row    `json:"edges"`
	NotApplicable []Exempt `json:"not_applicable"`
}

// Row is what was seen at one edge on one engine.
type Row struct {
	Edge    string             `json:"edge"`
	Actor   standardcode.Actor `json:"actor"`
	Engine  string             `json:"engine"`
	Repeats int                `json:"repeats"`
	// Kills counts killed processes. An edge of recovery kills the owner first; a
	// moment in the middle of a call can come too late to kill anything.
	Kills int `json:"kills"`
	// Starts sums the starts that the command noted, MostStarts is the most that one
	// approved command had.
	Starts     int `json:"starts"`
	MostStarts int `json:"most_starts"`
	Leaks      int `json:"leaks"`
	// Late counts containers that the engine made after recovery had looked, and
	// that the next recovery removed.
	Late        int            `json:"late"`
	Decoys      int            `json:"decoys_touched"`
	Checkpoints int            `json:"checkpoints"`
	Unchanged   int            `json:"unchanged"`
	Ends        map[string]int `json:"ends"`
	MeanMillis  int64          `json:"mean_ms"`
	Verdict     Verdict        `json:"verdict"`

	total time.Duration
}

// Failure is something that did not hold.
type Failure struct {
	Edge        string `json:"edge"`
	ExecutionID string `json:"execution_id"`
	RunID       string `json:"run_id"`
	Problem     string `json:"problem"`
}

// CleanUp says what was taken away at the end. Containers counts those that
// should not have been there.
type CleanUp struct {
	Containers  int  `json:"containers"`
	Decoys      int  `json:"decoys"`
	HomeRemoved bool `json:"home_removed"`
}

func common(engine string, seed uint64, parallel int, now time.Time) Common {
	return Common{Engine: engine, Seed: seed, Parallel: parallel, StartedAt: now, Failures: []Failure{}}
}

func newReport(edges []Edge, opt Options, engine string, now time.Time) Report {
	r := Report{
		Protocol: Protocol, Common: common(engine, opt.Seed, opt.Parallel, now), Repeat: opt.Repeat,
		Edges: []Row{}, NotApplicable: Exempts(),
	}
	for _, e := range edges {
		r.Edges = append(r.Edges, Row{Edge: e.Name(), Actor: e.Actor, Engine: engine, Ends: map[string]int{}, Verdict: Incomplete})
	}
	return r
}

// chosen are the edges whose name contains a text.
func chosen(only string) []Edge {
	return slices.DeleteFunc(Edges(), func(e Edge) bool { return !strings.Contains(e.Name(), only) })
}

// note adds one trial.
func (r *Report) note(edge int, t *trial, took time.Duration) {
	row := &r.Edges[edge]
	row.Repeats++
	row.Kills += t.kills
	row.Starts += t.starts
	row.MostStarts = max(row.MostStarts, t.starts)
	row.Leaks += t.leaks
	row.Late += t.late
	row.Decoys += t.touched
	if t.captured {
		row.Checkpoints++
	} else {
		row.Unchanged++
	}
	if t.ended != "" {
		row.Ends[t.ended]++
	}
	row.total += took
	row.MeanMillis = row.total.Milliseconds() / int64(row.Repeats)
	for _, p := range t.problems {
		row.Verdict = Failed
		r.Failures = append(r.Failures, Failure{
			Edge: row.Edge, ExecutionID: string(t.admission), RunID: string(t.l.run), Problem: p,
		})
	}
	if row.Verdict != Failed && row.Repeats == r.Repeat {
		row.Verdict = Held
	}
}

func (r *Report) tried() (n int) {
	for _, row := range r.Edges {
		n += row.Repeats
	}
	return n
}

// conclude decides the whole.
func (r *Report) conclude(complete bool) {
	r.Verdict = Held
	for _, row := range r.Edges {
		if row.Verdict == Incomplete || !complete {
			r.Verdict = Incomplete
		}
	}
	if len(r.Failures) > 0 {
		r.Verdict = Failed
	}
}
