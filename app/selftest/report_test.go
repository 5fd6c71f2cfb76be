package selftest

import (
	"strings"
	"testing"
	"time"
)

func TestReport_IsHeldOnlyWhenEveryEdgeWasTriedOftenEnoughAndNothingFailed(t *testing.T) {
	t.Parallel()
	edges := Edges()[:2]
	for _, c := range []struct {
		name     string
		repeats  [2]int
		problem  string
		complete bool
		want     Verdict
	}{
		{"all", [2]int{2, 2}, "", true, Held},
		{"too few", [2]int{2, 1}, "", true, Incomplete},
		{"interrupted", [2]int{2, 2}, "", false, Incomplete},
		{"a problem", [2]int{2, 2}, "x", true, Failed},
		{"a problem, and interrupted", [2]int{1, 0}, "x", false, Failed},
	} {
		r := newReport(edges, Options{Repeat: 2, Parallel: 1}, "docker", time.Time{})
		for i, n := range c.repeats {
			for range n {
				tr := &trial{l: &lane{}, edge: edges[i], kills: 1, starts: 1, ended: endSucceeded}
				if c.problem != "" && i == 0 {
					tr.problems.add("%s", c.problem)
				}
				r.note(i, tr, time.Second)
			}
		}
		r.conclude(c.complete)
		if r.Verdict != c.want {
			t.Errorf("%s: %s, want %s", c.name, r.Verdict, c.want)
		}
		doc := r.Markdown()
		var text strings.Builder
		r.Text(&text)
		for _, e := range edges {
			if !strings.Contains(doc, "| `"+e.Name()+"` | docker |") || !strings.Contains(text.String(), e.Name()) {
				t.Errorf("%s: %s is in no table", c.name, e.Name())
			}
		}
		if c.problem != "" && (!strings.Contains(text.String(), "FAILED "+edges[0].Name()) || !strings.Contains(doc, "Failed: `"+edges[0].Name())) {
			t.Errorf("%s: the failing edge is not named", c.name)
		}
	}
}
