package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A mistyped home must not become another one. What only looks makes none; what
// begins says nothing and makes it.
func TestHome_OnlyAVerbThatBeginsMakesOne(t *testing.T) {
	t.Parallel()
	y := mustYard(t)
	away := filepath.Join(t.TempDir(), "mistyped")
	for where, c := range map[string]struct {
		flags []string
		env   map[string]string
		says  string
	}{
		"flag":        {[]string{"--home", away}, nil, "from the flag --home"},
		"environment": {nil, map[string]string{"CYBERAGENT_HOME": away}, "from CYBERAGENT_HOME in the environment"},
		"XDG":         {nil, map[string]string{"XDG_DATA_HOME": away}, "from XDG_DATA_HOME in the environment"},
		"default":     {nil, map[string]string{"HOME": away}, "from the default"},
		"ledger":      {[]string{"--home", y.home}, map[string]string{"CYBERAGENT_LEDGER_PATH": filepath.Join(filepath.Dir(away), "ledger.db")}, "from CYBERAGENT_LEDGER_PATH in the environment"},
	} {
		for _, verb := range []string{
			"run list", "run show " + y.run, "run events " + y.run, "run close " + y.run, "run sandbox list", "run standard-code status " + y.run,
			"run standard-code recover --all", "drydock status " + y.run, "drydock gc", "drydock reconcile", "drydock create " + y.run,
		} {
			var o, e bytes.Buffer
			code := invoke(t.Context(), append(append([]string{"cyberagent"}, c.flags...), strings.Fields(verb)...), process{
				out: &o, err: &e, lookup: func(k string) (string, bool) { v, ok := c.env[k]; return v, ok },
			})
			if code != exitUsage || o.Len() > 0 || !strings.Contains(e.String(), "not_found") || !strings.Contains(e.String(), "ledger.db") ||
				!strings.Contains(e.String(), c.says) || !strings.Contains(e.String(), "cyberagent run create TITLE --workspace DIR") {
				t.Errorf("%s, %s: %d\n%s%s", where, verb, code, o.String(), e.String())
			}
		}
		for _, verb := range []string{"doctor", "engine list", "config show", "config path", "fixture inspect", "version"} {
			var o, e bytes.Buffer
			invoke(t.Context(), append(append([]string{"cyberagent"}, c.flags...), strings.Fields(verb)...), process{
				out: &o, err: &e, lookup: func(k string) (string, bool) { v, ok := c.env[k]; return v, ok },
			})
		}
		if made, err := os.ReadDir(filepath.Dir(away)); err != nil || len(made) > 0 {
			t.Fatalf("%s: a home was made: %v %v", where, made, err)
		}
	}
	if out, errs, code := (&yard{t: t, home: away}).text("run", "create", "x", "--workspace", y.source); code != 0 {
		t.Errorf("the first Run: %d\n%s%s", code, out, errs)
	}
}
