package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/urfave/cli/v3"

	"cyberagent/app/fixture"
	"cyberagent/cmd/cyberagent/internal/wiring"
	"cyberagent/config"
	"cyberagent/domain/admission"
	"cyberagent/domain/command"
	"cyberagent/domain/isolation"
)

func fixtureGroup(s *session) *cli.Command {
	return group("fixture", "the fixed image", fixtureBuild(s), fixtureInspect(s), fixtureListCommand(s), fixtureRemove(s))
}

func fixtureBuild(s *session) *cli.Command {
	flags := []cli.Flag{}
	bases := map[command.Toolchain]*string{}
	for _, t := range command.Toolchains() {
		v := new(string)
		bases[t] = v
		flags = append(flags, &cli.StringFlag{
			Name: string(t) + "-base", Usage: fmt.Sprintf("name@sha256:<64 hex>; default $%s", fixture.Variable(t)), Destination: v,
		})
	}
	var again bool
	var p projectFlags
	flags = append(flags, &cli.BoolFlag{Name: "again", Usage: "build the plain image also when the same inputs were built before (a project's is always built)", Destination: &again})
	flags = append(flags, p.flags()...)
	return &cli.Command{
		Name: "build", Usage: "make the image from four exact bases that the engine has, or a project's image from it; pulls nothing", HideHelpCommand: true,
		Flags: flags,
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(false)
			if err := none(c); err != nil {
				return err
			}
			if c.IsSet("project") {
				return p.build(ctx, s)
			}
			in := fixture.Input{Bases: map[command.Toolchain]string{}, Again: again}
			for t, v := range maps.All(bases) {
				if *v == "" {
					*v, _ = s.lookup(fixture.Variable(t))
				}
				in.Bases[t] = *v
			}
			in.Progress = s.fixtureProgress()
			return s.openFixture(ctx, func(_ config.Config, svc fixture.Service) error {
				r, err := svc.Build(ctx, in)
				if err != nil {
					return err
				}
				return s.answerFixture(svc.Engine.Engine(), r)
			})
		},
	}
}

// openFixture builds what a fixture verb needs; the verb runs inside use.
func (s *session) openFixture(ctx context.Context, use func(config.Config, fixture.Service) error) error {
	cfg, err := s.load()
	if err != nil {
		return err
	}
	svc, stop, err := wiring.OpenFixture(ctx, cfg)
	if err != nil {
		return err
	}
	defer stop()
	return use(cfg, svc)
}

func (s *session) answerFixture(engine isolation.Engine, r fixture.Result) error {
	v := fixtureView{
		"fixture.v1", engine, r.Image, r.ConfigDigest, r.ManifestDigest, r.Tag, r.SizeBytes, r.Took.Milliseconds(),
		map[string]string{},
	}
	var lines strings.Builder
	for _, prefix := range []string{"CYBERAGENT_STANDARD_CODE_", "CYBERAGENT_TEST_STANDARD_CODE_"} {
		name := prefix + strings.ToUpper(string(v.Engine)) + "_IMAGE_DIGEST"
		v.Environment[name] = r.Image
		_, _ = fmt.Fprintf(&lines, "%s=%s\n", name, r.Image)
	}
	return s.answer(v, func(w io.Writer) { _, _ = io.WriteString(w, lines.String()) })
}

// fixtureProgress tells a person the steps of a build.
func (s *session) fixtureProgress() func(string) {
	if s.asJSON && !s.errTerminal {
		return nil
	}
	return func(line string) { _, _ = fmt.Fprintln(s.err, "fixture:", printable(line)) }
}

type fixtureView struct {
	Protocol       string            `json:"protocol_version"`
	Engine         isolation.Engine  `json:"engine"`
	Image          string            `json:"image_digest"`
	ConfigDigest   string            `json:"config_digest"`
	ManifestDigest string            `json:"manifest_digest"`
	Tag            string            `json:"tag"`
	SizeBytes      int64             `json:"size_bytes"`
	TookMillis     int64             `json:"took_ms"`
	Environment    map[string]string `json:"environment"`
}

// inspectionView is the answer of `fixture inspect`.
type inspectionView struct {
	Protocol string              `json:"protocol_version"`
	Digest   string              `json:"image_digest"`
	Present  bool                `json:"present"`
	ID       string              `json:"image_id"`
	Platform string              `json:"platform"`
	Size     int64               `json:"size_bytes"`
	Labels   map[string]string   `json:"labels"`
	Ready    bool                `json:"usable"`
	Refused  []admission.Verdict `json:"-"`
	Blockers []map[string]string `json:"blockers"`
}

func fixtureInspect(s *session) *cli.Command {
	return &cli.Command{
		Name: "inspect", Usage: "judge an image as readiness does; the configured one when none is named", ArgsUsage: "[DIGEST]",
		HideHelpCommand: true,
		Action: func(ctx context.Context, c *cli.Command) error {
			s.begin(false)
			given := ""
			if c.Args().Present() {
				var err error
				if given, err = one(c, "digest"); err != nil {
					return err
				}
			}
			return s.openFixture(ctx, func(cfg config.Config, svc fixture.Service) error {
				return s.answerInspection(ctx, svc, cmp.Or(given, cfg.ImageDigest(svc.Engine.Engine())))
			})
		},
	}
}

func (s *session) answerInspection(ctx context.Context, svc fixture.Service, digest string) error {
	j, err := svc.Inspect(ctx, digest)
	if err != nil {
		return err
	}
	v := inspectionView{
		"fixture-inspection.v1", digest, j.Facts.Present, j.Facts.ID, j.Facts.OS + "/" + j.Facts.Arch, j.Facts.SizeBytes,
		j.Facts.Labels, len(j.Refused) == 0, j.Refused, []map[string]string{},
	}
	if v.Labels == nil {
		v.Labels = map[string]string{} // an absent image has none
	}
	for _, r := range j.Refused {
		v.Blockers = append(v.Blockers, map[string]string{
			"reason_code": string(r.Reason), "detail": r.Detail, "advice": r.Advice,
		})
	}
	if !v.Ready {
		s.code = exitBlocked
	}
	return s.answer(v, func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "image       %s\npresent     %t\nplatform    %s\nsize        %d MiB\nusable      %t\n", digest, v.Present, v.Platform, v.Size>>20, v.Ready)
		for _, b := range v.Blockers {
			_, _ = fmt.Fprintf(w, "  %s: %s\n    %s\n", b["reason_code"], printable(b["detail"]), b["advice"])
		}
	})
}
