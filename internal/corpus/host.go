package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// hostResult is how the command ended on this host.
type hostResult struct {
	Outcome string
	Seconds float64
}

// obtain fetches a project once.
func (l lab) obtain(ctx context.Context, p project, source string) error {
	if _, err := os.Stat(filepath.Join(source, ".git", "index")); err == nil {
		return nil
	}
	if err := os.RemoveAll(source); err != nil {
		return err
	}
	if err := os.MkdirAll(source, 0o755); err != nil { //nolint:gosec // for another uid
		return err
	}
	cmd := exec.CommandContext(ctx, l.fetch, append([]string{p.Kind, p.Name, p.Version}, p.Needs...)...)
	cmd.Dir, cmd.Env = source, append(plain(), "CORPUS_CACHE="+l.cache)
	if out, err := cmd.CombinedOutput(); err != nil {
		_ = os.RemoveAll(source)
		return fmt.Errorf("fetching: %w: %s", err, out)
	}
	return nil
}

// vendored makes a repository that carries its Go dependencies itself, for the plain
// image: it is the project's own when it has none.
func (l lab) vendored(ctx context.Context, p project, source string) (string, error) {
	if _, err := os.Stat(filepath.Join(source, "go.sum")); p.Kind != "go" || err != nil {
		return source, nil
	}
	dir := source + "-vendored"
	if _, err := os.Stat(filepath.Join(dir, "vendor", "modules.txt")); err == nil {
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	// The go command looks into vendor by itself from go 1.14 on.
	cmd := exec.CommandContext(ctx, "sh", "-ec", `cp -a "$1" "$2"; cd "$2"
v=$(sed -n 's/^go 1\.\([0-9]*\).*/\1/p' go.mod); [ "${v:-0}" -ge 14 ] || go mod edit -go=1.14
go mod vendor; git add go.mod; [ ! -d vendor ] || git add -f vendor
git -c user.name=corpus -c user.email=corpus@example.test commit -q --allow-empty -m vendor`, "sh", source, dir)
	cmd.Env = plain()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("vendoring: %w: %s", err, last(string(out))), os.RemoveAll(dir))
	}
	return dir, nil
}

// plain is this process's environment with the distribution's own tools first: those
// are the versions of the base images.
func plain() []string { return append(os.Environ(), "PATH=/usr/bin:/bin:"+os.Getenv("PATH")) }

// asOffline is a tool of this host as offline finds it.
func asOffline(ctx context.Context, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "env", argv...)
	cmd.Env = plain()
	return cmd
}

// equipped says what this host lacks to run the projects by itself, before hours go by
// without anything to compare with.
func equipped(ctx context.Context, wanted []project) error {
	var lacks []error
	for _, tool := range []struct {
		toolchain, remedy string
		probe             []string
	}{
		{"go", "golang", []string{"go", "version"}},
		{"node", "nodejs npm", []string{"npm", "--version"}},
		{"python", "python3-pytest", []string{"python3", "-m", "pytest", "--version"}},
		{"rust", "cargo", []string{"cargo", "--version"}},
	} {
		if !slices.ContainsFunc(wanted, func(p project) bool { return p.Toolchain == tool.toolchain }) {
			continue
		}
		if out, err := asOffline(ctx, tool.probe).CombinedOutput(); err != nil {
			lacks = append(lacks, fmt.Errorf("this host cannot run %s projects: %w: %s (apt-get install %s)", tool.toolchain, err, last(string(out)), tool.remedy))
		}
	}
	return errors.Join(lacks...)
}

// fence is what a project's tests are kept in on this host: no network; nothing can be
// changed but the copy, temporary files and the home with its caches (gin's tests make
// "/" unreadable for others); and without capabilities root is refused what tests expect
// to be refused.
const fence = `set -e
ip link set lo up
mount --make-rprivate /
for dir in "$0" "$HOME" /tmp; do mount --bind "$dir" "$dir"; done
mount -o remount,bind,ro /
cd "$0"
exec setpriv --bounding-set=-all --inh-caps=-all "$@"`

// offline runs the command on this host without a network, in a copy, for
// comparison. It is the operator's own choice to run this harness.
func (l lab) offline(ctx context.Context, p project, source string) (hostResult, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	scratch := filepath.Join(l.cache, "host", p.slug())
	if err := os.RemoveAll(scratch); err != nil {
		return hostResult{}, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	if err := os.MkdirAll(filepath.Dir(scratch), 0o700); err != nil {
		return hostResult{}, err
	}
	if out, err := exec.CommandContext(ctx, "cp", "-a", source, scratch).CombinedOutput(); err != nil {
		return hostResult{}, fmt.Errorf("copying: %w: %s", err, out)
	}
	site := filepath.Join(scratch, ".site")
	if wheels, _ := filepath.Glob(filepath.Join(scratch, "wheelhouse", "*.whl")); len(wheels) > 0 {
		cmd := exec.CommandContext(ctx, "python3", append([]string{"-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", site}, wheels...)...)
		cmd.Env = plain()
		if out, err := cmd.CombinedOutput(); err != nil {
			return hostResult{}, fmt.Errorf("installing: %w: %s", err, out)
		}
	}
	argv := append([]string{"--net", "--mount", "--", "sh", "-c", fence, scratch}, p.host(source)...)
	cmd := exec.CommandContext(ctx, "unshare", argv...)
	cmd.Dir = scratch
	cmd.Env = append(plain(), "GOPROXY=off", "GOFLAGS=-buildvcs=false", "CGO_ENABLED=0", "CI=true", "npm_config_offline=true", "CARGO_NET_OFFLINE=true",
		"PYTHONPATH="+site)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	r := hostResult{"passes", time.Since(began).Seconds()}
	if err != nil {
		r.Outcome = "fails: " + clip(last(string(out)))
		l.log("host", p, string(out))
	}
	return r, nil
}

// log keeps an output that somebody may want to read.
func (l lab) log(what string, p project, text string) {
	dir := filepath.Join(l.cache, "logs")
	if os.MkdirAll(dir, 0o700) == nil {
		_ = os.WriteFile(filepath.Join(dir, p.slug()+"-"+what+".log"), []byte(text), 0o600)
	}
}

// last is the last line.
func last(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

func clip(s string) string {
	s = strings.NewReplacer("|", "/", "\n", " ", "`", "'").Replace(s)
	if r := []rune(s); len(r) > 160 {
		return string(r[:160]) + "…"
	}
	return s
}
