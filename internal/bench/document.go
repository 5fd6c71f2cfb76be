package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"cyberagent/internal/machine"
)

const head = `# Benchmarks

<!-- Made by ` + "`make bench`" + `. Do not edit. -->

Ours and the plain program take turns in every round of one run, so both see the same machine. The median of all rounds
stands beside the tenth and the ninetieth percentile; a ratio is ours over the peer's. The program is ` + "`internal/bench`" + `.

`

// document renders everything that was measured.
func document(tables []Table, machine string, rounds int, began time.Time, took time.Duration) string {
	var b strings.Builder
	b.WriteString(head)
	fmt.Fprintf(&b, "%s. %d rounds, %s, in %d s.\n", machine, rounds, began.UTC().Format("2006-01-02 15:04 UTC"), int(took.Seconds()))
	for _, t := range tables {
		fmt.Fprintf(&b, "\n## %s\n\n", t.Title)
		fmt.Fprintf(&b, "| what (%s) | ours | spread | beside | its | spread | ratio | goal |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n", t.Unit)
		for _, l := range t.Lines {
			b.WriteString(row(l))
		}
		for _, n := range t.Notes {
			b.WriteString("\n" + n + "\n")
		}
	}
	return b.String()
}

func row(l Line) string {
	cells := []string{l.What, number(l.Ours.Median()), spread(l.Ours), "", "", "", "", ""}
	if len(l.Peer) > 0 {
		cells[3], cells[4], cells[5], cells[6] = l.PeerName, number(l.Peer.Median()), spread(l.Peer), fmt.Sprintf("%.2f", l.Ratio())
	}
	if goal, met := l.Goal(); goal != "" {
		cells[7] = goal
		if !met {
			cells[7] = "**missed**: " + goal
		}
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

func spread(s Sample) string {
	if len(s) < 2 {
		return ""
	}
	return number(s.Quantile(0.1)) + "–" + number(s.Quantile(0.9))
}

// number has three digits that say something.
func number(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// surroundings says on what was measured.
func surroundings() string {
	load, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(load), " ")
	return fmt.Sprintf("%s, load %s before the last table, %s", machine.Describe(), first, runtime.Version())
}
