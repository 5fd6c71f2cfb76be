package conformance

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// marks are the outcomes in a matrix.
var marks = map[Outcome]string{Passed: "yes", Failed: "**NO**", NotApplicable: "–", "": "**not run**"}

// Markdown writes the matrix and the table of sabotages, the same text for the
// same outcomes.
func Markdown(w io.Writer, rows []Row) error {
	var b strings.Builder
	b.WriteString(`<!-- Made by "make conformance". Do not edit. -->
# Conformance of the engines

Every engine runs the same checks (package adapters/conformance). A check is an invariant of the engine's port
(ports/engine.go, numbered) or a property of the isolation contract; none is skipped.

`)
	for _, r := range rows {
		fmt.Fprintf(&b, "- **%s**: version %s", r.Engine, r.Version)
		if r.Reason != "" {
			fmt.Fprintf(&b, "; – means that a check needs real processes, and %s", r.Reason)
		}
		b.WriteString("\n")
	}
	matrix(&b, rows)
	sabotages(&b, rows)
	_, err := io.WriteString(w, b.String())
	return err
}

func header(b *strings.Builder, cells ...string) {
	fmt.Fprintf(b, "\n| %s |\n|%s\n", strings.Join(cells, " | "), strings.Repeat(" --- |", len(cells)))
}

func names(rows []Row) []string {
	var all []string
	for _, r := range rows {
		all = append(all, r.Engine)
	}
	return all
}

func matrix(b *strings.Builder, rows []Row) {
	b.WriteString("\n## Checks\n")
	header(b, append([]string{"topic", "what holds", "invariant"}, names(rows)...)...)
	for i, c := range Checks() {
		cells := []string{c.Topic, c.Name, c.Holds}
		for _, r := range rows {
			cells = append(cells, marks[r.Outcomes[i]])
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}

// sabotages leaves out engines without processes: what they can show of it is
// the same as the others'.
func sabotages(b *strings.Builder, rows []Row) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Reason != "" })
	b.WriteString(`
## Sabotages

Each is one way to break a promise. A changed request is read back from the engine, and then sent to the container all
the same with a forged read-back: so both proofs, the read-back and the runner's measurement before the command starts,
are tried without the other. A broken call must make the named check fail. The suite fails when nothing bites.
`)
	header(b, append([]string{"sabotage", "breaks"}, names(rows)...)...)
	for i, s := range Sabotages() {
		cells := []string{s.Name, s.Breaks}
		for _, r := range rows {
			cells = append(cells, r.cell(i))
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}

func (r Row) cell(i int) string {
	if i >= len(r.Sabotages) {
		return "**not run**"
	}
	c := r.Sabotages[i]
	switch {
	case len(c.By) == 0 && c.Reason == "":
		return "**NOTHING**"
	case len(c.By) == 0:
		return "– (" + c.Reason + ")"
	case c.Reason != "":
		return strings.Join(c.By, "; ") + " (not measured: " + c.Reason + ")"
	}
	return strings.Join(c.By, "; ")
}

// Summary writes one line an engine, for the end of a run. It returns false when
// anything failed or did not run.
func Summary(w io.Writer, rows []Row) (ok bool) {
	ok = true
	_, _ = fmt.Fprintf(w, "\n%-24s %-22s %8s %8s %8s %9s %8s\n", "engine", "version", "checks", "passed", "n/a", "sabotages", "caught")
	for _, r := range rows {
		count := map[Outcome]int{}
		for _, o := range r.Outcomes {
			count[o]++
		}
		caught, apply := 0, 0
		for i, s := range r.Sabotages {
			switch {
			case len(s.By) > 0:
				caught++
				apply++
			case r.cell(i) == "**NOTHING**":
				apply++
			}
		}
		good := count[Passed]+count[NotApplicable] == len(Checks()) && len(r.Sabotages) == len(Sabotages()) && caught == apply &&
			(count[NotApplicable] == 0) == (r.Reason == "")
		ok = ok && good
		_, _ = fmt.Fprintf(w, "%-24s %-22s %8d %8d %8d %9d %8d\n", r.Engine, r.Version, len(Checks()), count[Passed], count[NotApplicable], apply, caught)
	}
	return ok
}
