// Package command holds the one thing an agent may ask for: a
// standard-code-command.v1, a toolchain with arguments, and nothing else
// (contract sections 1 and 3).
package command

import (
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cyberagent/domain/canon"
	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
	"cyberagent/domain/run"
)

// Protocol names the encoding of a Command.
const Protocol = "standard-code-command.v1"

// Toolchain selects the fixed tool that runs. The set is closed.
type Toolchain string

// The toolchains.
const (
	Go     Toolchain = "go"
	Node   Toolchain = "node"
	Python Toolchain = "python"
	Rust   Toolchain = "rust"
)

// Toolchains returns every toolchain.
func Toolchains() []Toolchain { return []Toolchain{Go, Node, Python, Rust} }

// ParseToolchain accepts a toolchain's word.
func ParseToolchain(s string) (Toolchain, error) {
	for _, t := range Toolchains() {
		if string(t) == s {
			return t, nil
		}
	}
	return "", fault.New(fault.InvalidArgument, "%q is not one of %v", s, Toolchains()).
		At("toolchain").Hint("use one of %v", Toolchains())
}

// Input is a Command as somebody asked for it, unchecked. A Timeout of 0 means
// the default; an empty Workdir means the workspace itself.
type Input struct {
	Toolchain string
	Args      []string
	Workdir   string
	Timeout   time.Duration
	Purpose   string
}

// Command is a valid Command. Its fields cannot be changed; the zero value is
// not valid.
type Command struct {
	toolchain Toolchain
	args      []string
	workdir   string
	timeout   time.Duration
	purpose   string
}

// Wire is the canonical encoding, standard-code-command.v1.
type Wire struct {
	Protocol       string   `json:"protocol_version"`
	Toolchain      string   `json:"toolchain"`
	Arguments      []string `json:"arguments"`
	Workdir        string   `json:"working_directory"`
	TimeoutSeconds int64    `json:"timeout_seconds"`
	Purpose        string   `json:"purpose"`
}

// New checks an Input. Every refusal is invalid_argument and names the field:
// toolchain, arg, workdir, timeout or purpose.
func New(in Input) (Command, error) {
	tc, err := ParseToolchain(in.Toolchain)
	if err != nil {
		return Command{}, err
	}
	if err := checkArgs(in.Args); err != nil {
		return Command{}, err
	}
	wd, err := cleanWorkdir(in.Workdir)
	if err != nil {
		return Command{}, err
	}
	to := in.Timeout
	if to == 0 {
		to = limits.DefaultTimeout
	}
	if to < limits.MinTimeout || to > limits.MaxTimeout || to%time.Second != 0 {
		return Command{}, fault.New(fault.InvalidArgument, "%s is outside 1s..%s or not whole seconds", to, limits.MaxTimeout).
			At("timeout").Hint("give whole seconds from 1 to %d", int64(limits.MaxTimeout/time.Second))
	}
	if err := run.CheckText("purpose", in.Purpose, limits.PurposeRunes); err != nil {
		return Command{}, err
	}
	args := append([]string{}, in.Args...)
	return Command{toolchain: tc, args: args, workdir: wd, timeout: to, purpose: in.Purpose}, nil
}

func checkArgs(args []string) error {
	bad := func(format string, a ...any) *fault.Error {
		return fault.New(fault.InvalidArgument, format, a...).At("arg")
	}
	if len(args) == 0 {
		return bad("no argument given").Hint("give at least one --arg, for example --arg test")
	}
	if len(args) > limits.Arguments {
		return bad("%d arguments, at most %d are allowed", len(args), limits.Arguments).
			Hint("move the details into a file of the repository")
	}
	total := 0
	for i, a := range args {
		total += len(a)
		if len(a) > limits.ArgumentBytes {
			return bad("argument %d has %d bytes, at most %d are allowed", i+1, len(a), limits.ArgumentBytes).
				Hint("move the details into a file of the repository")
		}
		if !utf8.ValidString(a) {
			return bad("argument %d is not valid UTF-8", i+1).Hint("give plain UTF-8 text")
		}
		for j, c := range a {
			if run.Unsafe(c) {
				return bad("argument %d has the character %U at byte %d, which is not allowed", i+1, c, j).
					Hint("remove control, format and line separator characters; a script of more than one line belongs into a file of the Drydock")
			}
		}
	}
	if total > limits.ArgumentsBytes {
		return bad("the arguments have %d bytes together, at most %d are allowed", total, limits.ArgumentsBytes).
			Hint("move the details into a file of the repository")
	}
	return nil
}

