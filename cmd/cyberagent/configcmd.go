package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	"cyberagent/config"
)

// configView is the answer of `config show`.
type configView struct {
	Protocol string         `json:"protocol_version"`
	Home     string         `json:"home"`
	File     string         `json:"file"`
	Values   []config.Value `json:"values"`
	Notices  []string       `json:"notices"`
}

// configPath is the answer of `config path`.
type configPath struct {
	Protocol string `json:"protocol_version"`
	Path     string `json:"path"`
}

func configGroup(s *session) *cli.Command {
	return group("config", "what this process is configured with",
		&cli.Command{
			Name: "show", Usage: "every key, its value and where it came from", HideHelpCommand: true,
			Action: func(_ context.Context, c *cli.Command) error {
				cfg, err := s.configured(c)
				if err != nil {
					return err
				}
				v := configView{"config.v1", cfg.Home, cfg.File, cfg.Values(), append([]string{}, cfg.Notices...)}
				return s.answer(v, func(w io.Writer) {
					_, _ = fmt.Fprintf(w, "home %s\nfile %s\n\n", printable(v.Home), printable(v.File))
					tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
					for _, x := range v.Values {
						_, _ = fmt.Fprintf(tw, "%s\t%s\t(%s)\t%s\n", x.Key, printable(x.Value), x.Origin, x.Help)
					}
					_ = tw.Flush()
					for _, n := range v.Notices {
						_, _ = fmt.Fprintln(w, "note:", n)
					}
				})
			},
		},
		&cli.Command{
			Name: "path", Usage: "where the configuration file is read from", HideHelpCommand: true,
			Action: func(_ context.Context, c *cli.Command) error {
				cfg, err := s.configured(c)
				if err != nil {
					return err
				}
				v := configPath{"config-path.v1", cfg.File}
				return s.answer(v, func(w io.Writer) { _, _ = fmt.Fprintln(w, printable(v.Path)) })
			},
		},
	)
}
