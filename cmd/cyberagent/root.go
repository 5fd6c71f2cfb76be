package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"cyberagent/cmd/cyberagent/internal/wiring"
	"cyberagent/config"
	"cyberagent/domain/fault"
	"cyberagent/ports"
)

// process is everything that a verb may touch of its surroundings. Only
// command-runtime reads the standard input.
type process struct {
	in                       io.Reader
	out, err                 io.Writer
	lookup                   func(string) (string, bool)
	outTerminal, errTerminal bool
	errColumns               int // of the terminal at err; 0 when unknown
	// failAt is nil but in tests that ask for a crash between two steps.
	failAt ports.FailPoints
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func columns(f *os.File) int {
	n, _, _ := term.GetSize(int(f.Fd()))
	return n
}

// session is one invocation: the process, its flags, and how it answers.
type session struct {
	process
	output string // text, json, or empty for the verb's default
	asJSON bool   // decided when a verb begins
	flags  map[string]string
	args   []string // as typed
	code   int
	cfg    *config.Config // as loaded; nil before
	// unknown is the error of a verb that help was asked about and that is none.
	unknown error
}

// invoke never exits: it returns the exit status (contract section 5).
func invoke(ctx context.Context, args []string, p process) (code int) {
	out := &remembered{w: p.out}
	p.out = out
	s := &session{process: p, flags: map[string]string{}, args: args}
	s.asJSON = wantsJSON(args)
	defer func() {
		if r := recover(); r != nil {
			debugLog(p, r)
			code = s.fail(fault.New(fault.Internal, "unexpected failure: %v", r).
				Hint("this is a fault of the product; report it with the command line that caused it"))
		}
	}()
	err := newRoot(s).Run(ctx, args)
	if err == nil {
		err = s.unknown
	}
	if _, ours := errors.AsType[*fault.Error](err); !ours && out.err != nil {
		err = unwritten(out.err) // the library loses it
	}
	if err != nil {
		return s.fail(interrupted(ctx, usage(err)))
	}
	return s.code
}

// interrupted gives every verb that a signal cut off the same answer, whatever
// call it was in. What is left to recover keeps its own.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil || fault.CodeOf(err).Class() == fault.ClassRecovery {
		return err
	}
	return fault.Wrap(fault.Cancelled, err, "interrupted by a signal").
		Hint("repeat the call; with the same operation key nothing is done twice")
}

// remembered remembers that writing failed: the library's help does not say so.
type remembered struct {
	w   io.Writer
	err error
}

func (c *remembered) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if err != nil {
		c.err = err
	}
	return n, err
}

// debugLog prints a stack only when a person asked for it.
func debugLog(p process, r any) {
	if v, _ := p.lookup("CYBERAGENT_DEBUG"); v != "" {
		_, _ = fmt.Fprintf(p.err, "panic: %v\n%s\n", r, debug.Stack())
	}
}

// usage gives errors of the command line's own parser a code; the product's own
// errors pass.
func usage(err error) error {
	if fault.CodeOf(err) != fault.Internal {
		return err
	}
	if f := fault.From(err); f.Err != err { //nolint:errorlint // identity, not kind
		return err
	}
	return fault.New(fault.InvalidArgument, "%s", err).Hint("see `cyberagent --help`")
}

func newRoot(s *session) *cli.Command {
	root := &cli.Command{
		Name:  "cyberagent",
		Usage: "run one approved command of a coding agent, offline, in a fixed container",
		Description: `A Run is one task of a coding agent on one git repository. Its commands run in a
container without network on a worktree that the Run owns (its Drydock), one
approved command at a time; the result of each is a Checkpoint.

The way of one command:
  cyberagent run create "fix the parser" --workspace ~/src/parser
  cyberagent run profile RUN docker
  cyberagent run permission RUN workspace_access
  cyberagent drydock create RUN            # shows the source and a trust digest
  cyberagent drydock create RUN --trust DIGEST
  cyberagent run standard-code prepare RUN ...
  cyberagent run sandbox review PREPARATION --decision approve --operation-key K
  cyberagent run standard-code execute RUN ...

` + "`cyberagent help VERB...` explains one verb, with an example.\n\n" + exitStatus,
		Flags:                           globalFlags(s),
		DisableSliceFlagSeparator:       true,
		HideHelpCommand:                 true,
		EnableShellCompletion:           true,
		ConfigureShellCompletionCommand: configureCompletion,
		Suggest:                         true,
		Writer:                          s.out,
		ErrWriter:                       io.Discard, // errors are printed once, by fail
		// The library would call os.Exit inside Run for some errors.
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		Action:         groupAction,
		Commands: []*cli.Command{
			runGroup(s), commandRuntimeVerb(s), drydockGroup(s), fixtureGroup(s), engineGroup(s), ledgerGroup(s), selftestGroup(s), configGroup(s), doctorCommand(s), versionCommand(s),
		},
	}
	teach(root, "")
	completes(s, root)
	refuseUsage(s, root, false)
	for _, verb := range root.Commands { // of the flags before it the last counts, as an alias needs it
		onceOnly(verb)
	}
	answersHelp(s, root)
	return root
}

