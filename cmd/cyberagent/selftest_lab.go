package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"cyberagent/app/selftest"
	"cyberagent/app/standardcode"
	"cyberagent/config"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
)

// childVerb is hidden from help and completion.
const childVerb = "crash-child"

// sealFile marks a home that a selftest made for itself.
const sealFile = "selftest.seal"

// lab is the selftest's own place: a base directory with a home, sources and the
// processes that work there.
type lab struct {
	base, home, seal, exe string
	cfg                   config.Config

	mu      sync.Mutex
	sources int
}

var (
	_ selftest.Processes = (*lab)(nil)
	_ selftest.Files     = (*lab)(nil)
)

// newLab makes the place. The home gets its own configuration file with the
// engine and the image of from, so that parent and children need no environment.
func newLab(from config.Config) (l *lab, err error) {
	l = &lab{seal: rand.Text()}
	defer func() {
		if err != nil && l.base != "" {
			_ = os.RemoveAll(l.base)
		}
	}()
	if l.exe, err = os.Executable(); err != nil {
		return nil, fault.Wrap(fault.Unsupported, err, "this program does not know its own file")
	}
	if l.base, err = os.MkdirTemp("", "cyberagent-selftest-"); err == nil {
		l.base, err = filepath.EvalSymlinks(l.base)
	}
	if err != nil {
		return l, cannot(err, "make a temporary directory")
	}
	l.home = filepath.Join(l.base, "home")
	if err = os.Mkdir(l.home, 0o700); err != nil {
		return l, cannot(err, "make a temporary home")
	}
	for name, content := range map[string]string{sealFile: l.seal, "config.yaml": settings(from)} {
		if err = os.WriteFile(filepath.Join(l.home, name), []byte(content), 0o600); err != nil {
			return l, cannot(err, "write to the temporary home")
		}
	}
	none := func(string) (string, bool) { return "", false }
	l.cfg, err = config.Load(config.Input{Lookup: none, Flags: map[string]string{"home": l.home}})
	return l, err
}

func cannot(err error, what string) error {
	return fault.Wrap(fault.Internal, err, "cannot %s", what).Hint("set TMPDIR to a directory on a local disk with room")
}

// settings is the configuration as a file, without where the operator's ledger is.
func settings(c config.Config) string {
	var b strings.Builder
	group := ""
	for _, v := range c.Values() {
		if v.Value == "" || strings.HasPrefix(v.Key, "ledger.") {
			continue
		}
		name, indent := v.Key, ""
		if g, key, nested := strings.Cut(v.Key, "."); nested {
			if g != group {
				_, _ = fmt.Fprintf(&b, "%s:\n", g)
			}
			group, name, indent = g, key, "  "
		}
		_, _ = fmt.Fprintf(&b, "%s%s: %s\n", indent, name, strconv.Quote(v.Value))
	}
	return b.String()
}

func checkSeal(home, seal string) error {
	b, err := os.ReadFile(filepath.Join(home, sealFile))
	if err != nil || seal == "" || string(b) != seal {
		return fault.New(fault.InvalidArgument, "this is no home of a selftest").At("order").
			Hint("run `cyberagent selftest crash`; it makes its own")
	}
	return nil
}

// childPatience bounds one process. Nothing here is about speed.
const childPatience = 4 * time.Minute

// Run implements selftest.Processes.
func (l *lab) Run(ctx context.Context, o selftest.Order) (selftest.Death, error) {
	return l.process(ctx, o, 0)
}

// Kill implements selftest.Processes.
func (l *lab) Kill(ctx context.Context, o selftest.Order, after time.Duration) (selftest.Death, error) {
	return l.process(ctx, o, after)
}

