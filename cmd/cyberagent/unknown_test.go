package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

// typed runs a command line without a home, an engine or anything else.
func typed(line string) (out, errs string, code int) {
	var o, e bytes.Buffer
	code = invoke(context.Background(), strings.Fields("cyberagent "+line), process{
		out: &o, err: &e, lookup: func(string) (string, bool) { return "", false },
	})
	return o.String(), e.String(), code
}

func TestHelp_EveryWayOfAskingIsAnsweredAlike(t *testing.T) {
	root, _, _ := typed("--help")
	for want, lines := range map[string][]string{
		"cyberagent run create - ":              {"run create --help", "help run create", "run help create", "run create TITLE --help", "help run create TITLE"},
		"cyberagent run - ":                     {"run --help", "help run", "run help", "run"},
		"cyberagent run standard-code execute ": {"run standard-code docker-execute --help", "help run standard-code docker-execute"},
		root:                                    {"help", "", "-h"},
	} {
		first, _, _ := typed(lines[0])
		for _, l := range lines {
			out, errs, code := typed(l)
			if code != 0 || errs != "" || !strings.Contains(out, want) || out != first {
				t.Errorf("%q: exit status %d, %q, %s", l, code, errs, out)
			}
		}
	}
}

func TestUnknownVerb_NamesWhatWasMeant(t *testing.T) {
	for line, want := range map[string]string{
		"events --help":          "`cyberagent run events`",
		"events":                 "`cyberagent run events`",
		"drydock creat":          "did you mean `cyberagent drydock create` or `cyberagent run create`?",
		"run creat":              "did you mean `cyberagent run create` or `cyberagent drydock create`?",
		"run shwo":               "`cyberagent run show`",
		"help permision":         "`cyberagent run permission`",
		"docker-execute":         "`cyberagent run standard-code execute`",
		"run sandbox requst x":   "`cyberagent run sandbox request`",
		"run frobnicate --help":  "see `cyberagent run --help`",
		"drydock help wisible":   "see `cyberagent drydock --help`",
		"config help nothing me": "see `cyberagent config --help`",
	} {
		out, errs, code := typed(line)
		if code != exitUsage || out != "" || !strings.Contains(errs, want) || !strings.Contains(errs, "invalid_argument") {
			t.Errorf("%q: exit status %d, %s%s", line, code, out, errs)
		}
		if strings.HasPrefix(want, "see") && strings.Contains(errs, "did you mean") {
			t.Errorf("%q: a guess: %s", line, errs)
		}
	}
}

func TestUnknownFlag_NamesTheNearestOne(t *testing.T) {
	for line, want := range map[string]string{
		"run standard-code readiness RUN --toolchian go": "did you mean --toolchain?",
		"run standard-code readiness RUN --toolchian=go": "did you mean --toolchain?",
		"run create x --workspac .":                      "did you mean --workspace?",
		"drydock deliver RUN --ot x":                     "did you mean --out?",
		"run list --outptu json":                         "did you mean --output?", // of every verb
		"--hom /x run list":                              "did you mean --home?",
		"run list --frobnicate":                          "see `cyberagent run list --help`",
		"run list -z":                                    "see `cyberagent run list --help`",
	} {
		out, errs, code := typed(line)
		if code != exitUsage || out != "" || !strings.Contains(errs, want) || !strings.Contains(errs, "invalid_argument") {
			t.Errorf("%q: exit status %d, %s%s", line, code, out, errs)
		}
		if strings.HasPrefix(want, "see") && strings.Contains(errs, "did you mean") {
			t.Errorf("%q: a guess: %s", line, errs)
		}
	}
}

func TestHelp_DefaultsAreTrueAndGlobalOptionsHaveThem(t *testing.T) {
	leaves(testRoot(), "", func(path string, c *cli.Command) {
		out, _, _ := typed(path + " --help")
		for _, bad := range []string{"(default: 0)", "(default: 0s)", "(default: )", "(default 1h)", "(default 300)"} {
			if strings.Contains(out, bad) {
				t.Errorf("%s says %s", path, bad)
			}
		}
	})
	out, _, _ := typed("--help")
	for _, f := range []string{"output", "home", "engine", "docker-socket", "image-digest"} {
		_, line, _ := strings.Cut(out, "--"+f+" ")
		if line, _, _ = strings.Cut(line, "\n"); !strings.Contains(line, "(default: ") {
			t.Errorf("--%s has no default: %s", f, line)
		}
	}
	for line, words := range map[string][]string{
		"run profile --help":    {"none ", "docker ", "local "},
		"run permission --help": {"read_only ", "approval", "workspace_access ", "full_access", "debug"},
	} {
		out, _, _ := typed(line)
		for _, w := range words {
			if !strings.Contains(out, "\n     "+w) && !strings.Contains(out, ", "+w) {
				t.Errorf("%s does not explain %s", line, w)
			}
		}
	}
}

func TestFlags_AValueThatDoesNotFitAndASecondOneAreRefusedByTheFlagsName(t *testing.T) {
	for line, want := range map[string]string{
		"fixture build --project a --project b":               "project: --project was given twice: it takes one value",
		"run list --limit x":                                  "limit: \"x\" is not what --limit takes",
		"run list --limit 1 --limit 2":                        "limit: --limit was given twice: it takes one value",
		"drydock fork R --checkpoint c --checkpoint d":        "checkpoint: --checkpoint was given twice: it takes one value",
		"drydock create R --life 1h --life 2h":                "life: --life was given twice: it takes one value",
		"run standard-code prepare R --timeout 1x":            "timeout: \\\"1x\\\" is not what --timeout takes",
		"run standard-code prepare R --purpose a --purpose b": "purpose: --purpose was given twice: it takes one value",
	} {
		out, errs, code := typed(line)
		if code != 2 || out != "" || !strings.Contains(errs, want) || strings.Contains(errs, "strconv") {
			t.Errorf("%q: exit status %d, %q, %s", line, code, out, errs)
		}
	}
	// What may be repeated still may, and an alias may have chosen the output.
	if _, errs, code := typed("--output json --output text version"); code != 0 {
		t.Error(errs)
	}
	if _, errs, _ := typed("run standard-code prepare R --arg a --arg a"); strings.Contains(errs, "twice") {
		t.Error(errs)
	}
}
