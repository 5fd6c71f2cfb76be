package project

import (
	"context"
	"errors"
	"io"
	"strings"

	"cyberagent/domain/command"
	"cyberagent/domain/deps"
	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
	"cyberagent/domain/phrase"
	"cyberagent/ports"
)

// Reader implements ports.Projects. GoModules is where this operator's go command
// keeps its modules, for projects that do not say; empty when unknown.
type Reader struct{ GoModules string }

var (
	_ ports.Projects = Reader{}
	_ ports.Ovens    = Ovens{}
)

// project implements ports.Project.
type project struct {
	dir    string
	tree   *tree
	record deps.Record
	parts  []part
	seeds  map[command.Toolchain]func(ctx context.Context, root string) error
	opened []io.Closer
}

// part is a tree of the image and how it is written.
type part struct {
	ports.ProjectPart

	write func(ctx context.Context, w io.Writer) error
}

// opener looks at one toolchain's lockfiles.
type opener func(p *project, s ports.ProjectSources, need deps.Need, files map[string][]byte) error

// Open implements ports.Projects.
func (r Reader) Open(_ context.Context, s ports.ProjectSources) (ports.Project, error) {
	t, err := openTree("project", s.Dir)
	if err != nil {
		return nil, err
	}
	if s.GoModules == "" {
		s.GoModules = r.GoModules
	}
	p := &project{dir: s.Dir, tree: t, record: deps.NewRecord(), seeds: map[command.Toolchain]func(context.Context, string) error{}, opened: []io.Closer{t.root}}
	openers := map[command.Toolchain]opener{
		command.Go: openGo, command.Node: openNode, command.Python: openPython, command.Rust: openRust,
	}
	for _, tc := range command.Toolchains() {
		files, err := p.files(tc)
		if err == nil {
			if need := deps.Read(tc, files); need.File != "" {
				err = openers[tc](p, s, need, files)
			}
		}
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	if len(p.record.Locks) == 0 {
		err := fault.New(fault.InvalidArgument, "%s has no lockfile that this product reads", s.Dir).At("project").
			Hint("name the directory that has go.mod, package-lock.json, uv.lock, poetry.lock, requirements.txt or Cargo.lock")
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// files reads the lockfiles of a toolchain.
func (p *project) files(tc command.Toolchain) (map[string][]byte, error) {
	found := map[string][]byte{}
	for _, name := range deps.Files(tc) {
		data, ok, err := p.tree.read(name, limits.LockfileBytes)
		if err != nil {
			return nil, err
		}
		if ok {
			found[name] = data
		}
	}
	return found, nil
}

// source opens the directory that has a toolchain's packages: the one that the
// operator names, or its usual place in the project. It is nil when there is none.
func (p *project) source(field, named, usual string) (t *tree, err error) {
	if named != "" {
		t, err = openTree(field, named)
	} else {
		t, err = p.tree.sub(field, usual)
	}
	if t != nil {
		p.opened = append(p.opened, t.root)
	}
	return t, err
}

// hold records a toolchain's packages and refuses when one of them was not
// fetched. how is what the operator types.
func (p *project) hold(need deps.Need, held []deps.Package, how string) error {
	p.record.Locks[need.Toolchain] = ""
	p.record.Hold(need.Toolchain, held)
	missing := p.record.Missing(need)
	p.record.Locks[need.Toolchain] = need.SHA256
	if len(missing) == 0 {
		return nil
	}
	if need.Loose {
		absent := make([]deps.Package, len(missing))
		for i, m := range missing {
			absent[i] = m.Package
		}
		p.record.Leave(need.Toolchain, absent)
		return nil
	}
	return fault.New(fault.DependenciesMiss, "%s names %s fetched: %s", need.File, phrase.Count(len(missing), "package that was not", "packages that were not"), first(missing)).
		At("project").Hint("%s", how)
}

// unfetched refuses lockfiles that ask for packages without saying which, when none
// was fetched: the image would hold nothing.
func (p *project) unfetched(need deps.Need, files map[string][]byte, how string) error {
	names := deps.Unpinned(need.Toolchain, files)
	if len(names) == 0 {
		return nil
	}
	return fault.New(fault.DependenciesMiss, "%s asks for %s, pins none of them, and nothing was fetched", need.File, few(names)).
		At("project").Hint("%s", how)
}

// first names a few.
func first(missing []deps.Missing) string {
	var names []string
	for _, m := range missing {
		names = append(names, m.String())
	}
	return few(names)
}

func few(names []string) string {
	const most = 5
	if len(names) > most {
		names = append(names[:most:most], "…")
	}
	return strings.Join(names, ", ")
}

func (p *project) lay(tc command.Toolchain, at string, write func(ctx context.Context, w io.Writer) error) {
	p.parts = append(p.parts, part{ports.ProjectPart{Toolchain: tc, At: at}, write})
}

// Record implements ports.Project.
func (p *project) Record() deps.Record { return p.record }

// Parts implements ports.Project.
func (p *project) Parts() []ports.ProjectPart {
	var all []ports.ProjectPart
	for _, x := range p.parts {
		all = append(all, x.ProjectPart)
	}
	return all
}

// WritePart implements ports.Project.
func (p *project) WritePart(ctx context.Context, want ports.ProjectPart, w io.Writer) error {
	for _, x := range p.parts {
		if x.ProjectPart == want {
			return x.write(ctx, w)
		}
	}
	return fault.New(fault.Internal, "the project has no part %s", want.At)
}

// Bakes implements ports.Project.
func (p *project) Bakes(tc command.Toolchain) bool { return p.seeds[tc] != nil }

// Seed implements ports.Project.
func (p *project) Seed(ctx context.Context, tc command.Toolchain, root string) error {
	seed := p.seeds[tc]
	if seed == nil {
		return fault.New(fault.Internal, "the project has nothing to seed for %s", tc)
	}
	return seed(ctx, root)
}

// Close implements ports.Project.
func (p *project) Close() error {
	var errs []error
	for _, c := range p.opened {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
