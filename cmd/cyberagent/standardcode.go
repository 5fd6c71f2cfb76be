package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v3"

	"cyberagent/app/standardcode"
	"cyberagent/cmd/cyberagent/internal/wiring"
	"cyberagent/domain/admission"
	"cyberagent/domain/approval"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/limits"
	"cyberagent/domain/result"
)

// standardCode is the group whose verbs answer JSON by default.
const standardCode = "standard-code"

func standardCodeGroup(s *session) *cli.Command {
	return group(standardCode, "prepare and run one approved command",
		scReadiness(s), scPrepare(s), scExecute(s), scStatus(s), scCancel(s), scRecover(s))
}

// commandFlags are the flags that readiness, prepare and execute have in common.
type commandFlags struct {
	generation, timeout int64
	checkpoint          string
	toolchain           string
	args                exactList
	workdir, purpose    string
	gates               admission.Gates
}

func (f *commandFlags) flags() []cli.Flag {
	return append([]cli.Flag{
		&cli.Int64Flag{Name: "generation", Usage: "the Drydock's current generation (cyberagent drydock status RUN)", HideDefault: true, Destination: &f.generation},
		&cli.StringFlag{Name: "checkpoint", Usage: "the Drydock's current Checkpoint (cyberagent drydock status RUN)", Destination: &f.checkpoint},
		&cli.StringFlag{Name: "toolchain", Usage: "go, node, python or rust: starts go; node, or npm when the first --arg is npm; python3; cargo", Destination: &f.toolchain},
		&cli.GenericFlag{Name: "arg", Usage: "one argument, byte for byte; repeat it for more", Value: &f.args, HideDefault: true},
		&cli.StringFlag{Name: "workdir", Usage: "where to run, relative to the repository's root", Destination: &f.workdir},
		&cli.Int64Flag{Name: "timeout", Usage: "seconds, 1 to 3600", DefaultText: "300", Destination: &f.timeout},
		&cli.StringFlag{Name: "purpose", Usage: "why, for the reviewer", Destination: &f.purpose},
	}, gateFlags(&f.gates)...)
}

// request reads the flags; more names flags that this verb demands beside the
// common ones.
func (f *commandFlags) request(c *cli.Command, more ...string) (standardcode.Request, error) {
	r := standardcode.Request{Generation: f.generation, Gates: f.gates}
	err := need(c, append([]string{"generation", "checkpoint", "toolchain", "arg", "purpose"}, more...)...)
	if err != nil {
		return r, err
	}
	if r.Run, err = oneRun(c); err != nil {
		return r, err
	}
	if r.Checkpoint, err = id.ParseCheckpoint("checkpoint", f.checkpoint); err != nil {
		return r, err
	}
	r.Command.Toolchain, r.Command.Args = f.toolchain, f.args
	r.Command.Workdir, r.Command.Purpose = f.workdir, f.purpose
	r.Command.Timeout = seconds(f.timeout)
	if c.IsSet("timeout") && f.timeout == 0 {
		// The use cases take 0 for "not given".
		return r, fault.New(fault.InvalidArgument, "0s is outside 1s..%s", limits.MaxTimeout).At("timeout").
			Hint("give 1 to %d seconds", int64(limits.MaxTimeout/time.Second))
	}
	return r, nil
}

// seconds keeps an absurd number out of range instead of letting it wrap.
func seconds(n int64) time.Duration {
	const most = int64(1 << 31)
	return time.Duration(min(max(n, -most), most)) * time.Second
}

func scReadiness(s *session) *cli.Command {
	var f commandFlags
	var exitCode bool
	return &cli.Command{
		Name: "readiness", Aliases: []string{"docker-readiness"}, Usage: "whether a command could be prepared now, and what stands in the way",
		ArgsUsage: "RUN", HideHelpCommand: true,
		Flags: append(f.flags(), &cli.BoolFlag{Name: "exit-code", Usage: "exit 3 when blocked", Destination: &exitCode}),
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(true)
			r, err := f.request(c)
			if err != nil {
				return err
			}
			return s.openForEngine(ctx, func(app wiring.App) error {
				v, err := app.StandardCode.Readiness(ctx, r)
				if err != nil {
					return err
				}
				if exitCode && v.Status != admission.StatusReady {
					s.code = exitBlocked
				}
				return s.answer(v, func(w io.Writer) { printReadiness(w, v) })
			})
		},
	}
}

