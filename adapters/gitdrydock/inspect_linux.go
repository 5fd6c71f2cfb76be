package gitdrydock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/phrase"
)

// Inspect implements ports.Sources.
//
// The source's own configuration is read for three questions (object format,
// HEAD, settings), each to plumbing that starts nothing. Everything about
// objects is asked in a scratch repository of ours that borrows the source's:
// there nothing is fetched, replaced or grafted.
func (d *Drydocks) Inspect(ctx context.Context, path string) (drydock.Source, error) {
	s, err := d.inspect(ctx, path)
	return s, edge(err)
}

func (d *Drydocks) inspect(ctx context.Context, path string) (drydock.Source, error) {
	l, err := d.open()
	if err != nil {
		return drydock.Source{}, err
	}
	r, err := discover(path)
	if err != nil {
		return drydock.Source{}, err
	}
	if err := l.checkSource(r); err != nil {
		return drydock.Source{}, unusable(err, "no Drydock can be made from the repository at", r.topLevel)
	}
	s := drydock.Source{TopLevel: r.topLevel, CommonDir: r.commonDir}
	set, err := l.settings(ctx, r)
	if err != nil {
		return drydock.Source{}, err
	}
	if err := l.head(ctx, r, &s); err != nil {
		return drydock.Source{}, err
	}
	f := format(s.ObjectFormat)
	scratch, err := l.scratch()
	if err != nil {
		return drydock.Source{}, fault.Wrap(fault.Internal, err, "cannot make a directory of the product")
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	if err := makeShadow(scratch, f, filepath.Join(r.commonDir, "objects")); err != nil {
		return drydock.Source{}, err
	}
	base, err := l.survey(ctx, scratch, f, s.HeadCommit)
	if err != nil {
		return drydock.Source{}, err
	}
	s.Entries, s.Bytes = int64(len(base.files)+len(base.modules)), base.bytes
	if s.Notices, err = l.notices(ctx, scratch, r, set, base); err != nil {
		return drydock.Source{}, err
	}
	if !r.bare {
		var more []string
		s.Dirty, more = l.dirty(ctx, r, f, base)
		s.Notices = append(s.Notices, more...)
	}
	if s.Dirty.Paths == nil {
		s.Dirty.Paths = []string{}
	}
	return s, nil
}

// scratch makes a directory for one Inspect. One that was killed left its own.
func (l layout) scratch() (string, error) {
	dir := filepath.Join(l.home, "scratch")
	old, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range old {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
	return os.MkdirTemp(dir, "inspect-*")
}

// unusable refuses the source at a directory, which ends the sentence.
func unusable(err error, sentence, dir string) *fault.Error {
	f := unsupported(err, "%s %s", sentence, show(dir))
	if f.Remedy == correctIt {
		at := phrase.Word(dir)
		f.Remedy += fmt.Sprintf("; `git -C %s fsck` and `git -C %s config --list` tell more", at, at)
	}
	return f
}

const correctIt = "correct that in the repository, or name another clone of it"

// unsupported refuses the source. What err says of itself to do is what to do.
func unsupported(err error, format string, a ...any) *fault.Error {
	f := fault.Wrap(fault.SourceUnsupported, err, format, a...).At("workspace").Hint(correctIt)
	if inner, ok := errors.AsType[*fault.Error](err); ok && inner.Remedy != "" {
		f.Remedy = inner.Remedy
	}
	return f
}

// checkSource refuses places that a Drydock cannot be made from.
func (l layout) checkSource(r repository) error {
	for _, p := range []string{r.topLevel, r.gitDir, r.commonDir, filepath.Dir(r.commonDir)} {
		// Beside a bare repository there is room for others.
		if p == filepath.Dir(r.commonDir) && filepath.Base(r.commonDir) != ".git" {
			continue
		}
		if strings.HasPrefix(l.home+"/", strings.TrimSuffix(p, "/")+"/") && p != l.home {
			return fault.New(fault.SourceUnsupported, "the product's home %s lies in it", show(l.home)).
				Hint("set CYBERAGENT_HOME to a directory outside of every repository")
		}
	}
	for _, p := range []string{r.topLevel, r.commonDir} {
		if p == l.home || strings.HasPrefix(p, l.home+"/") {
			return fault.New(fault.SourceUnsupported, "it lies in the product's own directory").
				Hint("name the source that it was made from; `cyberagent run show RUN` says where that is")
		}
		if err := checkLocal(p); err != nil {
			return err
		}
	}
	return nil
}

// head reads object format, commit and branch.
func (l layout) head(ctx context.Context, r repository, s *drydock.Source) error {
	out, err := l.run(ctx, gitCall{gitDir: r.gitDir, timeout: quickDeadline, args: []string{
		"rev-parse", "--show-object-format", "HEAD", "--symbolic-full-name", "HEAD",
	}})
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	var exit *gitError
	switch {
	case errors.As(err, &exit):
		return unusable(err, "there is no commit at HEAD of the repository at", r.topLevel).Hint("make a first commit")
	case err != nil:
		return err
	case len(lines) != 3:
		return unusable(nil, "git cannot read HEAD of", r.topLevel)
	}
	f, err := parseFormat(lines[0])
	if err == nil {
		_, err = f.parse(lines[1])
	}
	if err != nil {
		return unusable(err, "no Drydock can be made from the repository at", r.topLevel)
	}
	s.ObjectFormat, s.HeadCommit = lines[0], lines[1]
	if branch, ok := strings.CutPrefix(lines[2], "refs/heads/"); ok {
		s.HeadBranch = branch
	}
	return checkBranch(s.HeadBranch)
}

func checkBranch(name string) error {
	if err := checkPlainPath(name); err != nil {
		return unsupported(err, "the source's branch cannot be used")
	}
	return nil
}

// settings is what the source's configuration says that matters here, read as
// text.
type settings map[string][]string

// settings lists the configuration. Names of sections and variables are lower
// case, as git prints them.
func (l layout) settings(ctx context.Context, r repository) (settings, error) {
	out, err := l.run(ctx, gitCall{gitDir: r.gitDir, timeout: quickDeadline, args: []string{"config", "--null", "--list"}})
	if err != nil {
		return nil, because(err, unusable(nil, "git cannot read the configuration of", r.topLevel))
	}
	set := settings{}
	for _, rec := range splitNUL(out) {
		key, value, _ := strings.Cut(rec, "\n")
		set[key] = append(set[key], value)
	}
	// Hooks that are named in the configuration (git 2.54) are not switched off
	// by core.hooksPath.
	for key := range set {
		if strings.HasPrefix(key, "hook.") && (strings.HasSuffix(key, ".command") || strings.HasSuffix(key, ".event")) {
			return nil, unsupported(nil, "the repository's own configuration runs a hook: %s", show(key)).
				Hint("move hooks from the repository's configuration to your own (git config --global); the product never reads that")
		}
	}
	return set, nil
}

// last is a variable's effective value.
func (s settings) last(key string) string {
	if v := s[key]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

func (s settings) on(key string) bool {
	v, there := s[key]
	if !there {
		return false
	}
	switch strings.ToLower(v[len(v)-1]) {
	case "", "false", "no", "off", "0":
		return false
	}
	return true
}

// promisor says whether missing objects are expected in the repository.
func (s settings) promisor() bool {
	if s.last("extensions.partialclone") != "" {
		return true
	}
	for key := range s {
		if strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".promisor") && s.on(key) {
			return true
		}
	}
	return false
}

func plural(n int, one, many string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, one)
	}
	return fmt.Sprintf("%d %s", n, many)
}
