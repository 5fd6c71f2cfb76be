package selftest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/fault"
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
		doc := markdown([]Report{r}, nil)
		var text strings.Builder
		r.Text(&text)
		for _, e := range edges {
			if !strings.Contains(doc, "| `"+e.Name()+"` | docker |") || !strings.Contains(text.String(), e.Name()) {
				t.Errorf("%s: %s is in no table", c.name, e.Name())
			}
		}
		if c.problem != "" && (!strings.Contains(text.String(), "FAILED "+edges[0].Name()) || !strings.Contains(doc, "Failed on docker: `"+edges[0].Name())) {
			t.Errorf("%s: the failing edge is not named", c.name)
		}
	}
}

func TestDocument_HasEveryEngineOfAnEdgeTogetherAndTheSoaks(t *testing.T) {
	t.Parallel()
	var answers [][]byte
	add := func(v any) {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, b)
	}
	for _, engine := range []string{"docker", "containerd"} {
		add(newReport(Edges()[:2], Options{Repeat: 2, Parallel: 1}, engine, time.Time{}))
		soak := newSoakReport(SoakOptions{Kills: 200, Parallel: 4, Seed: 7}, engine, time.Time{})
		soak.note(&trial{l: &lane{}, kills: 200, starts: 1, ended: endSucceeded})
		soak.conclude(true)
		add(soak)
	}
	doc, err := Document(answers...)
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, want := range []string{
		"| `execute.before.create:intent` | docker |", "| `execute.before.create:intent` | containerd |",
		"| `execute.within.create:intent` | docker |", "| `execute.within.create:intent` | containerd |",
		"## Soak", "| docker  | 0001-01-01 | 7 | 4 | 200 | 0 | 1 | 1 | 1 |", "| containerd  | 0001-01-01 | 7 | 4 | 200 |", "## Method",
	} {
		i := strings.Index(doc, want)
		if i < last {
			t.Errorf("%q stands at %d, after %d", want, i, last)
		}
		last = i
	}
	for name, bad := range map[string]string{
		"not JSON": "x", "another answer": `{"protocol_version":"error.v1"}`, "an unknown field": `{"protocol_version":"selftest-soak.v1","more":1}`,
	} {
		if _, err := Document([]byte(bad)); !errors.Is(err, fault.InvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSoakReport_IsHeldOnlyWhenEnoughDiedAndNothingFailed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		kills    int
		problem  string
		complete bool
		want     Verdict
	}{
		{"all", 2, "", true, Held},
		{"too few", 1, "", true, Incomplete},
		{"interrupted", 2, "", false, Incomplete},
		{"a problem", 2, "x", true, Failed},
	} {
		r := newSoakReport(SoakOptions{Kills: 2}, "docker", time.Time{})
		tr := &trial{l: &lane{}, kills: c.kills}
		tr.problems.when(c.problem != "", "%s", c.problem)
		r.note(tr)
		if r.conclude(c.complete); r.Verdict != c.want {
			t.Errorf("%s: %s, want %s", c.name, r.Verdict, c.want)
		}
		var text strings.Builder
		if r.Text(&text); c.problem != "" && !strings.Contains(text.String(), "FAILED soak") {
			t.Errorf("%s: %q", c.name, text.String())
		}
	}
}
