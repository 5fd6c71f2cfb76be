package main

import (
	"strings"
	"testing"
)

// Somebody who sees no line does not know whether the verb looked.
func TestText_AVerbWithNothingToDoOrShowSaysSo(t *testing.T) {
	t.Parallel()
	y := mustYard(t)
	for verb, want := range map[string]string{
		"run standard-code status " + y.run:                 "no command was admitted yet",
		"run standard-code recover --all":                   "nothing to recover",
		"run standard-code recover --all --dry-run":         "nothing to recover",
		"run sandbox list":                                  "no command was prepared yet",
		"run sandbox list " + y.run + " --pending":          "nothing waits for a decision",
		"drydock reconcile":                                 "nothing to finish, and nothing is in doubt",
		"drydock gc":                                        "no Drydock is over",
		"drydock gc --confirm " + y.digest("drydock", "gc"): "nothing was removed and nothing was to be compacted",
	} {
		out, errs, code := y.text(append([]string{"--output", "text"}, strings.Fields(verb)...)...)
		if code != 0 || errs != "" || !strings.Contains(out, want) {
			t.Errorf("%s: %d %q %q, want %q", verb, code, out, errs, want)
		}
	}
	y.create()
	y.must(0, "run", "close", y.run)
	if out, _, _ := y.text("drydock", "gc"); !strings.Contains(out, "over ") || strings.Contains(out, "no Drydock is over") {
		t.Errorf("gc of something: %s", out)
	}
}
