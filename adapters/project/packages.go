package project

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"

	"cyberagent/domain/command"
	"cyberagent/domain/deps"
	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
	"cyberagent/domain/phrase"
	"cyberagent/domain/toolchain"
	"cyberagent/ports"
)

// fetch is the line that an operator types to fetch what was not, in the project.
func (p *project) fetch(line, field string) string {
	return fmt.Sprintf("run `(cd %s && %s)`, or name the directory with --%s; then repeat the build", phrase.Word(p.dir), line, field)
}

func (p *project) fetchNode() string { return p.fetch("npm ci --ignore-scripts", "node-modules") }

func (p *project) fetchRust() string { return p.fetch("cargo vendor", "cargo-vendor") }

// fetchPython fetches wheels alone, of what the lockfile's own tool lists.
func (p *project) fetchPython(lockfile string) string {
	line := "pip download --only-binary :all: -d wheelhouse -r "
	switch lockfile {
	case "uv.lock":
		line = "uv export --no-hashes --no-emit-project | " + line + "/dev/stdin"
	case "poetry.lock":
		line = "poetry export --without-hashes | " + line + "/dev/stdin"
	default:
		line += lockfile
	}
	return p.fetch(line, "wheels")
}

// openNode takes node_modules as it is. What lies in it is read from the packages
// themselves, at the places that the lockfile names.
func openNode(p *project, s ports.ProjectSources, need deps.Need, files map[string][]byte) error {
	if len(need.Packages) == 0 && s.NodeModules == "" {
		p.record.Locks[command.Node] = need.SHA256
		return nil
	}
	t, err := p.source("node-modules", s.NodeModules, "node_modules")
	if err != nil {
		return err
	}
	need.InTree = false // here it is what is laid into the image
	if t == nil {
		return p.hold(need, nil, p.fetchNode())
	}
	var held []deps.Package
	for _, l := range deps.NodeLock(files[need.File]) {
		rel, ok := strings.CutPrefix(l.Path, "node_modules/")
		if !ok || l.Link || path.Clean(rel) != rel || up(rel) {
			continue
		}
		data, ok, err := t.read(path.Join(rel, "package.json"), limits.LockfileBytes)
		if err != nil {
			return err
		}
		var pkg struct {
			Version string `json:"version"`
		}
		if ok && json.Unmarshal(data, &pkg) == nil && pkg.Version != "" {
			held = append(held, deps.Package{Name: l.Name, Version: pkg.Version})
		}
	}
	if err := p.hold(need, held, p.fetchNode()); err != nil {
		return err
	}
	p.lay(command.Node, toolchain.NodeModules, func(ctx context.Context, w io.Writer) error {
		return t.whole(ctx, w, func(name, target string) (string, error) {
			at := path.Join("node_modules", path.Dir(name), target)
			if s.NodeModules == "" && !path.IsAbs(target) && !up(at) && at != "." && !strings.HasPrefix(at, "node_modules/") {
				return path.Join(toolchain.Workspace, at), nil // a package of the repository itself
			}
			return t.inside(name, target)
		})
	})
	return nil
}

// openPython takes a directory of wheels. They are unpacked in a container.
func openPython(p *project, s ports.ProjectSources, need deps.Need, files map[string][]byte) error {
	t, err := p.source("wheels", s.Wheels, "wheelhouse")
	if err != nil {
		return err
	}
	var names []string
	if t != nil {
		if names, err = t.names("."); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		if err := p.unfetched(need, files, p.fetchPython(need.File)); err != nil {
			return err
		}
		need.Loose = false // not all of it can be for other platforms
	}
	if t == nil && len(need.Packages) == 0 {
		return nil // nothing is named and nothing was fetched
	}
	var held []deps.Package
	var wheels []string
	for _, n := range names {
		w, ok := deps.Wheel(n)
		if !ok {
			return fault.New(fault.InvalidArgument, "%q is not a wheel", n).At(t.field).With("path", n).
				Hint("fetch wheels only: pip download --only-binary :all:, or build them with pip wheel")
		}
		held, wheels = append(held, w), append(wheels, n)
	}
	if err := p.hold(need, held, p.fetchPython(need.File)); err != nil {
		return err
	}
	if len(wheels) > 0 {
		p.seeds[command.Python] = func(ctx context.Context, root string) error { return seedPython(ctx, t, wheels, root) }
	}
	return nil
}
