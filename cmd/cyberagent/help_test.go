package main

import (
	"bytes"
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

// leaves are all verbs with their paths.
func leaves(c *cli.Command, path string, visit func(path string, c *cli.Command)) {
	for _, sub := range c.Commands {
		leaves(sub, strings.TrimSpace(path+" "+sub.Name), visit)
	}
	if len(c.Commands) == 0 && !c.Hidden {
		visit(path, c)
	}
}

func testRoot() *cli.Command {
	return newRoot(&session{process: process{out: new(bytes.Buffer), err: new(bytes.Buffer), lookup: func(string) (string, bool) { return "", false }}, flags: map[string]string{}})
}

func TestHelp_EveryVerbTeachesByAnExampleAndSaysItsExitStatuses(t *testing.T) {
	unused := maps.Clone(examples)
	leaves(testRoot(), "", func(path string, c *cli.Command) {
		delete(unused, path)
		if c.Usage == "" {
			t.Errorf("%s says nothing in one line", path)
		}
		if !strings.Contains(c.Description, "EXIT STATUS") || strings.Count(c.Description, "EXIT STATUS") != 1 {
			t.Errorf("%s does not say its exit statuses once", path)
		}
		e := examples[path]
		if e == "" || !strings.Contains(c.Description, e) {
			t.Errorf("%s has no example: add one to examples", path)
			return
		}
		if !strings.Contains(e, "cyberagent") || !strings.Contains(e, path) {
			t.Errorf("the example of %s is of something else: %s", path, e)
		}
		for _, f := range c.Flags {
			if doc, ok := f.(cli.DocGenerationFlag); !ok || doc.GetUsage() == "" {
				t.Errorf("%s --%s says nothing", path, f.Names()[0])
			}
		}
	})
	for path := range unused {
		t.Errorf("an example of a verb that is gone: %s", path)
	}
}

func TestHelp_ExamplesAreAcceptedByTheParser(t *testing.T) {
	for path, e := range examples {
		for _, word := range strings.Fields(e) {
			flag, ok := strings.CutPrefix(word, "--")
			if !ok {
				continue
			}
			found := false
			leaves(testRoot(), "", func(p string, c *cli.Command) {
				if p != path {
					return
				}
				for _, f := range append(c.Flags, testRoot().Flags...) {
					for _, n := range f.Names() {
						found = found || n == flag
					}
				}
			})
			if !found {
				t.Errorf("the example of %s uses --%s, which it does not have", path, flag)
			}
		}
	}
}

func TestCompletion_OffersVerbsFlagsAndWords(t *testing.T) {
	for _, c := range []struct {
		typed []string
		want  []string
	}{
		{[]string{"run"}, []string{"create", "sandbox", "standard-code"}},
		{[]string{"run", "standard-code"}, []string{"prepare", "execute", "recover"}},
		{[]string{"run", "standard-code", "prepare", "RUN", "--toolchain"}, []string{"go", "node", "python", "rust"}},
		{[]string{"run", "standard-code", "prepare", "RUN", "--pur"}, []string{"--purpose"}},
		{[]string{"run", "sandbox", "review", "P", "--decision"}, []string{"approve", "deny"}},
		{[]string{"run", "profile", "RUN"}, []string{"none", "docker"}},
		{[]string{"--output"}, []string{"text", "json"}},
	} {
		var out, errs bytes.Buffer
		home := t.TempDir()
		code := invoke(context.Background(), append(append([]string{"cyberagent"}, c.typed...), completionFlag), process{
			out: &out, err: &errs, lookup: func(k string) (string, bool) { return home, k == "CYBERAGENT_HOME" },
		})
		if code != 0 || errs.Len() > 0 {
			t.Errorf("%v: exit %d: %s", c.typed, code, errs.String())
		}
		for _, w := range c.want {
			if !strings.Contains("\n"+out.String(), "\n"+w+":") && !strings.Contains("\n"+out.String(), "\n"+w+"\n") {
				t.Errorf("%v does not offer %s:\n%s", c.typed, w, out.String())
			}
		}
	}
}
