package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// row is one outcome.
type row struct {
	project

	host, engine, image string
	changed             bool
	outcome             string
	seconds             float64
	buildSeconds        float64
}

func (r row) line() string {
	return fmt.Sprintf("%s %s: host %s; %s, %s image, changed %t: %s, %.1f s", r.name, r.version, r.host, r.engine, r.image, r.changed, r.outcome, r.seconds)
}

// try does everything with one project. What fails on the way is an outcome.
func (l lab) try(ctx context.Context, p project) []row {
	source := filepath.Join(l.cache, "src", p.slug()+"@"+p.version)
	if err := l.obtain(ctx, p, source); err != nil {
		return []row{{project: p, host: "not fetched", outcome: clip(err.Error())}}
	}
	host := offline(ctx, source, hostCommand(p)...)
	if out, err := exec.CommandContext(ctx, "git", "-C", source, "status", "--porcelain").Output(); err == nil && len(out) > 0 {
		_ = exec.CommandContext(ctx, "git", "-C", source, "checkout", "-q", "--", ".").Run() // what its tests left
	}
	var rows []row
	for _, engine := range l.engines {
		home := filepath.Join(l.cache, "homes", engine)
		env := []string{"CYBERAGENT_HOME=" + home, "CYBERAGENT_ENGINE=" + engine}
		if err := os.MkdirAll(home, 0o700); err != nil {
			return append(rows, row{project: p, host: host, engine: engine, outcome: err.Error()})
		}
		plain := row{project: p, host: host, engine: engine, image: "plain"}
		l.command(ctx, env, source, "", false, &plain)
		rows = append(rows, plain)
		own := row{project: p, host: host, engine: engine, image: "project"}
		var built struct {
			Image string `json:"image_digest"`
			Took  int64  `json:"took_ms"`
		}
		err := l.answer(ctx, env, &built, "fixture", "build", "--project", source)
		var f failure
		switch {
		case errors.As(err, &f) && strings.Contains(f.Message, "no lockfile"):
			own.outcome = "none is needed: no lockfile"
			rows = append(rows, own)
			continue
		case err != nil:
			own.outcome = clip(err.Error())
			rows = append(rows, own)
			continue
		}
		own.buildSeconds = float64(built.Took) / 1000
		changed := own
		changed.changed = true
		l.command(ctx, env, source, built.Image, false, &own)
		l.command(ctx, env, source, built.Image, true, &changed)
		rows = append(rows, own, changed)
	}
	return rows
}

// obtain fetches a project once.
func (l lab) obtain(ctx context.Context, p project, source string) error {
	if _, err := os.Stat(filepath.Join(source, ".git")); err == nil {
		return nil
	}
	if err := os.RemoveAll(source); err != nil {
		return err
	}
	if err := os.MkdirAll(source, 0o755); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, l.fetch, p.kind, p.name, p.version)
	cmd.Dir, cmd.Env = source, append(os.Environ(), "CORPUS_CACHE="+l.cache)
	if out, err := cmd.CombinedOutput(); err != nil {
		_ = os.RemoveAll(source)
		return fmt.Errorf("fetching: %w: %s", err, out)
	}
	return nil
}

func hostCommand(p project) []string {
	switch p.toolchain {
	case "python":
		return append([]string{"python3"}, p.args...)
	case "rust":
		return append([]string{"cargo"}, p.args...)
	case "node":
		if p.args[0] == "npm" {
			return p.args
		}
	}
	return append([]string{p.toolchain}, p.args...)
}

// command runs the project's command once in a Run of its own.
func (l lab) command(ctx context.Context, env []string, source, image string, change bool, r *row) {
	if err := l.approved(ctx, env, source, image, change, r); err != nil {
		var f failure
		if errors.As(err, &f) {
			r.outcome = f.Code
			return
		}
		r.outcome = clip(err.Error())
	}
}

