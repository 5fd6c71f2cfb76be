package jobproto

import (
	"encoding/base64"
	"time"

	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/job"
	"cyberagent/domain/limits"
)

// Command is standard-code-command.v1 with what a Job adds to it.
type Command struct {
	Protocol       string   `json:"protocol_version"`
	Toolchain      string   `json:"toolchain"`
	Arguments      []string `json:"arguments"`
	Workdir        string   `json:"working_directory"`
	TimeoutSeconds *int64   `json:"timeout_seconds"`
	Purpose        string   `json:"purpose"`
	StdinPolicy    string   `json:"stdin_policy"`
	Stdin          string   `json:"stdin"`
	StdinBase64    string   `json:"stdin_base64"`
	CloseStdin     bool     `json:"close_stdin"`
	Inline         int64    `json:"inline_bytes"`
	Artifact       int64    `json:"artifact_bytes"`
	Network        *string  `json:"network"`
	Credentials    *string  `json:"credentials"`
	Preparation    string   `json:"preparation_id"`
	Approval       string   `json:"approval_id"`
}

// data takes bytes as text, or as base64 where they are not UTF-8.
func data(field, plain, encoded string) ([]byte, error) {
	if plain != "" && encoded != "" {
		return nil, fault.New(fault.InvalidArgument, "given twice").At(field+"_base64").Hint("give %s or %s_base64", field, field)
	}
	if encoded == "" {
		return []byte(plain), nil
	}
	b, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return nil, fault.New(fault.InvalidArgument, "not base64").At(field + "_base64").Hint("use the standard alphabet, with padding")
	}
	return b, nil
}

// launch turns a command into what is checked and launched.
func (c Command) launch() (l job.Launch, err error) {
	if c.Protocol != "" && c.Protocol != command.Protocol {
		return l, fault.New(fault.InvalidArgument, "%q is not %s", c.Protocol, command.Protocol).At("protocol_version").
			Hint("use %s, or leave it out", command.Protocol)
	}
	if err := only("network", c.Network, "disabled"); err != nil {
		return l, err
	}
	if err := only("credentials", c.Credentials, "none"); err != nil {
		return l, err
	}
	l.Command = command.Input{Toolchain: c.Toolchain, Args: c.Arguments, Workdir: c.Workdir, Purpose: c.Purpose}
	if c.TimeoutSeconds != nil {
		if n := *c.TimeoutSeconds; n < 1 || n > int64(limits.MaxTimeout/time.Second) {
			return l, fault.New(fault.InvalidArgument, "%d is outside 1..%d", n, int64(limits.MaxTimeout/time.Second)).
				At("timeout_seconds").Hint("give whole seconds")
		}
		l.Command.Timeout = time.Duration(*c.TimeoutSeconds) * time.Second
	}
	if l.Initial, err = data("stdin", c.Stdin, c.StdinBase64); err != nil {
		return l, err
	}
	l.Stdin, l.Close, l.Inline, l.Keep = isolation.Stdin(c.StdinPolicy), c.CloseStdin, c.Inline, c.Artifact
	if c.Preparation != "" {
		if l.Preparation, err = id.ParsePreparation("preparation_id", c.Preparation); err != nil {
			return l, err
		}
	}
	if c.Approval != "" {
		if l.Approval, err = id.ParseApproval("approval_id", c.Approval); err != nil {
			return l, err
		}
	}
	err = l.Check()
	return l, err
}

// only accepts the one word that a fixed property has.
func only(field string, got *string, want string) error {
	if got == nil || *got == want {
		return nil
	}
	return fault.New(fault.InvalidArgument, "%q is not to be had", *got).At(field).Hint("it is always %s", want)
}
