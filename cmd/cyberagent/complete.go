package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"cyberagent/app/standardcode"
	"cyberagent/cmd/cyberagent/internal/wiring"
	"cyberagent/domain/command"
	"cyberagent/domain/id"
	"cyberagent/domain/run"
)

// completionFlag ends the arguments that a shell's script asks with.
const completionFlag = "--generate-shell-completion"

// bashAlone lets the library's script work in a bash without the bash-completion
// package: it asks that package for variables which it has set itself already.
const bashAlone = `declare -F _comp_initialize >/dev/null || declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref() { :; }
`

// configureCompletion shows the library's completion command among the verbs.
func configureCompletion(c *cli.Command) {
	c.Hidden, c.HideHelpCommand = false, true
	c.Usage = "print the completion script of a shell: bash, zsh, fish or pwsh"
	for _, shell := range c.Commands {
		if script := shell.Action; shell.Name == "bash" {
			shell.Action = func(ctx context.Context, c *cli.Command) error {
				if _, err := io.WriteString(c.Root().Writer, bashAlone); err != nil {
					return err
				}
				return script(ctx, c)
			}
		}
	}
}

// suggestion is a word with what it stands for.
type suggestion struct{ word, about string }

func words[T ~string](all ...T) func(context.Context, wiring.App) []suggestion {
	return func(context.Context, wiring.App) []suggestion {
		var out []suggestion
		for _, w := range all {
			out = append(out, suggestion{word: string(w)})
		}
		return out
	}
}

// valuesOf completes the values of flags, and positional arguments by their name
// in the verb's usage.
var valuesOf = map[string]func(context.Context, wiring.App) []suggestion{
	"--output":    words("text", "json"),
	"--engine":    words("docker", "containerd", "auto"),
	"--toolchain": words(command.Toolchains()...),
	"--decision":  words("approve", "deny"),

	"RUN": runIDs, "[RUN]": runIDs, "PREPARATION": preparationIDs, "--preparation": preparationIDs, "ID": preparationIDs,
	"--approval": approvalIDs, "--admission": admissionIDs, "--checkpoint": checkpointIDs,
	"PROFILE":    words(run.ProfileNone, run.ProfileDocker),
	"PERMISSION": words(run.Permissions()...),
}

// completes makes every verb answer a shell's question for the next word.
func completes(s *session, c *cli.Command) {
	for _, sub := range c.Commands {
		completes(s, sub)
	}
	c.ShellComplete = s.complete
}

func (s *session) complete(ctx context.Context, c *cli.Command) {
	last := ""
	if n := len(s.args); n > 1 && s.args[n-1] == completionFlag {
		last = s.args[n-2]
	}
	var values func(context.Context, wiring.App) []suggestion
	if strings.HasPrefix(last, "--") {
		values = valuesOf[last]
	}
	if values == nil {
		// A flag is being typed, or a verb is to be chosen.
		if strings.HasPrefix(last, "-") || len(c.Commands) > 0 {
			cli.DefaultCompleteWithFlags(ctx, c)
			return
		}
		wanted := strings.Fields(c.ArgsUsage)
		if n := c.Args().Len(); n < len(wanted) {
			values = valuesOf[wanted[n]]
		}
	}
	if values == nil {
		return
	}
	for _, v := range s.suggest(ctx, values) {
		// The shells' scripts split at the first colon.
		if about := strings.ReplaceAll(printable(v.about), ":", " "); about != "" {
			_, _ = fmt.Fprintf(s.out, "%s:%s\n", v.word, about)
		} else {
			_, _ = fmt.Fprintln(s.out, v.word)
		}
	}
}

// suggest reads a ledger that is there; completion makes none and says no errors.
func (s *session) suggest(ctx context.Context, values func(context.Context, wiring.App) []suggestion) (all []suggestion) {
	cfg, err := s.load()
	if err != nil {
		return values(ctx, wiring.App{})
	}
	if _, err := os.Stat(cfg.Ledger.Path); err != nil {
		return values(ctx, wiring.App{})
	}
	app, stop, err := wiring.Open(ctx, cfg, nil)
	if err != nil {
		return nil
	}
	defer stop()
	return values(ctx, app)
}

const mostSuggested = 50

func runIDs(ctx context.Context, app wiring.App) (all []suggestion) {
	if app.Runs == nil {
		return nil
	}
	runs, _ := app.Runs.List(ctx, mostSuggested)
	for _, r := range runs {
		if r.Status != run.Closed {
			all = append(all, suggestion{string(r.RunID), r.Title})
		}
	}
	return all
}

// proposals are the approvals of all Runs that can still be used.
func proposals(ctx context.Context, app wiring.App, say func(prep id.Preparation, a id.Approval) string) (all []suggestion) {
	if app.Approvals == nil {
		return nil
	}
	views, _ := app.Approvals.List(ctx, "", false)
	for _, v := range views[:min(len(views), mostSuggested)] {
		about := string(v.Status) + " " + string(v.Command.Toolchain) + " " + strings.Join(v.Command.Quoted, " ")
		all = append(all, suggestion{say(v.PreparationID, v.ApprovalID), about})
	}
	return all
}

func preparationIDs(ctx context.Context, app wiring.App) []suggestion {
	return proposals(ctx, app, func(p id.Preparation, _ id.Approval) string { return string(p) })
}

func approvalIDs(ctx context.Context, app wiring.App) []suggestion {
	return proposals(ctx, app, func(_ id.Preparation, a id.Approval) string { return string(a) })
}

func admissionIDs(ctx context.Context, app wiring.App) (all []suggestion) {
	if app.StandardCode == nil {
		return nil
	}
	for _, r := range runIDs(ctx, app) {
		var executions []standardcode.Execution
		executions, _ = app.StandardCode.Status(ctx, id.Run(r.word), "")
		for _, x := range executions {
			all = append(all, suggestion{string(x.ExecutionID), string(x.State) + " in " + r.about})
		}
	}
	return all[:min(len(all), mostSuggested)]
}

func checkpointIDs(ctx context.Context, app wiring.App) (all []suggestion) {
	if app.Drydocks == nil {
		return nil
	}
	for _, r := range runIDs(ctx, app) {
		log, err := app.Drydocks.Log(ctx, id.Run(r.word))
		if err != nil || len(log) == 0 {
			continue
		}
		newest := log[len(log)-1]
		all = append(all, suggestion{string(newest.ID), fmt.Sprintf("generation %d of %s", newest.Generation, r.about)})
	}
	return all
}