func printReadiness(w io.Writer, v admission.Readiness) {
	_, _ = fmt.Fprintf(w, "%s on %s %s\n", v.Status, v.Engine, v.EngineVersion)
	for _, b := range v.Blockers {
		_, _ = fmt.Fprintf(w, "  %s: %s\n    %s\n", b.ReasonCode, printable(b.Detail), b.Advice)
	}
}

func scPrepare(s *session) *cli.Command {
	var f commandFlags
	var key string
	return &cli.Command{
		Name: "prepare", Aliases: []string{"docker-prepare"}, Usage: "compile one command and propose it for review", ArgsUsage: "RUN",
		HideHelpCommand: true, Flags: append(f.flags(), keyFlag(&key)),
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(true)
			r, err := f.request(c, "operation-key")
			if err != nil {
				return err
			}
			return s.openForEngine(ctx, func(app wiring.App) error {
				v, err := app.StandardCode.Prepare(ctx, r, key)
				if err != nil {
					return err
				}
				return s.answer(v, func(w io.Writer) {
					_, _ = fmt.Fprintf(w, "preparation %s\napproval    %s (%s)\n\nTo see and decide it:\n  cyberagent run sandbox request %s\n  %s\n",
						v.PreparationID, v.Approval.ID, v.Approval.Status, v.PreparationID, approval.TypeToApprove(v.PreparationID))
				})
			})
		},
	}
}

func scExecute(s *session) *cli.Command {
	var f commandFlags
	var key, prep, appr string
	var stream bool
	return &cli.Command{
		Name: "execute", Aliases: []string{"docker-execute"}, Usage: "run the approved command once", ArgsUsage: "RUN",
		HideHelpCommand: true,
		Description: `The command must be resupplied exactly as it was approved. Repeating the call with
the same key answers the recorded result and runs nothing.

The answer is JSON on standard output; --output text (before the verb) answers for a
person. Output of the command is stored nowhere. On a terminal it is shown as it
comes, each row behind "│ ". Elsewhere, in text and in JSON, beginning and end of the
output of a command that did not succeed are written to standard error when it has
ended, and nothing of one that succeeded; --stream writes all of it as it comes,
--stream=false none.

` + exitStatus,
		Flags: append(f.flags(),
			&cli.StringFlag{Name: "preparation", Usage: "what prepare answered", Destination: &prep},
			&cli.StringFlag{Name: "approval", Usage: "what prepare answered", Destination: &appr},
			&cli.BoolFlag{Name: "stream", Usage: "show the output on stderr as it comes (default on a terminal)", Value: s.errTerminal, HideDefault: true, Destination: &stream},
			keyFlag(&key)),
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(true)
			r, err := f.request(c, "preparation", "approval", "operation-key")
			if err != nil {
				return err
			}
			in := standardcode.ExecuteInput{Request: r, OperationKey: key}
			if in.Preparation, err = id.ParsePreparation("preparation", prep); err != nil {
				return err
			}
			if in.Approval, err = id.ParseApproval("approval", appr); err != nil {
				return err
			}
			return s.openForEngine(ctx, func(app wiring.App) error {
				scr := newScreen(s.err, s.gutter())
				in.Progress = s.progress(scr)
				if stream {
					in.Live = scr.show
				}
				v, out, err := app.StandardCode.Execute(ctx, in)
				scr.end()
				if !stream && !c.IsSet("stream") && s.losesOutput(v, err) {
					printOutput(s.err, s.gutter(), out)
				}
				if err != nil {
					return err
				}
				return s.answerResult(v)
			})
		},
	}
}

// losesOutput says whether what a command wrote would be missed: it did not succeed,
// and nothing keeps its output. Standard error has one JSON object alone when the
// answer is an error in JSON.
func (s *session) losesOutput(v standardcode.Result, err error) bool {
	if err != nil {
		return !s.asJSON
	}
	return v.Status != result.Succeeded
}

