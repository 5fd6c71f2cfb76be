package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"cyberagent/app/standardcode"
	"cyberagent/domain/fault"
	"cyberagent/domain/phrase"
	"cyberagent/domain/result"
	"cyberagent/internal/cleantext"
)

func needTarget(c *cli.Command) error {
	return fault.New(fault.InvalidArgument, "nothing named to recover").At("run").
		Hint("name a Run, --admission, or --all; see `%s --help`", c.FullName())
}

func printResult(w io.Writer, v standardcode.Result) {
	how := string(v.ReasonCode)
	if v.ExitCode != nil {
		how = fmt.Sprintf("exit code %d", *v.ExitCode)
	}
	_, _ = fmt.Fprintf(w, "%s (%s)\n", v.Status, how)
	if v.Remediation != "" {
		_, _ = fmt.Fprintf(w, "what to do  %s\n", v.Remediation)
	}
	_, _ = fmt.Fprintf(w, "execution   %s on %s, network %s\n", v.ExecutionID, v.Engine, v.Network)
	_, _ = fmt.Fprintf(w, "time        %d ms wall, %d ms cpu, %s\n", v.Resources.WallMillis, v.Resources.CPUMillis, peaks(v.Resources))
	_, _ = fmt.Fprintf(w, "files       %s; grew by %s and %s\n", counts(v.Checkpoint.Changed),
		phrase.Count(v.Resources.GrowthBytes, "byte"), phrase.Count(v.Resources.GrowthEntries, "entry"))
	for _, x := range v.Checkpoint.Excluded {
		_, _ = fmt.Fprintf(w, "left out    %s (%s)\n", printable(x.Path), x.Reason)
	}
	after := string(v.Checkpoint.AfterID)
	if after == "" {
		after = "none: the Drydock needs an operator"
	}
	_, _ = fmt.Fprintf(w, "checkpoint  %s (generation %d)\n", after, v.Checkpoint.GenerationAfter)
	for _, a := range v.Artifacts {
		if neverStarted(v) && a.SizeBytes == 0 {
			continue // there was nobody to write
		}
		note := ""
		if a.Lost {
			note = ", part of it was lost"
		}
		_, _ = fmt.Fprintf(w, "%-11s %s, %s, sha256 %.16s…%s\n", a.Stream, phrase.Count(a.SizeBytes, "byte"), phrase.Count(a.Lines, "line"), a.SHA256, note)
	}
	for _, k := range slices.Sorted(maps.Keys(v.Details)) {
		_, _ = fmt.Fprintf(w, "%-11s %s\n", k, printable(v.Details[k]))
	}
	if v.Replayed {
		_, _ = fmt.Fprintln(w, "This is the recorded answer; nothing was run.")
	}
}

// peaks leaves out what the kernel did not count.
func peaks(r result.Resources) string {
	text := fmt.Sprintf("%d MiB memory", r.MaxRSSBytes>>20)
	if r.PeakMemoryBytes > 0 {
		text = fmt.Sprintf("%d MiB memory in all, %d MiB of it the cache's at most", r.PeakMemoryBytes>>20, r.PeakCacheBytes>>20)
	}
	if r.PeakPids > 0 {
		text += ", " + phrase.Count(r.PeakPids, "process", "processes and threads")
	}
	return text
}

func neverStarted(v standardcode.Result) bool {
	switch v.ReasonCode {
	case result.IsolationMismatch, result.NeverStarted, result.StartFailed:
		return true
	default:
		return false
	}
}

// printOutput shows head and tail of both streams from memory, cleaned.
func printOutput(w io.Writer, g *gutter, out *standardcode.Output) {
	if out == nil {
		return
	}
	for _, k := range []standardcode.Kept{out.Stdout, out.Stderr} {
		var c cleantext.Cleaner
		b := g.mark(nil, c.Clean(k.Head))
		if k.Omitted > 0 {
			b = fmt.Appendf(ended(g, b), "… %s omitted …\n", phrase.Count(k.Omitted, "byte"))
		}
		b = g.mark(b, c.Clean(k.Tail))
		b = ended(g, g.mark(b, c.Flush()))
		_, _ = w.Write(b)
	}
}

// ended ends the last row also where no gutter counts rows.
func ended(g *gutter, b []byte) []byte {
	b = g.end(b)
	if len(b) > 0 && b[len(b)-1] != '\n' {
		b = append(b, '\n')
	}
	return b
}

func printExecutions(w io.Writer, all []standardcode.Execution) {
	if len(all) == 0 {
		_, _ = fmt.Fprintln(w, "no command was admitted yet")
	}
	for _, x := range all {
		how := "owner " + map[bool]string{true: "alive", false: "gone: recover it"}[x.OwnerLives]
		if x.Result != nil {
			how = string(x.Result.Status) + " " + string(x.Result.ReasonCode)
		}
		_, _ = fmt.Fprintf(w, "%s  %s  %s  %s\n", x.ExecutionID, x.State, how, utc(x.CreatedAt))
	}
}

func printRecovery(w io.Writer, v standardcode.Recovery) {
	if len(v.Items) == 0 {
		_, _ = fmt.Fprintln(w, "nothing to recover")
	}
	for _, i := range v.Items {
		var steps []string
		for _, st := range i.Steps {
			steps = append(steps, string(st))
		}
		_, _ = fmt.Fprintln(w, recoveryLine(i, steps))
	}
}

// recoveryLine says what recovery saw and did; of a container that it did not look
// at there is nothing to say.
func recoveryLine(i standardcode.RecoveredItem, steps []string) string {
	line := fmt.Sprintf("%s  %s", i.ExecutionID, i.Outcome)
	if i.Seen != "" {
		line += fmt.Sprintf(" (%s)", i.Seen)
	}
	line += ": " + printable(i.Why)
	if len(steps) > 0 {
		line += "; " + strings.Join(steps, ", ")
	}
	return line
}
