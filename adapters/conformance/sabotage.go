package conformance

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"cyberagent/domain/isolation"
	"cyberagent/domain/runnerproto"
)

// Sabotage is one way to break the contract or the port. It must be caught: by
// the read-back, by the runner's measurement before the command starts, or by a
// named check.
type Sabotage struct {
	Name string
	// Breaks is the contract's property or the port's invariant.
	Breaks string

	// Docker and OCI change the request to create on its way to the engine. Nil with
	// the reason in NoDocker or NoOCI where an engine has no such thing.
	Docker, OCI     func(*job, Object)
	NoDocker, NoOCI string
	// Warn is said by the engine at create.
	Warn string
	// Host changes something on the host between create and start.
	Host func(*job)

	// ReadBack is the property that the read-back must show to differ. Empty for
	// what the engine's configuration does not say.
	ReadBack string
	// Facts are those of which the measurement must find at least one, although the
	// read-back was forged. noReport and noStart stand for a runner that says
	// nothing or is not started, which is never a success. Without any, Unmeasured
	// is why.
	Facts      []string
	Unmeasured string

	// Wrap breaks the calls of the port; then Check must fail.
	Wrap  func(Engine) Engine
	Check string
}

// What takes the place of a measurement: a runner that cannot say anything, and a
// runtime that refuses to start it.
const (
	noReport = "no report"
	noStart  = "no start"
)

// Caught is what caught one sabotage on one engine.
type Caught struct {
	Sabotage string
	Breaks   string
	// By are the proofs that bit; empty when it does not apply there, with the reason
	// in Reason, which also says why nothing measures it.
	By     []string
	Reason string
}

// Sabotages returns the table.
func Sabotages() []Sabotage {
	return slices.Concat(mountSabotages(), userSabotages(), namespaceSabotages(), limitSabotages(), tmpfsSabotages(), identitySabotages(), otherSabotages(), callSabotages())
}

// sabotage tries the whole table on one engine.
func sabotage(t *testing.T, l *lab) []Caught {
	table := Sabotages()
	caught := make([]Caught, len(table))
	var mu sync.Mutex
	t.Run("sabotages", func(t *testing.T) {
		for i, s := range table {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				got := Caught{Sabotage: s.Name, Breaks: s.Breaks}
				switch {
				case s.Wrap == nil && l.factory.NoKernel != "":
					got.Reason = l.factory.NoKernel
				case s.Wrap == nil && s.missing(l.factory.Form) != "":
					got.Reason = s.missing(l.factory.Form)
				case s.Wrap == nil:
					got.Reason = s.Unmeasured
					for _, f := range l.try(t.Context(), func(c *C) { got.By = c.configured(s) }) {
						t.Errorf("%s: %s", l.factory.Name, f)
					}
				default:
					var err error
					if got.By, got.Reason, err = l.wrapped(t, s); err != nil {
						t.Errorf("%s: %v", l.factory.Name, err)
					}
				}
				if len(got.By) == 0 && got.Reason == "" {
					t.Errorf("%s: nothing caught it", l.factory.Name)
				}
				mu.Lock()
				defer mu.Unlock()
				caught[i] = got
			})
		}
	})
	return caught
}

func (s Sabotage) missing(f Form) string {
	if f == FormOCI {
		return s.NoOCI
	}
	return s.NoDocker
}

func (s Sabotage) edit(f Form) func(*job, Object) {
	if f == FormOCI {
		return s.OCI
	}
	return s.Docker
}

// configured breaks the configuration, with somebody between who also forges the
// read-back: so both proofs are tried, each without the other.
func (c *C) configured(s Sabotage) (by []string) {
	j := c.job("count")
	t := Tamper{Forge: true, Warn: s.Warn}
	if edit := s.edit(c.factory.Form); edit != nil {
		t.Create = func(o Object) { edit(j, o) }
	}
	j.Engine = c.between(t)
	j.create()
	forged := isolation.Compare(j.spec, j.props)
	if s.Warn != "" {
		if !slices.ContainsFunc(forged, func(d isolation.Difference) bool { return d.Property == s.ReadBack }) {
			c.Errorf("the warning is not a difference: %+v", forged)
		}
		return []string{"read-back: " + s.ReadBack}
	}
	if len(forged) > 0 {
		c.Fatalf("the forgery shows: %+v", forged)
	}
	if s.ReadBack != "" {
		honest, err := c.keeper.ReadBack(c.ctx, j.id)
		c.must(err)
		diffs := isolation.Compare(j.spec, honest)
		if !slices.ContainsFunc(diffs, func(d isolation.Difference) bool { return d.Property == s.ReadBack }) {
			c.Errorf("the read-back shows %+v, want %s", diffs, s.ReadBack)
		} else {
			by = append(by, "read-back: "+s.ReadBack)
		}
	}
	if len(s.Facts) == 0 {
		return by
	}
	if s.Host != nil {
		s.Host(j)
	}
	return append(by, c.refused(j, s.Facts)...)
}

// refused starts the container and wants the runner to refuse the command for
// one of the facts.
func (c *C) refused(j *job, facts []string) []string {
	r := j.attach()
	r.await()
	if err := j.Start(c.ctx, j.id); err != nil {
		if !slices.Contains(facts, noStart) {
			c.Errorf("%v", err)
		}
		return []string{"measurement: " + noStart}
	}
	r.exited()
	frames, line := <-r.stdout, <-r.stderr
	_ = r.out.Close()
	defer j.ran(0)
	report, err := runnerproto.DecodeReport(line.body, string(j.owner.Admission), noDigest)
	if err != nil {
		if !slices.Contains(facts, noReport) {
			c.Errorf("%v: %.300q %.300q", err, frames.body, line.body)
		}
		return []string{"measurement: " + noReport}
	}
	if report.Outcome != runnerproto.OutcomeRefused {
		c.Errorf("the runner says %s", report.Outcome)
	}
	var found []string
	for _, d := range report.Mismatches {
		if slices.Contains(facts, d.Property) {
			found = append(found, d.Property)
		}
	}
	if len(found) == 0 {
		c.Errorf("measured: %+v, want one of %v", report.Mismatches, facts)
		return nil
	}
	return []string{"measurement: " + strings.Join(found, ", ")}
}

// wrapped breaks the calls and wants the named check to fail.
func (l *lab) wrapped(t *testing.T, s Sabotage) (by []string, reason string, err error) {
	checks := Checks()
	i := slices.IndexFunc(checks, func(c Check) bool { return c.Name == s.Check })
	if i < 0 {
		return nil, "", fmt.Errorf("there is no check %q", s.Check)
	}
	if checks[i].Kernel && l.factory.NoKernel != "" {
		return nil, l.factory.NoKernel, nil
	}
	if failures := l.with(s.Wrap(l.engine)).try(t.Context(), checks[i].run); len(failures) == 0 {
		return nil, "", fmt.Errorf("the check %q does not notice", s.Check)
	}
	return []string{"check: " + s.Check}, "", nil
}