func (s *session) answerResult(v standardcode.Result) error {
	s.code = exitOfResult(v)
	return s.answer(v, func(w io.Writer) { printResult(w, v) })
}

// executionList is the answer of `status`.
type executionList struct {
	Protocol   string                   `json:"protocol_version"`
	RunID      id.Run                   `json:"run_id"`
	Executions []standardcode.Execution `json:"executions"`
}

func scStatus(s *session) *cli.Command {
	var adm string
	return &cli.Command{
		Name: "status", Aliases: []string{"docker-status"}, Usage: "the commands of a Run and how they ended", ArgsUsage: "RUN",
		HideHelpCommand: true, Flags: []cli.Flag{&cli.StringFlag{Name: "admission", Usage: "only this one", Destination: &adm}},
		Action: func(ctx context.Context, c *cli.Command) (err error) {
			s.begin(true)
			rid, err := oneRun(c)
			if err != nil {
				return err
			}
			var aid id.Admission
			if adm != "" {
				if aid, err = id.ParseAdmission("admission", adm); err != nil {
					return err
				}
			}
			return s.open(ctx, func(app wiring.App) error {
				all, err := app.StandardCode.Status(ctx, rid, aid)
				if err != nil {
					return err
				}
				v := executionList{"standard-code-status.v1", rid, all}
				return s.answer(v, func(w io.Writer) { printExecutions(w, all) })
			})
		},
	}
}

// target reads an optional Run and an optional admission.
func target(c *cli.Command, adm string) (rid id.Run, aid id.Admission, err error) {
	if c.Args().Present() {
		if rid, err = oneRun(c); err != nil {
			return rid, aid, err
		}
	}
	if adm != "" {
		aid, err = id.ParseAdmission("admission", adm)
	}
	return rid, aid, err
}

func scCancel(s *session) *cli.Command {
	var adm, reason string
	return &cli.Command{
		Name: "cancel", Aliases: []string{"docker-cancel"}, Usage: "end one exact command; repeating it is harmless", ArgsUsage: "[RUN]",
		HideHelpCommand: true,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "admission", Usage: "the command's execution id", Destination: &adm},
			&cli.StringFlag{Name: "reason", Usage: "why", Destination: &reason},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(true)
			if err := need(c, "admission"); err != nil {
				return err
			}
			rid, aid, err := target(c, adm)
			if err != nil {
				return err
			}
			return s.open(ctx, func(app wiring.App) error {
				v, err := app.StandardCode.Cancel(ctx, standardcode.CancelInput{Run: rid, Admission: aid, Reason: reason})
				if err != nil {
					return err
				}
				return s.answer(v, func(w io.Writer) { printResult(w, v) })
			})
		},
	}
}

func scRecover(s *session) *cli.Command {
	var adm string
	var all, dry bool
	return &cli.Command{
		Name: "recover", Aliases: []string{"docker-recover"}, Usage: "bring commands whose process died to their end; starts nothing", ArgsUsage: "[RUN]",
		HideHelpCommand: true,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "admission", Usage: "only this one", Destination: &adm},
			&cli.BoolFlag{Name: "all", Usage: "every Run's", Destination: &all},
			&cli.BoolFlag{Name: "dry-run", Usage: "print the plan and do nothing", Destination: &dry},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(true)
			rid, aid, err := target(c, adm)
			if err != nil {
				return err
			}
			if rid == "" && aid == "" && !all {
				return needTarget(c)
			}
			return s.open(ctx, func(app wiring.App) error {
				v, err := app.StandardCode.Recover(ctx, standardcode.RecoverInput{Run: rid, Admission: aid, DryRun: dry})
				if err != nil {
					return err
				}
				var swept, reconciled error
				if all && !dry {
					// What a killed `engine check` left is nobody's command.
					_, swept = app.EngineCheck.Sweep(ctx)
				}
				if !dry {
					// A Job whose owner is gone has no other end.
					_, reconciled = app.Jobs.Reconcile(ctx, rid)
				}
				if v.Open > 0 {
					s.code = exitRecovery
				}
				return errors.Join(s.answer(v, func(w io.Writer) { printRecovery(w, v) }), swept, reconciled)
			})
		},
	}
}