// process runs one until its end, or until it is killed; 0 is never.
func (l *lab) process(ctx context.Context, o selftest.Order, kill time.Duration) (selftest.Death, error) {
	ctx, cancel := context.WithTimeout(ctx, childPatience)
	defer cancel()
	o.Seal = l.seal
	args := []string{"--home", l.home, "--output", "json"}
	if o.Act == standardcode.Recoverer && o.Point == "" {
		args = append(args, "run", "standard-code", "recover") // as an operator does
		if o.Run == "" {
			args = append(args, "--all")
		} else {
			args = append(args, string(o.Run))
		}
		if o.Admission != "" {
			args = append(args, "--admission", string(o.Admission))
		}
	} else {
		b, err := json.Marshal(o)
		if err != nil {
			return selftest.Death{}, err
		}
		args = append(args, "selftest", childVerb, "--order", string(b))
	}
	cmd := exec.CommandContext(ctx, l.exe, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.base, "TMPDIR=" + l.base}
	cmd.Dir, cmd.WaitDelay = l.base, 5*time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return selftest.Death{}, fault.Wrap(fault.Internal, err, "a process could not be run")
	}
	if kill > 0 {
		timer := time.AfterFunc(kill, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return selftest.Death{}, fault.Wrap(fault.Internal, ctx.Err(), "a process did not end: %v", args)
	case err != nil && !errors.As(err, &exit):
		return selftest.Death{}, fault.Wrap(fault.Internal, err, "a process could not be run")
	}
	d := selftest.Death{Status: cmd.ProcessState.ExitCode(), Output: out.String()}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
		d.Killed = ws.Signaled() && ws.Signal() == syscall.SIGKILL
	}
	const most = 4000
	d.Output = d.Output[max(0, len(d.Output)-most):]
	return d, nil
}

// Source implements selftest.Files.
func (l *lab) Source(ctx context.Context) (string, error) {
	l.mu.Lock()
	l.sources++
	dir := filepath.Join(l.base, "sources", strconv.Itoa(l.sources))
	l.mu.Unlock()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", cannot(err, "make a source")
	}
	if err := os.WriteFile(filepath.Join(dir, "README"), []byte("a source of the selftest\n"), 0o600); err != nil {
		return "", cannot(err, "make a source")
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "-A"},
		{"-c", "user.name=selftest", "-c", "user.email=selftest@localhost", "commit", "-q", "-m", "a source"},
	} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.base, "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull}
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", cannot(err, "make a source with git: "+string(out))
		}
	}
	return dir, nil
}

// Lines implements selftest.Files.
func (l *lab) Lines(root, name string) ([]string, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	switch info, err := r.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", name)
	}
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const most = 4 << 20
	b, err := io.ReadAll(io.LimitReader(f, most))
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"), err
}

// Listing implements selftest.Files.
func (l *lab) Listing() ([]string, error) {
	var names []string
	err := filepath.WalkDir(l.home, func(p string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone meanwhile
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(l.home, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if parts := strings.Split(rel, "/"); len(parts) == 3 && parts[0] == "drydocks" && parts[2] == "tree" {
			return fs.SkipDir
		}
		if e.IsDir() {
			rel += "/"
		}
		names = append(names, rel)
		return nil
	})
	return names, err
}

func (l *lab) remove() error {
	if err := os.RemoveAll(l.base); err != nil {
		return fmt.Errorf("%s could not be removed: %w", l.base, err)
	}
	return nil
}

func (l *lab) gone() bool {
	_, err := os.Lstat(l.base)
	return errors.Is(err, fs.ErrNotExist)
}

// decoys are the engine's and files of the home that the product does not know.
type decoys struct {
	lab        *lab
	containers selftest.Decoys
	files      map[string]fs.FileInfo
}

const decoyContent = "not the product's; leave it alone\n"

// Plant implements selftest.Decoys.
func (d *decoys) Plant(ctx context.Context, owned id.Installation) error {
	d.files = map[string]fs.FileInfo{}
	for _, name := range []string{
		"notes.txt", "owners/notes.txt", "drydocks/notes.txt", "drydocks/mine/notes.txt", "locks/notes.txt", "scratch/notes.txt",
	} {
		p := filepath.Join(d.lab.home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			return cannot(err, "make a decoy")
		}
		if err := os.WriteFile(p, []byte(decoyContent), 0o600); err != nil {
			return cannot(err, "make a decoy")
		}
		info, err := os.Lstat(p)
		if err != nil {
			return cannot(err, "make a decoy")
		}
		d.files[p] = info
	}
	return d.containers.Plant(ctx, owned)
}

// Touched implements selftest.Decoys.
func (d *decoys) Touched(ctx context.Context) ([]string, error) {
	touched, err := d.containers.Touched(ctx)
	for p, before := range d.files {
		now, err := os.Lstat(p)
		if err != nil {
			touched = append(touched, err.Error())
			continue
		}
		b, err := os.ReadFile(p)
		if err != nil || !os.SameFile(before, now) || !now.ModTime().Equal(before.ModTime()) || now.Mode() != before.Mode() || string(b) != decoyContent {
			touched = append(touched, p+" changed")
		}
	}
	return touched, err
}

// Remove implements selftest.Decoys. The files go with the home.
func (d *decoys) Remove(ctx context.Context) (int, error) { return d.containers.Remove(ctx) }
