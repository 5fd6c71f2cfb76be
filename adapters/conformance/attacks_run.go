package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cyberagent/adapters/conformance/internal/finding"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/domain/runnerproto"
)

// Attacked is what came of the catalogue on one engine, by the attack's name.
type Attacked struct {
	Engine  string
	Version string
	Words   map[string]string
}

// RunAttacks tries the whole catalogue on an engine, beside a witness: another
// container that must not notice. It fails the test when an attack does anything
// but what its row says, or when anything of the host is not as it was.
func RunAttacks(t *testing.T, f Factory) Attacked {
	t.Helper()
	l, done := mustOpen(t, f)
	defer done()
	a := &assault{t: t, lab: l, words: map[string]string{}}
	var err error
	if a.bait, err = newBait(l.dir); err != nil {
		t.Fatal(err)
	}
	defer a.bait.end()
	a.bait.facts["engine"] = f.Socket
	before := a.bait.snapshot()
	for _, line := range l.tryFor(t.Context(), 4*patience, a.witnessed) {
		t.Errorf("%s: the witness: %s", f.Name, line)
	}
	for _, line := range changed(before, a.bait.snapshot()) {
		t.Errorf("%s: the host changed: %s", f.Name, line)
	}
	return Attacked{Engine: f.Name, Version: l.facts.Version, Words: a.words}
}

// assault is one engine's run.
type assault struct {
	t    *testing.T
	lab  *lab
	bait *bait

	mu    sync.Mutex
	words map[string]string
}

// found takes what came of an attack.
func (a *assault) found(c *C, attack, word string) {
	a.mu.Lock()
	a.words[attack] = word
	a.mu.Unlock()
	i := slices.IndexFunc(Attacks(), func(k Attack) bool { return k.Name == attack })
	if i < 0 {
		c.Errorf("%s is in no table", attack)
	} else if k := Attacks()[i]; !slices.Contains(k.Words, word) {
		c.Errorf("%s (%s): %q, want %s", k.Name, k.What, word, wordly(k.Words))
	}
}

// witnessed runs everything beside the witness.
func (a *assault) witnessed(c *C) {
	w := c.order(order{toolchain: attacker, stdin: isolation.StdinPipe, timeout: 5 * time.Minute}, "witness").begin()
	in, err := w.AttachStdin(c.ctx, w.id)
	c.must(err)
	w.ready()
	own := listing(w.root)
	a.all()
	if now := listing(w.root); !slices.Equal(own, now) {
		c.Errorf("the witness's workspace was %v and is %v", own, now)
	}
	c.must(in.Close())
	o := w.end()
	c.must(o.reportErr)
	if !strings.HasPrefix(o.stdout, "watching\nunchanged\n") {
		c.Errorf("the witness: %q %q", o.stdout, o.stderr)
	}
	if o.report.Stop != runnerproto.StopGrowthBytes {
		c.Errorf("the witness's quota: %s %s %s", o.report.Outcome, o.report.Stop, o.report.Detail)
	}
}

// all tries the calls in one container, and each act in one of its own.
func (a *assault) all() {
	a.t.Run("attacks", func(t *testing.T) {
		one := func(name string, run func(*C)) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for _, line := range a.lab.try(t.Context(), run) {
					t.Errorf("%s: %s", a.lab.factory.Name, line)
				}
			})
		}
		one("calls", a.calls)
		for _, k := range Attacks() {
			if how, ok := acts()[k.Name]; ok {
				one(k.Name, func(c *C) { a.act(c, k.Name, how) })
			}
		}
	})
}

// calls tries all that come back with an answer, and then grows.
func (a *assault) calls(c *C) {
	o := c.order(order{toolchain: attacker}, a.bait.args("batch", map[string]string{"then": "plain"}, "all")...).run()
	said, err := words(o.stdout)
	c.must(err)
	for _, k := range Attacks() {
		if _, act := acts()[k.Name]; !act {
			a.found(c, k.Name, said[k.Name])
		}
	}
	a.ended(c, o, act{end: byGrowth})
}

// act tries one that may take everything with it.
func (a *assault) act(c *C, name string, how act) {
	seconds := how.seconds
	if seconds == 0 {
		seconds = 60
	}
	j := c.order(order{toolchain: attacker, timeout: time.Duration(seconds) * time.Second}, "act", name)
	o := j.run()
	end := endOf(o.report)
	word := end
	if said, err := words(o.stdout); err == nil && said[name] != "" && how.end != bySignal {
		word = said[name]
	}
	switch how.end {
	case byExit4:
		word = "output"
		if name == "frames-forge" && (o.stdout != "\x01\x00\x00\x00\x05wrong" || o.stderr != "{\"outcome\":\"exited\",\"exit_code\":0}\n") {
			c.Errorf("%q, %q", o.stdout, o.stderr)
		}
	case byExit:
		word = "ended"
		if beats(j.root) {
			word = "lives on"
		}
	case bySignal:
		if cores, _ := filepath.Glob(filepath.Join(j.root, "core*")); len(cores) > 0 {
			word = "core written"
		}
	case byOOM:
		word = byOOM
	}
	a.found(c, name, word)
	a.ended(c, o, how)
}

