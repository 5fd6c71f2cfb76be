package conformance

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"
)

// Outcome is how one check ended on one engine.
type Outcome string

// The outcomes.
const (
	Passed        Outcome = "passed"
	Failed        Outcome = "FAILED"
	NotApplicable Outcome = "not applicable"
)

// Row is one engine's part of the matrix.
type Row struct {
	Engine  string
	Version string
	// Outcomes are by check, in the order of Checks.
	Outcomes []Outcome
	// Reason is why some do not apply.
	Reason    string
	Sabotages []Caught
}

// mustOpen prepares an engine for a test; done takes everything away again.
func mustOpen(t *testing.T, f Factory) (l *lab, done func()) {
	t.Helper()
	l, err := open(t.Context(), f, f.Open)
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	return l, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := l.close(ctx); err != nil {
			t.Errorf("clean-up: %v", err)
		}
	}
}

// Run runs every check on one engine, each as a subtest with its topic and name,
// and then the sabotages. What it returns is complete only if the test did not
// fail.
func Run(t *testing.T, f Factory) Row {
	t.Helper()
	l, done := mustOpen(t, f)
	defer done()
	checks := Checks()
	row := Row{Engine: f.Name, Version: l.facts.Version, Outcomes: make([]Outcome, len(checks)), Reason: f.NoKernel}
	var mu sync.Mutex
	one := func(t *testing.T, i int) {
		c, outcome := checks[i], Passed
		if failures := l.try(t.Context(), c.run); len(failures) > 0 {
			outcome = Failed
			for _, line := range failures {
				t.Errorf("%s: %s [%s]: %s", f.Name, c.Name, c.Holds, line)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		row.Outcomes[i] = outcome
	}
	t.Run("checks", func(t *testing.T) {
		for i, c := range checks {
			switch {
			case c.Kernel && f.NoKernel != "":
				row.Outcomes[i] = NotApplicable
			case !c.Alone:
				t.Run(c.Topic+"/"+c.Name, func(t *testing.T) { t.Parallel(); one(t, i) })
			}
		}
	})
	for i, c := range checks {
		if c.Alone && row.Outcomes[i] == "" {
			t.Run("checks/"+c.Topic+"/"+c.Name, func(t *testing.T) { one(t, i) })
		}
	}
	if slices.Contains(row.Outcomes, Failed) {
		t.Errorf("%s: the sabotages are not tried on an engine that fails", f.Name)
		return row
	}
	row.Sabotages = sabotage(t, l)
	return row
}
