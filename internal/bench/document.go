package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
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

// machine says on what was measured.
func machine() string {
	cpu := "an unknown processor"
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		for s := bufio.NewScanner(f); s.Scan(); {
			if name, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
		_ = f.Close()
	}
	kernel, _ := exec.Command("uname", "-r").Output()
	load, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(load), " ")
	return fmt.Sprintf("%s, %d processors, Linux %s, load %s before the last table, %s", cpu, runtime.NumCPU(),
		strings.TrimSpace(string(kernel)), first, runtime.Version())
}
