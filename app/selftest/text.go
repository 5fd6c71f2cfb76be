package selftest

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"cyberagent/domain/phrase"
)

// Text writes the report for a person.
func (r Report) Text(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "EDGE\tENGINE\tREPEATS\tKILLS\tSTARTS\tLEAKS\tENDED\tVERDICT")
	for _, row := range r.Edges {
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%d\t%d\t%s\t%d\t%s\t%s\n",
			row.Edge, row.Engine, row.Repeats, row.Kills, row.starts(), row.Leaks, row.ends(), row.Verdict)
	}
	_ = tw.Flush()
	_, _ = fmt.Fprintln(w)
	for _, f := range r.Failures {
		_, _ = fmt.Fprintf(w, "FAILED %s %s: %s\n", f.Edge, f.ExecutionID, f.Problem)
	}
	_, _ = fmt.Fprintf(w, "%s: %s, %s each, %s %s, seed %d, %d s\n",
		r.Verdict, phrase.Count(len(r.Edges), "edge"), phrase.Count(r.Repeat, "repeat"), r.Engine, r.EngineVersion, r.Seed, r.TookMillis/1000)
	r.footer(w)
}

// footer says what was taken away and what was kept.
func (r Common) footer(w io.Writer) {
	_, _ = fmt.Fprintf(w, "cleaned up: %s, %s, home removed: %t\n",
		phrase.Count(r.CleanUp.Decoys, "decoy container"), phrase.Count(r.CleanUp.Containers, "left container"), r.CleanUp.HomeRemoved)
	if r.Kept != "" {
		_, _ = fmt.Fprintf(w, "evidence: %s\n", r.Kept)
	}
}

func (row Row) starts() string { return fmt.Sprintf("%d (at most %d)", row.Starts, row.MostStarts) }

func (row Row) ends() string { return ends(row.Ends) }

// ends lists how often each end occurred.
func ends(of map[string]int) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprintf("%s %d", k, of[k]))
	}
	return strings.Join(all, ", ")
}

const markdownHead = `# Crash selftest

<!-- Made by ` + "`make selftest`" + `. Do not edit. -->

`

const markdownColumns = `
*kills* counts killed processes; an edge of recovery kills the owner, too. *late* counts containers that the engine made
after recovery had looked, for a request of the dead process, and that the next recovery removed.

`

const markdownSoak = `
## Soak

Processes of one ledger, some on each of its Runs at once, die by KILL at random moments until as many did as were asked for;
some of those that recover are killed, too. The same is then judged as at an edge, and at the end the whole ledger is.

| engine | date | seed | at once | kills | of recoveries | commands | starts | most of one | admissions | ends | ended | leaks | s | verdict |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
`

const markdownMethod = `
## Method

Each repeat is one approved command of the python toolchain, taken through the product's own flow in a temporary home:
prepared, approved, executed by another process. The command appends one line with a token of its own to a file of the
workspace; that line is the only evidence of a start that counts. The executing process ends itself with KILL at the edge's
moment: at a fail point that is compiled into the product and that only this verb's own child can arm. For an edge of
recovery, the owner dies first (in turn: while the command runs, when its report is recorded, when it ended unseen, before the
start was sent), and the recovery is killed at the moment. A *during* edge dies after a random delay in the middle of a call of
the engine or of git.

Another process then recovers, in one of four ways that the seed chooses: for the Run, for the one admission, by repeating
the execute, or in two processes at once. After that all of this must hold, or the edge fails:

- the command's own evidence shows as many starts as are right for that moment, and never two;
- the engine has no container of this admission, and at the end none of this ledger; on containerd, no snapshot, lease or
  directory of FIFOs either, and no process without a container;
- decoys are untouched: a container with the product's name pattern and another installation's labels, one with this
  installation's label and an admission that the ledger does not know, one with a similar name and no label, and files in the
  home, in drydocks/ and in owners/; on containerd each with a lease and a snapshot, another installation's lease and snapshot
  alone, and in another namespace a container that is exactly ours;
- the log replays to finalized, with one start intent at the most and one end; there is one terminal receipt, and it says what
  the result says; how it ended is what is right for that moment;
- the Drydock is ready and intact, its files equal its Checkpoint, its generation is the result's; a command that ran has one
  Checkpoint with its one change, otherwise the result says that nothing changed; the shadow repository holds the recorded
  Checkpoints and no other;
- nothing is left below the home that a quiet installation does not have, no lock of a killed owner either;
- the same execute under the same key answers the recorded result, twice, and starts nothing.
`