func (l lab) approved(ctx context.Context, env []string, source, image string, change bool, r *row) error {
	config := ""
	if image != "" {
		config = fmt.Sprintf("image:\n  projects:\n    %q: %s\n", source, image)
	}
	home := strings.TrimPrefix(env[0], "CYBERAGENT_HOME=")
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config), 0o600); err != nil {
		return err
	}
	var v struct {
		Run         string `json:"run_id"`
		Trust       string `json:"trust_digest"`
		Path        string `json:"path"`
		Generation  int64  `json:"generation"`
		Checkpoint  string `json:"checkpoint_id"`
		Preparation string `json:"preparation_id"`
		Approval    struct {
			ID string `json:"id"`
		} `json:"approval"`
	}
	do := func(args ...string) error { return l.answer(ctx, env, &v, args...) }
	if err := do("run", "create", "corpus", "--workspace", source); err != nil {
		return err
	}
	id := v.Run
	defer func() { l.clean(ctx, env, id) }()
	for _, args := range [][]string{
		{"run", "profile", id, "docker"}, {"run", "permission", id, "workspace_access"}, {"drydock", "create", id},
	} {
		if err := do(args...); err != nil {
			return err
		}
	}
	if err := do("drydock", "create", id, "--trust", v.Trust); err != nil {
		return err
	}
	if change {
		if err := touch(v.Path, r.toolchain); err != nil {
			return err
		}
		if err := do("drydock", "checkpoint", id); err != nil {
			return err
		}
	}
	args := []string{
		id, "--generation", strconv.FormatInt(v.Generation, 10), "--checkpoint", v.Checkpoint, "--toolchain", r.toolchain,
		"--timeout", "1200", "--purpose", "corpus", "--enable-permission-control", "--enable-workspace-sandbox", "--enable-docker-execution",
	}
	for _, a := range r.args {
		args = append(args, "--arg", a)
	}
	if err := do(slices.Concat([]string{"run", "standard-code", "prepare"}, args, []string{"--operation-key", "p"})...); err != nil {
		return err
	}
	if err := do("run", "sandbox", "review", v.Preparation, "--decision", "approve", "--operation-key", "r"); err != nil {
		return err
	}
	var end struct {
		Status    string `json:"status"`
		Reason    string `json:"reason_code"`
		ExitCode  *int   `json:"exit_code"`
		Resources struct {
			Wall int64 `json:"wall_ms"`
		} `json:"resources"`
		Details map[string]string `json:"details"`
	}
	err := l.answer(ctx, env, &end, slices.Concat([]string{"run", "standard-code", "execute", "--stream=false"}, args,
		[]string{"--preparation", v.Preparation, "--approval", v.Approval.ID, "--operation-key", "e"})...)
	if err != nil {
		return err
	}
	r.seconds = float64(end.Resources.Wall) / 1000
	r.outcome = end.Status
	if end.Status != "succeeded" {
		r.outcome += ", " + end.Reason
		if end.ExitCode != nil {
			r.outcome += fmt.Sprintf(" %d", *end.ExitCode)
		}
		for _, d := range end.Details {
			r.outcome += ": " + clip(d)
		}
	}
	return nil
}

// clean gives the Drydock's place back; what it cannot, the next gc can.
func (l lab) clean(ctx context.Context, env []string, id string) {
	var plan struct {
		Confirm string `json:"digest"`
	}
	if l.answer(ctx, env, &plan, "drydock", "cleanup", id) == nil && plan.Confirm != "" {
		_ = l.answer(ctx, env, nil, "drydock", "cleanup", id, "--confirm", plan.Confirm)
	}
}

// touch changes one source file at the top of a Drydock, so that what depends on it
// is made again.
func touch(dir, toolchain string) error {
	ext := map[string]string{"go": ".go", "node": ".js", "python": ".py", "rust": ".rs"}[toolchain]
	comment := map[string]string{"python": "#"}[toolchain]
	if comment == "" {
		comment = "//"
	}
	for _, pattern := range []string{"*" + ext, "src/*" + ext, "lib/*" + ext, "*/*" + ext} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, p := range found {
			if strings.Contains(filepath.Base(p), "_test") {
				continue
			}
			f, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("\n" + comment + " changed\n")
			return errors.Join(err, f.Close())
		}
	}
	return errors.New("no source file to change")
}
