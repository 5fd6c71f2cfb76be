package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// One round of everything, with little in it: the harness works, whatever this
// machine's times are.
func TestBench_OneRoundOfEachGroup(t *testing.T) {
	program := filepath.Join(t.TempDir(), "cyberagent")
	if out, err := exec.Command("go", "build", "-o", program, "cyberagent/cmd/cyberagent").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("CYBERAGENT_BENCH_BINARY", program)
	text, err := bench(t.Context(), options{rounds: 1, only: []string{"start", "execute", "together", "echo", "watching", "history", "ledger"}, small: true})
	if err != nil {
		t.Fatalf("%v\nremedy: make test (it brings up the engines and the image)", err)
	}
	for _, what := range []string{
		"| `version` |", "| `run list` of", "## A trivial command on docker\n", "## A trivial command on containerd\n", "| engine's start |",
		"2 commands at once", "| `write_stdin` to its echo", "modules compiled by Python", "| Checkpoint, the last", "admissions in the ledger", "dead owners' records",
	} {
		if strings.Count(text, what) == 0 {
			t.Errorf("the document lacks %q:\n%s", what, text)
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| ") && strings.Count(line, "|") != 9 {
			t.Errorf("not a row: %s", line)
		}
	}
}

func TestBench_RefusesWhatItDoesNotKnow(t *testing.T) {
	if _, err := bench(context.Background(), options{only: []string{"nothing"}}); err == nil {
		t.Error("it measures a group that does not exist")
	}
	t.Setenv("CYBERAGENT_BENCH_BINARY", "")
	if _, err := bench(context.Background(), options{}); err == nil || !strings.Contains(err.Error(), "make bench") {
		t.Errorf("without a binary: %v", err)
	}
}

func TestLine_Goals(t *testing.T) {
	for _, c := range []struct {
		line Line
		goal string
		met  bool
	}{
		{Line{Ours: Sample{3}}, "", true},
		{Line{Ours: Sample{3}, Most: 3}, "at most 3", true},
		{Line{Ours: Sample{3.1}, Most: 3}, "at most 3", false},
		{Line{Ours: Sample{1, 8, 3}, Peer: Sample{4, 4, 4}, MostRatio: 0.75}, "at most 0.75", true},
		{Line{Ours: Sample{4}, Peer: Sample{4}, MostRatio: 0.75}, "at most 0.75", false},
		{Line{Ours: Sample{9}, Peer: Sample{10}, Least: 0.9}, "at least 0.90", true},
		{Line{Ours: Sample{8}, Peer: Sample{10}, Least: 0.9}, "at least 0.90", false},
	} {
		if goal, met := c.line.Goal(); goal != c.goal || met != c.met {
			t.Errorf("%+v: %q %t", c.line, goal, met)
		}
	}
}

func TestDocument_SaysWhatMissedItsGoal(t *testing.T) {
	text := document([]Table{{
		Title: "Things", Unit: "ms", Notes: []string{"A note."},
		Lines: []Line{{What: "ours", Ours: Sample{12, 10, 11}, Peer: Sample{10, 10, 10}, PeerName: "theirs", MostRatio: 1}},
	}}, "a machine", 3, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 90*time.Second)
	for _, want := range []string{
		"a machine. 3 rounds, 2026-01-02 03:04 UTC, in 90 s.", "## Things", "A note.",
		"| ours | 11 | 10–12 | theirs | 10 | 10–10 | 1.10 | **missed**: at most 1.00 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
}

func TestSample_Quantiles(t *testing.T) {
	s := Sample{5, 1, 4, 2, 3}
	if s.Median() != 3 || s.Quantile(0) != 1 || s.Quantile(1) != 5 || Sample(nil).Median() != 0 {
		t.Errorf("%v %v %v", s.Median(), s.Quantile(0), s.Quantile(1))
	}
	if s[0] != 5 {
		t.Error("the sample was sorted in place")
	}
}
