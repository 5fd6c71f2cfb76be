package conformance

import (
	"encoding/json"
	"slices"

	"cyberagent/adapters/conformance/internal/finding"
	"cyberagent/domain/isolation"
	"cyberagent/domain/runnerproto"
)

// look runs the probe once for all the checks that read its findings.
func (c *C) look() (runnerproto.Report, finding.Findings) {
	c.found.once.Do(func() {
		o := c.job("look", "-x", "--", "$HOME", "a b", "").clean().run()
		if o.report.Outcome != runnerproto.OutcomeExited {
			c.Fatalf("%s: %+v", o.report.Outcome, o.report.Mismatches)
		}
		if err := json.Unmarshal([]byte(o.stdout), &c.found.probe); err != nil {
			c.Fatalf("%v: %.300q, %.300q", err, o.stdout, o.stderr)
		}
		c.found.report, c.found.ok = o.report, true
	})
	if !c.found.ok {
		c.Fatalf("the probe found nothing; see the check that failed first")
	}
	return c.found.report, c.found.probe
}

// facts fails the check when one of the facts was not measured as it must be.
func (c *C) measured(names ...string) {
	r, _ := c.look()
	seen := map[string]bool{}
	for _, f := range r.Facts {
		seen[f.Name] = true
	}
	for _, n := range names {
		if !seen[n] {
			c.Errorf("%s was not measured", n)
		}
	}
	for _, d := range isolation.Mismatches(r.Facts, isolation.Expected()) {
		if slices.Contains(names, d.Property) {
			c.Errorf("%+v", d)
		}
	}
}

// denied fails the check for every attempt that did not end with one of the
// words.
func (c *C) denied(what string, attempts map[string]string, words ...string) {
	for name, got := range attempts {
		if !slices.Contains(words, got) {
			c.Errorf("%s %s: %s, want %v", what, name, got, words)
		}
	}
}