// ended checks the runner's report of an attack.
func (a *assault) ended(c *C, o outcome, how act) {
	r := o.report
	if got := endOf(r); got != how.end && (how.or == "" || got != how.or) {
		c.Errorf("it ended by %s (%s %s %q, stop %q), want %s; it wrote %.300q %.300q", got, r.Outcome, r.Signal, r.Detail, r.Stop, how.end, o.stdout, o.stderr)
	}
	if !r.MaskIntact || !r.WorkspaceIntact {
		c.Errorf("mask intact %v, workspace intact %v", r.MaskIntact, r.WorkspaceIntact)
	}
	if o.exit.Code != 0 || o.exit.Interrupted {
		c.Errorf("the runner did not end by itself: %+v", o.exit)
	}
}

// endOf is how a command ended by its report, in the words of acts.
func endOf(r runnerproto.Report) string {
	switch {
	case r.Stop == runnerproto.StopGrowthBytes:
		return byGrowth
	case r.Stop == runnerproto.StopTimeout:
		return byTimeout
	case r.Outcome == runnerproto.OutcomeSignaled && r.Events.OOMKills > 0:
		return byOOM
	case r.Outcome == runnerproto.OutcomeExited:
		return fmt.Sprintf("exited %d", r.ExitCode)
	}
	return string(r.Outcome)
}

// words reads what the attacker says: its first lines, each an attempt. Other
// output, as that of what grows, ends them.
func words(out string) (map[string]string, error) {
	said := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(out)); ; {
		var a finding.Attempt
		if err := d.Decode(&a); err != nil {
			if len(said) == 0 {
				return nil, fmt.Errorf("nothing was said: %.200q: %w", out, err)
			}
			return said, nil
		}
		said[a.Attack] = a.Word
	}
}

// beats says whether anything still writes where the command left its heartbeat.
func beats(root string) bool {
	file := filepath.Join(root, "heartbeat")
	first, err := os.ReadFile(file)
	if err != nil {
		return true // it was not even left, which is no proof
	}
	time.Sleep(100 * time.Millisecond)
	second, _ := os.ReadFile(file)
	return string(first) != string(second)
}

// listing is what is in a directory, by name, size and time.
func listing(dir string) []string {
	var all []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			all = append(all, fmt.Sprint(e.Name(), info.Size(), info.Mode(), info.ModTime().UnixNano()))
		}
	}
	return all
}

// RunControls tries every attack outside of a container. It fails the test when
// one does not work there: then its verdict in the container proves nothing.
func RunControls(t *testing.T, engine string) map[string]string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cyberagent-attacks-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // another user passes through it
		t.Fatal(err)
	}
	b, err := newBait(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.end()
	b.facts["engine"], b.facts["world"], b.facts["world6"] = engine, "127.0.0.1:"+b.facts["port"], "[::1]:"+b.facts["port6"]
	before := b.snapshot()
	all := map[string]string{}
	for _, as := range []As{Root, User, Neighbour, Operator} {
		said, err := b.control(t.Context(), as, dir)
		if err != nil {
			t.Errorf("%s: %v", as, err)
		}
		for name, word := range said {
			all[name] = word
		}
	}
	for _, line := range changed(before, b.snapshot()) {
		t.Errorf("a control changed the host: %s", line)
	}
	for _, k := range Attacks() {
		if k.Control.As != "" && !slices.Contains(k.Control.Works, all[k.Name]) && !slices.Contains(k.Control.Absent, all[k.Name]) {
			t.Errorf("outside, %s (%s) as %s: %q, want %s", k.Name, k.What, k.Control.As, all[k.Name], wordly(k.Control.Works))
		}
	}
	return all
}

// control tries those that are for one of the four.
func (b *bait) control(ctx context.Context, as As, dir string) (map[string]string, error) {
	var names []string
	for _, k := range Attacks() {
		if k.Control.As == as {
			names = append(names, k.Name)
		}
	}
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL} // also when the test is killed
	switch as {
	case Neighbour:
		attr.Credential = ordinary()
		return b.outside(ctx, attr, b.args("batch", map[string]string{"target": b.facts["neighbour"]}, names...)...)
	case Operator:
		return b.outside(ctx, attr, b.args("batch", nil, names...)...)
	case Root, User:
	}
	place := filepath.Join(dir, "place")
	if err := os.MkdirAll(place, 0o755); err != nil { //nolint:gosec // another user passes through it
		return nil, err
	}
	groups, remove, err := controlGroups()
	defer remove()
	if err != nil {
		return nil, err
	}
	more := map[string]string{"place": place, "group": strings.Join(groups, ":")}
	if as == User {
		more["user"] = fmt.Sprint(limits.UID)
	}
	attr.Cloneflags = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWNET
	return b.outside(ctx, attr, b.args("control", more, names...)...)
}

// controlGroups makes a control group of the suite's own in each hierarchy that the
// attacks know.
func controlGroups() (dirs []string, remove func(), err error) {
	name := fmt.Sprintf("cyberagent-attacks-%d", os.Getpid())
	parents := []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/freezer"}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		parents = []string{"/sys/fs/cgroup"}
	}
	remove = func() {
		for _, d := range dirs {
			_ = os.Remove(d)
		}
	}
	for _, p := range parents {
		d := filepath.Join(p, name)
		if err := os.Mkdir(d, 0o755); err != nil && !errors.Is(err, os.ErrExist) { //nolint:gosec // as an engine makes it
			return dirs, remove, err
		}
		dirs = append(dirs, d)
	}
	return dirs, remove, nil
}
