package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (r row) line(p project) string {
	return fmt.Sprintf("%s %s: %s, %s image, changed %t: %s %s, %.1f s", p.Name, p.Version, r.Engine, r.Image, r.Changed, r.Outcome, r.Reason, r.Seconds)
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// try does everything with one project that has no result of the same inputs. What
// fails on the way is a result, too; what was interrupted is none.
func (l lab) try(ctx context.Context, p project) {
	source := filepath.Join(l.cache, "src", p.slug()+"@"+p.Version)
	host, ok := recall[hostResult](l.place("host", p), l.inputs("host", p))
	if !ok || l.again {
		err := l.obtain(ctx, p, source)
		if err == nil {
			host, err = l.offline(ctx, p, source)
		}
		if err != nil {
			host.Outcome = "not fetched: " + clip(err.Error())
		}
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = remember(l.place("host", p), l.inputs("host", p), host)
		}
		if err != nil {
			say("%s", err)
		}
		say("%s %s: host: %s, %.1f s", p.Name, p.Version, host.Outcome, host.Seconds)
	}
	if err := l.obtain(ctx, p, source); err != nil {
		return
	}
	for _, engine := range l.engines {
		rows, ok := recall[[]row](l.place(engine, p), l.inputs(engine, p))
		if ok && !l.again {
			say("%s %s: %s: kept from %s", p.Name, p.Version, engine, rows[0].At.Format(time.DateTime))
		} else {
			rows = l.on(ctx, p, engine, source)
			if ctx.Err() != nil {
				return
			}
			if err := remember(l.place(engine, p), l.inputs(engine, p), rows); err != nil {
				say("%s", err)
			}
			for _, r := range rows {
				say("%s", r.line(p))
			}
		}
		if engine == "docker" {
			l.lift(ctx, p, source, rows)
		}
	}
}

// on runs the project on one engine.
func (l lab) on(ctx context.Context, p project, engine, source string) []row {
	home := filepath.Join(l.cache, "homes", engine, p.slug()) // of its own, so that parts of the list can run side by side
	env := []string{"CYBERAGENT_HOME=" + home, "CYBERAGENT_ENGINE=" + engine}
	first := row{Engine: engine, Image: "plain", At: time.Now().UTC(), Load: load(), Digest: l.images()[engine]}
	if err := os.MkdirAll(home, 0o700); err != nil {
		first.Outcome = clip(err.Error())
		return []row{first}
	}
	carrying, err := l.vendored(ctx, p, source)
	if err != nil {
		first.Outcome = clip(err.Error())
		return []row{first}
	}
	l.command(ctx, env, carrying, p, &first)
	own := row{Engine: engine, Image: "project", At: time.Now().UTC(), Load: load()}
	var built struct {
		Image    string   `json:"image_digest"`
		Took     int64    `json:"took_ms"`
		Size     int64    `json:"size_bytes"`
		Warnings []string `json:"warnings"`
	}
	args := []string{"fixture", "build", "--project", source}
	if _, err := l.answer(ctx, env, &built, args...); err != nil {
		own.Outcome = clip(err.Error())
		var f failure
		if errors.As(err, &f) && strings.Contains(f.Message, "no lockfile") {
			own.Outcome = "none is needed: no lockfile"
		}
		return []row{first, own}
	}
	var plain struct {
		Size int64 `json:"size_bytes"`
	}
	if _, err := l.answer(ctx, env, &plain, "fixture", "inspect", l.images()[engine]); err == nil && plain.Size > 0 {
		own.Bytes = built.Size - plain.Size
	}
	own.Build, own.Digest = float64(built.Took)/1000, built.Image
	if len(built.Warnings) > 0 {
		l.log(engine+"-build", p, strings.Join(built.Warnings, "\n"))
	}
	changed := own
	changed.Changed = true
	l.command(ctx, env, source, p, &own)
	l.command(ctx, env, source, p, &changed)
	return []row{first, own, changed}
}

// command runs the project's command once in a Run of its own.
func (l lab) command(ctx context.Context, env []string, source string, p project, r *row) {
	r.At, r.Load = time.Now().UTC(), load()
	err := l.approved(ctx, env, source, p, r)
	var f failure
	switch {
	case errors.As(err, &f):
		r.Outcome, r.Reason, r.Detail = "refused", f.Code, clip(f.Message)
	case err != nil:
		r.Outcome, r.Detail = "error", clip(err.Error())
	}
}

