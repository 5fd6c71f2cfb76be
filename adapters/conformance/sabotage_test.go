package conformance

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"cyberagent/domain/isolation"
)

func TestEverythingThatIsPromisedIsSabotaged(t *testing.T) {
	t.Parallel()
	table, checks := Sabotages(), Checks()
	count := func(used func(Sabotage) bool) int {
		n := 0
		for _, s := range table {
			if used(s) {
				n++
			}
		}
		return n
	}
	for f := range reflect.TypeFor[isolation.Properties]().Fields() {
		// A field's name in the read-back, without a second table of names.
		name := strings.ToLower(f.Name)
		if count(func(s Sabotage) bool { return strings.ReplaceAll(s.ReadBack, "_", "") == name }) == 0 {
			t.Errorf("no sabotage of the property %s", f.Name)
		}
	}
	immune := map[string]string{
		"contract":      "a name",
		"namespace.mnt": "no engine shares it; a container would see the host's files, of which many facts tell",
	}
	for _, f := range isolation.Expected() {
		if immune[f.Name] == "" && count(func(s Sabotage) bool { return slices.Contains(s.Facts, f.Name) }) == 0 {
			t.Errorf("no sabotage of the fact %s", f.Name)
		}
	}
	for _, p := range []string{"port 1", "port 2", "port 3", "port 4", "port 5", "port 6", "port 7"} {
		if count(func(s Sabotage) bool { return s.Breaks == p && s.Wrap != nil }) == 0 {
			t.Errorf("no sabotage of %s", p)
		}
		if !slices.ContainsFunc(checks, func(c Check) bool { return c.Holds == p }) {
			t.Errorf("no check of %s", p)
		}
	}
}

func TestTheTablesAreWellFormed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range Checks() {
		if c.Name == "" || c.Topic == "" || c.Holds == "" || c.run == nil || seen[c.Name] {
			t.Errorf("%+v", c)
		}
		seen[c.Name] = true
	}
	for _, s := range Sabotages() {
		proofs := 0
		for _, has := range []bool{s.ReadBack != "", len(s.Facts) > 0, s.Check != ""} {
			if has {
				proofs++
			}
		}
		if s.Name == "" || s.Breaks == "" || proofs == 0 || seen[s.Name] {
			t.Errorf("%s: no name of its own, nothing that it breaks, or nothing that catches it", s.Name)
		}
		seen[s.Name] = true
		if s.Wrap != nil && !seen[s.Check] {
			t.Errorf("%s: there is no check %q", s.Name, s.Check)
		}
		if s.Wrap == nil && (len(s.Facts) == 0) != (s.Unmeasured != "") {
			t.Errorf("%s: measured, or a reason why not, and not both", s.Name)
		}
		changes := s.Host != nil || s.Warn != ""
		if s.Wrap == nil && ((s.Docker == nil && !changes) != (s.NoDocker != "") || (s.OCI == nil && s.Host == nil) != (s.NoOCI != "")) {
			t.Errorf("%s: each form changes something, or says why there is nothing to change", s.Name)
		}
	}
}