// cleanWorkdir accepts a clean relative path; "" and "." both mean the
// workspace itself and are kept as ".".
func cleanWorkdir(s string) (string, error) {
	bad := func(format string, a ...any) error {
		return fault.New(fault.InvalidArgument, format, a...).At("workdir").
			Hint("give a clean path relative to the repository's root, for example pkg/api")
	}
	switch {
	case s == "" || s == ".":
		return ".", nil
	case len(s) > limits.WorkdirBytes:
		return "", bad("%d bytes, at most %d are allowed", len(s), limits.WorkdirBytes)
	case !utf8.ValidString(s):
		return "", bad("not valid UTF-8")
	case path.IsAbs(s):
		return "", bad("%q is absolute", s)
	case path.Clean(s) != s || strings.Contains(s, `\`):
		return "", bad("%q is not a clean relative path", s)
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == ".." {
			return "", bad("%q leaves the workspace", s)
		}
		if strings.EqualFold(part, ".git") {
			return "", bad("%q enters git's control directory", s)
		}
	}
	for _, c := range s {
		if run.Unsafe(c) {
			return "", bad("the character %U is not allowed", c)
		}
	}
	return s, nil
}

// Toolchain returns the selector.
func (c Command) Toolchain() Toolchain { return c.toolchain }

// Args returns a copy of the arguments.
func (c Command) Args() []string { return append([]string{}, c.args...) }

// Workdir returns the clean relative path, "." for the workspace itself.
func (c Command) Workdir() string { return c.workdir }

// Timeout returns whole seconds.
func (c Command) Timeout() time.Duration { return c.timeout }

// Purpose returns why the command is asked for.
func (c Command) Purpose() string { return c.purpose }

// Wire returns the encoding that is stored with an approval and hashed.
func (c Command) Wire() Wire {
	return Wire{
		Protocol: Protocol, Toolchain: string(c.toolchain), Arguments: c.Args(), Workdir: c.workdir,
		TimeoutSeconds: int64(c.timeout / time.Second), Purpose: c.purpose,
	}
}

// Fingerprint is the SHA-256 of the canonical encoding. Two Commands that
// differ in one byte differ in it.
func (c Command) Fingerprint() string { return canon.Digest(c.Wire()) }

// Differences names the fields, in the order of New, in which another Command
// differs.
func (c Command) Differences(o Command) (fields []string) {
	for _, f := range []struct {
		name string
		same bool
	}{
		{"toolchain", c.toolchain == o.toolchain}, {"arg", slices.Equal(c.args, o.args)}, {"workdir", c.workdir == o.workdir},
		{"timeout", c.timeout == o.timeout}, {"purpose", c.purpose == o.purpose},
	} {
		if !f.same {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// Decode reads a stored standard-code-command.v1, strictly.
func Decode(data []byte) (Command, error) {
	var w Wire
	if err := canon.Strict(data, &w); err != nil {
		return Command{}, fault.Wrap(fault.InvalidArgument, err, "not a %s", Protocol).At("command")
	}
	if w.Protocol != Protocol {
		return Command{}, fault.New(fault.InvalidArgument, "protocol %q, want %q", w.Protocol, Protocol).At("command")
	}
	if w.TimeoutSeconds < 1 || w.TimeoutSeconds > int64(limits.MaxTimeout/time.Second) {
		return Command{}, fault.New(fault.InvalidArgument, "timeout %d s is out of range", w.TimeoutSeconds).At("timeout")
	}
	return New(Input{
		Toolchain: w.Toolchain, Args: w.Arguments, Workdir: w.Workdir,
		Timeout: time.Duration(w.TimeoutSeconds) * time.Second, Purpose: w.Purpose,
	})
}