// spoken is the part of the product's answers that is needed here.
type spoken struct {
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

func (l lab) approved(ctx context.Context, env []string, source string, p project, r *row) error {
	config := ""
	if r.Image == "project" {
		config = fmt.Sprintf("image:\n  projects:\n    %q: %s\n", source, r.Digest)
	}
	home := strings.TrimPrefix(env[0], "CYBERAGENT_HOME=")
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config), 0o600); err != nil {
		return err
	}
	var v spoken
	do := func(args ...string) error {
		_, err := l.answer(ctx, env, &v, args...)
		return err
	}
	if err := do("run", "create", "corpus", "--workspace", source); err != nil {
		return err
	}
	id := v.Run
	defer func() { l.clean(context.WithoutCancel(ctx), env, id) }()
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
	if r.Changed {
		if err := touch(v.Path, p.Toolchain); err != nil {
			return err
		}
		if err := do("drydock", "checkpoint", id); err != nil {
			return err
		}
	}
	args := []string{
		id, "--generation", strconv.FormatInt(v.Generation, 10), "--checkpoint", v.Checkpoint, "--toolchain", p.Toolchain,
		"--timeout", "1200", "--purpose", "corpus", "--enable-permission-control", "--enable-workspace-sandbox", "--enable-docker-execution",
	}
	for _, a := range p.Args {
		args = append(args, "--arg="+a)
	}
	if err := do(slices.Concat([]string{"run", "standard-code", "prepare"}, args, []string{"--operation-key", "p"})...); err != nil {
		return err
	}
	if err := do("run", "sandbox", "review", v.Preparation, "--decision", "approve", "--operation-key", "r"); err != nil {
		return err
	}
	return l.executed(ctx, env, p, r, append(args, "--preparation", v.Preparation, "--approval", v.Approval.ID, "--operation-key", "e"))
}

// executed is the last step, and what came of it.
func (l lab) executed(ctx context.Context, env []string, p project, r *row, args []string) error {
	var end struct {
		Status    string `json:"status"`
		Reason    string `json:"reason_code"`
		ExitCode  *int   `json:"exit_code"`
		Resources struct {
			Wall    int64 `json:"wall_ms"`
			Cache   int64 `json:"peak_cache_bytes"`
			Growth  int64 `json:"peak_growth_bytes"`
			Entries int64 `json:"peak_growth_entries"`
		} `json:"resources"`
		Details map[string]string `json:"details"`
	}
	stderr, err := l.answer(ctx, env, &end, slices.Concat([]string{"run", "standard-code", "execute"}, args)...)
	if err != nil {
		return err
	}
	r.Seconds, r.Outcome = float64(end.Resources.Wall)/1000, end.Status
	r.Cache, r.Growth, r.Entries = end.Resources.Cache, end.Resources.Growth, end.Resources.Entries
	if end.Status == "succeeded" {
		return nil
	}
	r.Reason = end.Reason
	if end.ExitCode != nil {
		r.Reason += fmt.Sprintf(" %d", *end.ExitCode)
	}
	var details []string
	for _, name := range slices.Sorted(maps.Keys(end.Details)) {
		details = append(details, name+": "+end.Details[name])
	}
	r.Detail = clip(strings.Join(details, "; "))
	l.log(fmt.Sprintf("%s-%s-changed-%t", r.Engine, r.Image, r.Changed), p, strings.Join(details, "\n")+"\n"+stderr)
	return nil
}

// clean gives the Drydock's place back; what it cannot, the next gc can.
func (l lab) clean(ctx context.Context, env []string, id string) {
	var plan struct {
		Confirm string `json:"digest"`
	}
	if _, err := l.answer(ctx, env, &plan, "drydock", "cleanup", id); err == nil && plan.Confirm != "" {
		_, _ = l.answer(ctx, env, nil, "drydock", "cleanup", id, "--confirm", plan.Confirm)
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

// answer runs the product and decodes what it says, or its error. It returns what
// else was said.
func (l lab) answer(ctx context.Context, env []string, v any, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, l.binary, append([]string{"--output", "json"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if stdout.Len() > 0 {
		if v == nil {
			return stderr.String(), nil
		}
		return stderr.String(), json.Unmarshal(stdout.Bytes(), v)
	}
	var e failure
	if json.Unmarshal([]byte(last(stderr.String())), &e) == nil && e.Code != "" {
		return "", e
	}
	return "", fmt.Errorf("%w: %s", err, clip(stderr.String()))
}

// failure is the product's error.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (f failure) Error() string { return f.Code + ": " + f.Message }
