package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"cyberagent/app/fixture"
	"cyberagent/cmd/cyberagent/internal/wiring"
	"cyberagent/config"
	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// projectFlags are those of `fixture build --project`.
type projectFlags struct {
	in ports.ProjectSources
	// image is the plain one.
	image string
}

func (p *projectFlags) flags() []cli.Flag {
	dir := func(name, usage string, to *string) cli.Flag {
		return &cli.StringFlag{Name: name, Usage: usage, Destination: to}
	}
	return []cli.Flag{
		dir("project", "make an image for this repository, with the dependencies that were fetched for it", &p.in.Dir),
		dir("image", "the plain image's digest to make it from; default: the configured one", &p.image),
		dir("go-modules", "a Go module cache; default: the go command's own", &p.in.GoModules),
		dir("node-modules", "an installed node_modules; default: the project's", &p.in.NodeModules),
		dir("wheels", "a directory of Python wheels; default: the project's wheelhouse", &p.in.Wheels),
		dir("cargo-vendor", "a directory of crates; default: the project's vendor", &p.in.CargoVendor),
	}
}

// projectView is the answer of `fixture build --project`.
type projectView struct {
	Protocol       string                         `json:"protocol_version"`
	Engine         isolation.Engine               `json:"engine"`
	Project        string                         `json:"project"`
	Image          string                         `json:"image_digest"`
	ConfigDigest   string                         `json:"config_digest"`
	ManifestDigest string                         `json:"manifest_digest"`
	Tag            string                         `json:"tag"`
	SizeBytes      int64                          `json:"size_bytes"`
	TookMillis     int64                          `json:"took_ms"`
	Locks          map[command.Toolchain]string   `json:"lockfiles_sha256"`
	Holds          map[command.Toolchain][]string `json:"packages"`
	Absent         map[command.Toolchain][]string `json:"packages_absent"`
	Warnings       []string                       `json:"warnings"`
}

func (p *projectFlags) build(ctx context.Context, s *session) error {
	for name, dir := range map[string]*string{
		"project": &p.in.Dir, "go-modules": &p.in.GoModules, "node-modules": &p.in.NodeModules,
		"wheels": &p.in.Wheels, "cargo-vendor": &p.in.CargoVendor,
	} {
		if *dir == "" && name != "project" {
			continue
		}
		abs, err := filepath.Abs(*dir)
		if err != nil || *dir == "" {
			return fault.New(fault.InvalidArgument, "%q is not a directory", *dir).At(name).Hint("name an existing directory")
		}
		*dir = abs
	}
	return s.openFixture(ctx, func(cfg config.Config, svc fixture.Service) error {
		// What prepare will look for; found out before anything is built.
		key, err := s.repository(ctx, cfg, p.in.Dir)
		if err != nil {
			return err
		}
		svc.Projects = wiring.Projects(s.lookup)
		r, err := svc.BuildProject(ctx, fixture.ProjectInput{
			Image: cmp.Or(p.image, cfg.ImageDigest(svc.Engine.Engine())), Sources: p.in, Progress: s.fixtureProgress(),
		})
		if err != nil {
			return err
		}
		v := projectView{
			"fixture-project.v1", svc.Engine.Engine(), key, r.Image, r.ConfigDigest, r.ManifestDigest, r.Tag, r.SizeBytes, r.Took.Milliseconds(),
			r.Record.Locks, r.Record.Holds, r.Record.Absent, append([]string{}, r.Warnings...),
		}
		return s.answer(v, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "image:\n  projects:\n    %s: %s\n", yamlString(v.Project), v.Image)
		})
	})
}

// repository is the path by which a Run knows the repository that holds dir: of a
// Drydock, that of the source that it was made from.
func (s *session) repository(ctx context.Context, cfg config.Config, dir string) (string, error) {
	found, ours := wiring.Repository(ctx, cfg, dir)
	if !ours {
		return found, nil
	}
	err := s.open(ctx, func(app wiring.App) error {
		r, err := app.Drydocks.At(ctx, found)
		found = r.Workspace
		return err
	})
	return found, err
}

// yamlString writes a path as a key of config.yaml.
func yamlString(s string) string { return fmt.Sprintf("%q", s) }
