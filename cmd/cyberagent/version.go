package main

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/urfave/cli/v3"

	"cyberagent/domain/command"
	"cyberagent/domain/isolation"
	"cyberagent/domain/runnerproto"
)

// version is set by the Makefile.
var version = "dev"

// versionView is the answer of `version`.
type versionView struct {
	Protocol  string `json:"protocol_version"`
	Version   string `json:"version"`
	Go        string `json:"go"`
	Platform  string `json:"platform"`
	Runner    string `json:"runner_protocol"`
	Command   string `json:"command_protocol"`
	Isolation string `json:"isolation_contract"`
	Seccomp   string `json:"seccomp_sha256"`
}

func versionCommand(s *session) *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "the build and the protocols it speaks", HideHelpCommand: true,
		Action: func(_ context.Context, c *cli.Command) error {
			s.begin(false)
			if err := none(c); err != nil {
				return err
			}
			v := versionView{
				"version.v1", version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, runnerproto.Protocol,
				command.Protocol, isolation.Contract, isolation.SeccompSHA256(),
			}
			return s.answer(v, func(w io.Writer) {
				_, _ = fmt.Fprintf(w, "cyberagent %s (%s, %s)\nrunner    %s\ncommand   %s\nisolation %s\nseccomp   %s\n",
					v.Version, v.Go, v.Platform, v.Runner, v.Command, v.Isolation, v.Seccomp)
			})
		},
	}
}