// refuseUsage makes every verb refuse what its parser does not understand as any
// other bad input: the library would print help on standard output, which belongs
// to answers. asJSON says how the verb answers by default.
func refuseUsage(s *session, c *cli.Command, asJSON bool) {
	asJSON = asJSON || c.Name == standardCode || c.Name == commandRuntime
	c.OnUsageError = func(_ context.Context, c *cli.Command, err error, _ bool) error {
		s.begin(asJSON)
		return unparsed(c, err)
	}
	for _, verb := range c.Commands {
		refuseUsage(s, verb, asJSON)
	}
}

const exitStatus = `EXIT STATUS
  0 done   1 internal   2 usage   3 blocked or refused   4 conflict
  5 the command ran and failed   6 timed out   7 cancelled
  8 recovery required or in progress`

// group makes a verb group that teaches when it is called alone.
func group(name, use string, verbs ...*cli.Command) *cli.Command {
	return &cli.Command{
		Name: name, Usage: use, Commands: verbs, HideHelpCommand: true, Suggest: true,
		Action: groupAction,
	}
}

// globalFlags override configuration and choose the output.
func globalFlags(s *session) []cli.Flag {
	over := func(key, name, def, use string) cli.Flag {
		return &cli.StringFlag{Name: name, Usage: use, DefaultText: def, Action: func(_ context.Context, _ *cli.Command, v string) error {
			s.flags[key] = v
			return nil
		}}
	}
	return []cli.Flag{
		&cli.StringFlag{Name: "output", Usage: "text or json", DefaultText: "text; json for run standard-code", Destination: &s.output, Validator: func(v string) error {
			if v != "text" && v != "json" {
				return fault.New(fault.InvalidArgument, "%q is not text or json", v).At("output").Hint("use text or json")
			}
			return nil
		}},
		over("home", "home", "$CYBERAGENT_HOME, or cyberagent in $XDG_DATA_HOME or ~/.local/share", "the product's home directory"),
		over("engine", "engine", "docker, when not configured", "docker, containerd or auto"),
		over("docker.socket", "docker-socket", "/var/run/docker.sock, when not configured", "Docker Engine's local socket"),
		over("containerd.address", "containerd-address", "/run/containerd/containerd.sock, when not configured", "containerd's local socket"),
		over("image.docker", "image-digest", "the configured one", "the fixed image's exact digest, sha256:<64 hex>"),
	}
}

// load reads the configuration and says what is ignored.
func (s *session) load() (config.Config, error) {
	cfg, err := config.Load(config.Input{Lookup: s.lookup, Flags: s.flags})
	if err == nil {
		s.cfg = &cfg
	}
	if err == nil && s.errTerminal {
		for _, n := range cfg.Notices {
			_, _ = fmt.Fprintln(s.err, "cyberagent: note:", n)
		}
	}
	return cfg, err
}

// configured is the frame of a verb without arguments that needs the configuration
// and answers text by default.
func (s *session) configured(c *cli.Command) (config.Config, error) {
	s.begin(false)
	if err := none(c); err != nil {
		return config.Config{}, err
	}
	return s.load()
}

// openForEngine is open for a verb that looks at the engine first of all.
func (s *session) openForEngine(ctx context.Context, use func(wiring.App) error) error {
	return s.open(ctx, use, wiring.AskAhead(ctx))
}

// open builds the product for one verb; the verb runs inside use. A home that was
// never begun is refused.
func (s *session) open(ctx context.Context, use func(wiring.App) error, more ...wiring.Option) error {
	cfg, err := s.load()
	if err == nil {
		err = cfg.Begun()
	}
	if err != nil {
		return err
	}
	return s.openAt(ctx, cfg, use, more...)
}

// openNew is open for a verb that may be the first one of a home, and makes it.
func (s *session) openNew(ctx context.Context, use func(wiring.App) error) error {
	cfg, err := s.load()
	if err != nil {
		return err
	}
	return s.openAt(ctx, cfg, use)
}

func (s *session) openAt(ctx context.Context, cfg config.Config, use func(wiring.App) error, more ...wiring.Option) error {
	app, stop, err := wiring.Open(ctx, cfg, func(sentence string) {
		_, _ = fmt.Fprintln(s.err, "cyberagent: note:", printable(sentence))
	}, more...)
	if err != nil {
		return err
	}
	defer stop()
	// Creations that were cut off. What cannot be finished says so in the ledger and
	// does not keep the verb from its work.
	_, _ = app.Drydocks.Reconcile(ctx, false)
	app.Drydocks.Fail = s.failAt
	return use(app)
}
