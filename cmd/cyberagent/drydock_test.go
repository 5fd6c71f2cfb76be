package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cyberagent/adapters/host"
)

// crashEnv makes this test binary the product with one fail point: its value is
// the moment, its arguments are the command line.
const crashEnv = "CYBERAGENT_TEST_CRASH_AT"

func TestMain(m *testing.M) {
	moment := os.Getenv(crashEnv)
	if moment == "" {
		os.Exit(m.Run())
	}
	p := process{out: os.Stdout, err: os.Stderr, lookup: os.LookupEnv, failAt: host.NewFailPoint(moment, 1, 0)}
	os.Exit(invoke(context.Background(), append([]string{"cyberagent"}, os.Args[1:]...), p))
}

// yard is a home of the product and one source repository.
type yard struct {
	t            *testing.T
	home, source string
	run          string
}

func mustYard(t *testing.T) *yard {
	t.Helper()
	y := &yard{t: t, home: filepath.Join(t.TempDir(), "home"), source: filepath.Join(t.TempDir(), "source")}
	y.write(y.source, map[string]string{"README.md": "one\n", "a/b.txt": "b\n"})
	y.git(y.source, "init", "-q")
	y.git(y.source, "add", "-A")
	y.git(y.source, "commit", "-q", "-m", "first")
	y.run = y.must(0, "run", "create", "a task", "--workspace", y.source)["run_id"].(string)
	return y
}

func (y *yard) git(dir string, args ...string) string {
	y.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "safe.directory=*"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		y.t.Fatalf("git %v: %v %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (y *yard) write(dir string, files map[string]string) {
	y.t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			y.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			y.t.Fatal(err)
		}
	}
}

func (y *yard) args(args []string) []string {
	return append([]string{"--home", y.home, "--output", "json"}, args...)
}

// must calls the product and decodes its one answer: on stdout when it is done,
// on stderr otherwise.
func (y *yard) must(code int, args ...string) map[string]any {
	y.t.Helper()
	var out, errs bytes.Buffer
	p := process{out: &out, err: &errs, lookup: func(string) (string, bool) { return "", false }}
	got := invoke(y.t.Context(), append([]string{"cyberagent"}, y.args(args)...), p)
	text := out.Bytes()
	if code != 0 {
		text = errs.Bytes()
	}
	var v map[string]any
	err := json.Unmarshal(text, &v)
	if got != code || err != nil || v["protocol_version"] == "" || code == 0 && errs.Len() > 0 || code != 0 && out.Len() > 0 {
		y.t.Fatalf("%v: exit %d, want %d (%v)\n%s\n%s", args, got, code, err, out.String(), errs.String())
	}
	return v
}

// crash calls the product in a process of its own that dies at a moment.
func (y *yard) crash(moment string, args ...string) {
	y.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		y.t.Fatal(err)
	}
	cmd := exec.Command(exe, y.args(args)...)
	cmd.Env = append(os.Environ(), crashEnv+"="+moment, "GOCOVERDIR="+y.t.TempDir())
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != -1 {
		y.t.Fatalf("%v did not die at %s: %v\n%s", args, moment, cmd.ProcessState, out)
	}
}

func (y *yard) create() string {
	y.t.Helper()
	trust := y.must(0, "drydock", "create", y.run)["trust_digest"].(string)
	return y.must(0, "drydock", "create", y.run, "--trust", trust)["path"].(string)
}

func (y *yard) status() map[string]any {
	y.t.Helper()
	return y.must(0, "drydock", "status", y.run)
}

// files reads a worktree, but for its control file.
func (y *yard) files(root string) map[string]string {
	y.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(p string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || p == filepath.Join(root, ".git") {
			return err
		}
		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel(root, p)
		out[rel] = string(b)
		return err
	})
	if err != nil {
		y.t.Fatal(err)
	}
	return out
}

func (y *yard) checkFiles(root string, want map[string]string) {
	y.t.Helper()
	if got := y.files(root); !maps.Equal(got, want) {
		y.t.Errorf("the files are %q, want %q", got, want)
	}
}

func (y *yard) log(run string) []map[string]any {
	y.t.Helper()
	var out []map[string]any
	for _, c := range y.must(0, "drydock", "log", run)["checkpoints"].([]any) {
		out = append(out, c.(map[string]any))
	}
	return out
}

func (y *yard) origins(run string) string {
	var out []string
	for _, c := range y.log(run) {
		out = append(out, c["origin"].(string))
	}
	return strings.Join(out, " ")
}

// digest is what the preview of a verb asks to confirm.
func (y *yard) digest(args ...string) string {
	y.t.Helper()
	return y.must(0, args...)["digest"].(string)
}

var (
	firstFiles  = map[string]string{"README.md": "one\n", "a/b.txt": "b\n"}
	secondFiles = map[string]string{"README.md": "two\n", "a/b.txt": "b\n", "new": "n"}
)

// second changes the files to secondFiles and records them.
func (y *yard) second(root string) {
	y.t.Helper()
	y.write(root, map[string]string{"README.md": "two\n", "new": "n"})
	y.must(0, "drydock", "checkpoint", y.run)
}

func TestDrydock_TheWholeLife(t *testing.T) {
	t.Parallel()
	y := mustYard(t)
	root := y.create()
	y.second(root)
	y.write(root, map[string]string{"loose": "not recorded"})

	// Undo: a preview, another digest is refused, the same key answers again.
	plan := y.must(0, "drydock", "undo", y.run)
	if plan["unrecorded"].(float64) != 1 || len(plan["changes"].([]any)) != 3 {
		t.Errorf("the preview is %v", plan)
	}
	digest := plan["digest"].(string)
	y.must(4, "drydock", "undo", y.run, "--confirm", strings.Repeat("0", 64))
	if s := y.status(); s["status"] != "ready" || s["pending"] != "" {
		t.Errorf("after a refusal: %v", s)
	}
	done := y.must(0, "drydock", "undo", y.run, "--confirm", digest, "--operation-key", "undo-1")
	again := y.must(0, "drydock", "undo", y.run, "--confirm", digest, "--operation-key", "undo-1")
	if done["replayed"] != false || again["replayed"] != true || done["saved_id"] != again["saved_id"] || done["saved_id"] == "" {
		t.Errorf("%v\n%v", done, again)
	}
	y.must(4, "drydock", "undo", y.run, "--confirm", "other", "--operation-key", "undo-1")
	y.checkFiles(root, firstFiles)
	if got := y.origins(y.run); got != "create operator operator rewind" {
		t.Errorf("the log has %s", got)
	}

	// Rewind to what was never recorded by hand.
	saved := done["saved_id"].(string)
	to := []string{"drydock", "rewind", y.run, "--checkpoint", saved}
	y.must(0, append(to, "--confirm", y.digest(to...))...)
	want := maps.Clone(secondFiles)
	want["loose"] = "not recorded"
	y.checkFiles(root, want)
	y.must(2, "drydock", "rewind", y.run)
	y.must(2, "drydock", "rewind", y.run, "--checkpoint", "ckpt_"+strings.Repeat("0", 26))

	// Deliver: refused with unrecorded changes; then proven, and once.
	y.write(root, map[string]string{"more": "m"})
	if e := y.must(3, "drydock", "deliver", y.run); e["code"] != "drydock_drifted" {
		t.Errorf("%v", e)
	}
	y.must(0, "drydock", "checkpoint", y.run)
	for _, inside := range []string{filepath.Join(root, "fix.patch"), filepath.Join(y.home, "drydocks", "fix.patch")} {
		if e := y.must(2, "drydock", "deliver", y.run, "--out", inside); e["field"] != "out" {
			t.Errorf("a patch was put into a Drydock: %v", e)
		}
	}
	out := filepath.Join(t.TempDir(), "fix.patch")
	d := y.must(0, "drydock", "deliver", y.run, "--out", out, "--operation-key", "deliver-1")
	if e := y.must(2, "drydock", "deliver", y.run, "--out", out, "--operation-key", "deliver-2"); e["field"] != "out" {
		t.Errorf("a file was replaced: %v", e)
	}
	if again := y.must(0, "drydock", "deliver", y.run, "--out", out, "--operation-key", "deliver-1"); again["replayed"] != true {
		t.Errorf("the same call again: %v", again)
	}
	if s := y.status(); s["status"] != "delivered" || s["checkpoint_bytes"].(float64) <= 0 {
		t.Errorf("after the delivery: %v", s)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	y.git(y.source, "clone", "-q", y.source, clone)
	y.git(clone, "apply", out)
	y.git(clone, "add", "-A")
	if tree := y.git(clone, "write-tree"); tree != d["tree"] {
		t.Errorf("the patch gives %s, the Checkpoint has %s", tree, d["tree"])
	}
	if got := y.git(y.source, "status", "--porcelain"); got != "" {
		t.Errorf("the source was touched: %s", got)
	}

	// Fork: nothing is inherited.
	y.must(0, "run", "profile", y.run, "docker")
	y.must(0, "run", "permission", y.run, "workspace_access")
	f := y.must(0, "drydock", "fork", y.run, "--operation-key", "fork-1")
	if f["profile"] != "none" || f["permission"] != "read_only" || f["run_id"] == y.run {
		t.Errorf("the fork is %v", f)
	}
	if again := y.must(0, "drydock", "fork", y.run, "--operation-key", "fork-1"); again["run_id"] != f["run_id"] || again["replayed"] != true {
		t.Errorf("a second fork: %v", again)
	}
	child := f["run_id"].(string)
	y.checkFiles(f["drydock"].(map[string]any)["path"].(string), y.files(root))

	// Clean-up: preview, refusal, the deed; the patch and the fork stay.
	y.must(4, "drydock", "cleanup", y.run, "--confirm", "x")
	confirm := y.digest("drydock", "cleanup", y.run)
	if c := y.must(0, "drydock", "cleanup", y.run, "--confirm", confirm, "--operation-key", "clean-1"); c["status"] != "cleaned" {
		t.Errorf("%v", c)
	}
	if c := y.must(0, "drydock", "cleanup", y.run, "--confirm", confirm, "--operation-key", "clean-1"); c["replayed"] != true {
		t.Errorf("again: %v", c)
	}
	if _, err := os.Stat(d["file"].(string)); err != nil {
		t.Error(err)
	}
	y.cleaned()
	y.must(0, "drydock", "status", child)

	// GC: the closed Run's goes, and nothing else.
	if g := y.must(0, "drydock", "gc"); len(g["remove"].([]any)) != 0 {
		t.Errorf("gc would remove %v", g["remove"])
	}
	y.must(0, "run", "close", child)
	g := y.must(0, "drydock", "gc")
	if len(g["remove"].([]any)) != 1 || g["dry_run"] != true {
		t.Fatalf("gc would remove %v, keep %v", g["remove"], g["kept"])
	}
	y.must(4, "drydock", "gc", "--confirm", "x")
	y.must(0, "drydock", "gc", "--confirm", g["digest"].(string), "--operation-key", "gc-1")
	if g := y.must(0, "drydock", "gc", "--confirm", g["digest"].(string), "--operation-key", "gc-1"); g["replayed"] != true {
		t.Errorf("gc again: %v", g)
	}
	left, err := os.ReadDir(filepath.Join(y.home, "drydocks"))
	if refs := y.git(y.source, "for-each-ref", "--format=%(refname)"); err != nil || len(left) != 0 || strings.Contains(refs, "cyberagent") {
		t.Errorf("left: %v %v %s", left, err, refs)
	}
	y.create() // the Run may have another one
}

// What was recorded goes with its Drydock: the previews say of what there is no patch.
func TestDrydock_APreviewOfItsEndSaysWhatNobodyHas(t *testing.T) {
	t.Parallel()
	y := mustYard(t)
	root := y.create()
	says := func(undelivered any, unrecorded float64) {
		t.Helper()
		v := y.must(0, "drydock", "cleanup", y.run)
		if got := v["undelivered_checkpoint"]; got != undelivered || v["unrecorded_total"] != unrecorded {
			t.Errorf("undelivered %q, unrecorded %v; want %q, %v", got, v["unrecorded_total"], undelivered, unrecorded)
		}
	}
	undo := func() { y.must(0, "drydock", "undo", y.run, "--confirm", y.digest("drydock", "undo", y.run)) }
	current := func() any { return y.status()["checkpoint_id"] }
	says("", 0)
	y.second(root)
	says(current(), 0)
	y.write(root, map[string]string{"loose": "1", "looser": "2"})
	says(current(), 2)
	y.must(0, "drydock", "checkpoint", y.run)
	y.must(0, "drydock", "deliver", y.run)
	says("", 0)
	y.write(root, map[string]string{"loose": "3"})
	y.must(0, "drydock", "checkpoint", y.run)
	newest := current()
	says(newest, 0)
	undo()
	says(newest, 0) // what was delivered is current again, but this is in no patch
	log := y.must(0, "drydock", "log", y.run)["checkpoints"].([]any)
	base := log[0].(map[string]any)["checkpoint_id"].(string)
	of := y.must(0, "drydock", "fork", y.run, "--checkpoint", base)["run_id"].(string)
	if v := y.must(0, "drydock", "cleanup", of); v["undelivered_checkpoint"] != "" {
		t.Errorf("a fork of the base has %v, which the source has", v["undelivered_checkpoint"])
	}
	fork := y.must(0, "drydock", "fork", y.run)["run_id"].(string)
	if v := y.must(0, "drydock", "cleanup", fork); v["undelivered_checkpoint"] == "" {
		t.Error("a fork's inheritance is taken for what the source has")
	}
	y.must(0, "run", "close", fork)
	g := y.must(0, "drydock", "gc")["remove"].([]any)
	if len(g) != 1 || g[0].(map[string]any)["undelivered_checkpoint"] == "" {
		t.Errorf("gc says nothing of it: %v", g)
	}
}

// A digest stands for all that would be lost, not for the first of it.
func TestDrydock_ACleanUpRemovesNothingThatWasNotShown(t *testing.T) {
	t.Parallel()
	y := mustYard(t)
	root := y.create()
	y.write(root, map[string]string{"aaa": "1"})
	confirm := y.digest("drydock", "cleanup", y.run)
	y.write(root, map[string]string{"zzz": "hours of work"})
	if e := y.must(4, "drydock", "cleanup", y.run, "--confirm", confirm); e["code"] != "trust_digest_mismatch" {
		t.Errorf("what came after the preview: %v", e)
	}
	y.must(0, "drydock", "cleanup", y.run, "--confirm", y.digest("drydock", "cleanup", y.run))
}

// What no Checkpoint can have is unrecorded for good: gc keeps it, a clean-up names it.
func TestDrydock_ANestedRepositoryIsNotRemovedUnseen(t *testing.T) {
	t.Parallel()
	y := mustYard(t)
	root := y.create()
	inner := filepath.Join(root, "inner")
	y.git(root, "init", "-q", inner)
	y.write(root, map[string]string{"inner/w.txt": "precious"})
	y.must(0, "drydock", "checkpoint", y.run)
	v := y.must(0, "drydock", "cleanup", y.run)
	if x := v["excluded"].([]any); len(x) != 1 || x[0].(map[string]any)["path"] != "inner/.git" {
		t.Errorf("a clean-up would remove %v unseen", v["excluded"])
	}
	y.must(0, "run", "close", y.run)
	g := y.must(0, "drydock", "gc")
	if kept := g["kept"].([]any); len(g["remove"].([]any)) != 0 || len(kept) != 1 || !strings.Contains(kept[0].(map[string]any)["why"].(string), "inner/.git") {
		t.Errorf("gc: %v", g)
	}
}

func TestDrydock_GCKeepsAndNamesWhatIsInDoubt(t *testing.T) {
	t.Parallel()
	y := mustYard(t)
	root := y.create()
	y.must(0, "run", "close", y.run)
	y.write(root, map[string]string{"loose": "x"})
	g := y.must(0, "drydock", "gc")
	if len(g["remove"].([]any)) != 0 || len(g["kept"].([]any)) != 1 || !strings.Contains(g["kept"].([]any)[0].(map[string]any)["why"].(string), "loose") {
		t.Errorf("gc: %v", g)
	}
	stray := filepath.Join(y.home, "drydocks", "something")
	if err := os.Mkdir(stray, 0o700); err != nil {
		t.Fatal(err)
	}
	if r := y.must(0, "drydock", "reconcile"); len(r["strays"].([]any)) != 1 {
		t.Errorf("reconcile: %v", r)
	}
	if err := os.Rename(root, root+".away"); err != nil {
		t.Fatal(err)
	}
	y.write(root, map[string]string{"precious": "x"})
	c := y.must(0, "drydock", "cleanup", y.run)
	if c["untouched"] != true {
		t.Errorf("the preview is %v", c)
	}
	if e := y.must(8, "drydock", "cleanup", y.run, "--confirm", c["digest"].(string)); e["code"] != "recovery_required" {
		t.Errorf("%v", e)
	}
	y.checkFiles(root, map[string]string{"precious": "x"})
	if s := y.status(); s["cleanup_pending"] != false || s["intact"] != false {
		t.Errorf("the status is %v", s)
	}
}

// A process that dies at any moment of a verb leaves what a reconcile names or
// finishes, and what the same call finishes: no Checkpoint is lost, nothing that
// is half done is said to be whole.
func TestDrydock_AKillAtEveryMomentOfEveryVerb(t *testing.T) {
	t.Parallel()
	type stage struct {
		moment string
		// during is the Drydock's state after the death; finished says that a
		// reconcile completes it.
		during   string
		pending  string
		finished bool
	}
	verbs := map[string]struct {
		stages []stage
		args   func(y *yard) []string
		check  func(t *testing.T, y *yard, root string, v map[string]any)
	}{
		"create": {
			stages: []stage{{"create.begun", "ready", "", true}, {"create.created", "ready", "", true}},
			args: func(y *yard) []string {
				return []string{"drydock", "create", y.run, "--trust", y.must(0, "drydock", "create", y.run)["trust_digest"].(string)}
			},
			check: func(_ *testing.T, y *yard, _ string, v map[string]any) { y.checkFiles(v["path"].(string), firstFiles) },
		},
		"checkpoint": {
			stages: []stage{{"checkpoint.captured", "ready", "", false}},
			args:   func(y *yard) []string { return []string{"drydock", "checkpoint", y.run} },
			check: func(t *testing.T, y *yard, root string, _ map[string]any) {
				if got := y.origins(y.run); got != "create operator operator" {
					t.Errorf("the log has %s", got)
				}
			},
		},
		"undo": {
			stages: []stage{
				{"rewind.begun", "recovery_required", "rewind", false}, {"rewind.saved", "recovery_required", "rewind", false},
				{"rewind.restored", "recovery_required", "rewind", false},
			},
			args: func(y *yard) []string {
				return []string{"drydock", "undo", y.run, "--confirm", y.digest("drydock", "undo", y.run)}
			},
			check: func(t *testing.T, y *yard, root string, _ map[string]any) {
				y.checkFiles(root, firstFiles)
				if got := y.origins(y.run); got != "create operator operator rewind" {
					t.Errorf("the log has %s", got)
				}
			},
		},
		"deliver": {
			stages: []stage{{"deliver.published", "ready", "", false}},
			args: func(y *yard) []string {
				y.must(0, "drydock", "checkpoint", y.run)
				return []string{"drydock", "deliver", y.run}
			},
			check: func(t *testing.T, y *yard, _ string, v map[string]any) {
				if s := y.status(); s["status"] != "delivered" || v["sha256"] == "" {
					t.Errorf("%v %v", s, v)
				}
			},
		},
		"fork": {
			stages: []stage{{"fork.begun", "ready", "", true}, {"fork.created", "ready", "", true}, {"fork.adopted", "ready", "", true}},
			args:   func(y *yard) []string { return []string{"drydock", "fork", y.run} },
			check: func(t *testing.T, y *yard, _ string, v map[string]any) {
				y.checkFiles(v["drydock"].(map[string]any)["path"].(string), secondFiles)
				if got := y.origins(v["run_id"].(string)); got != "create create" {
					t.Errorf("the fork's log has %s", got)
				}
				if n := len(y.must(0, "run", "list")["runs"].([]any)); n != 2 {
					t.Errorf("there are %d Runs", n)
				}
			},
		},
		"cleanup": {
			stages: []stage{{"cleanup.begun", "recovery_required", "cleanup", false}, {"cleanup.cleaned", "recovery_required", "cleanup", false}},
			args: func(y *yard) []string {
				return []string{"drydock", "cleanup", y.run, "--confirm", y.digest("drydock", "cleanup", y.run)}
			},
			check: func(t *testing.T, y *yard, root string, v map[string]any) {
				if _, err := os.Lstat(root); !os.IsNotExist(err) || v["status"] != "cleaned" {
					t.Errorf("%v %v", err, v)
				}
			},
		},
	}
	for _, name := range slices.Sorted(maps.Keys(verbs)) {
		verb := verbs[name]
		for _, st := range verb.stages {
			t.Run(st.moment, func(t *testing.T) {
				t.Parallel()
				y := mustYard(t)
				root := ""
				if name != "create" {
					root = y.create()
					y.second(root)
					y.write(root, map[string]string{"loose": "l"})
				}
				args := append(verb.args(y), "--operation-key", "the-key")
				y.crash(st.moment, args...)
				r := y.must(0, "drydock", "reconcile")
				s := y.status()
				if s["status"] != st.during || s["pending"] != st.pending {
					t.Errorf("after the death the Drydock is %v %v, want %s %s", s["status"], s["pending"], st.during, st.pending)
				}
				// The next start-up finishes a creation before the verb is asked.
				if kept := len(r["kept"].([]any)); kept != map[bool]int{true: 1}[st.pending != ""] {
					t.Errorf("reconcile: %v", r)
				}
				if st.pending == "rewind" {
					y.must(8, "drydock", "checkpoint", y.run) // not without a person's word
					y.must(3, "drydock", "deliver", y.run)
				}
				if st.pending == "cleanup" {
					for _, v := range []string{"checkpoint", "deliver", "undo", "fork", "use"} {
						if e := y.must(8, "drydock", v, y.run); e["code"] != "cleanup_pending" {
							t.Errorf("%s: %v", v, e)
						}
					}
				}
				v := y.must(0, args...)
				verb.check(t, y, root, v)
				if again := y.must(0, args...); again["replayed"] != true {
					t.Errorf("again: %v", again)
				}
			})
		}
	}
}

// What was not recorded is a Checkpoint of the log before the first file is replaced:
// however a rewind that was cut off is ended, it can be gone back to.
func TestDrydock_ARewindThatWasCutOffLosesNoUnrecordedFile(t *testing.T) {
	t.Parallel()
	ends := map[string]func(y *yard, same []string){
		"the same call": func(y *yard, same []string) { y.must(0, same...) },
		"the same undo, seen again": func(y *yard, _ []string) {
			y.must(0, "drydock", "undo", y.run, "--confirm", y.digest("drydock", "undo", y.run))
		},
		"a rewind to the Checkpoint that was current": func(y *yard, _ []string) {
			log := y.must(0, "drydock", "log", y.run)["checkpoints"].([]any)
			to := []string{"drydock", "rewind", y.run, "--checkpoint", log[1].(map[string]any)["checkpoint_id"].(string)}
			y.must(0, append(to, "--confirm", y.digest(to...))...)
		},
		"its files taken as they are": func(y *yard, _ []string) { y.must(0, "drydock", "checkpoint", y.run, "--confirm") },
	}
	for _, moment := range []string{"rewind.begun", "rewind.saved", "rewind.restored"} {
		for _, name := range slices.Sorted(maps.Keys(ends)) {
			t.Run(moment+", then "+name, func(t *testing.T) {
				t.Parallel()
				y := mustYard(t)
				root := y.create()
				y.second(root)
				y.write(root, map[string]string{"loose": "three hours of work"})
				same := []string{"drydock", "undo", y.run, "--confirm", y.digest("drydock", "undo", y.run)}
				y.crash(moment, same...)
				ends[name](y, same)
				if s := y.status(); s["status"] != "ready" || s["pending"] != "" {
					t.Errorf("afterwards the Drydock is %v, pending %v", s["status"], s["pending"])
				}
				for _, c := range y.must(0, "drydock", "log", y.run)["checkpoints"].([]any) {
					to := []string{"drydock", "rewind", y.run, "--checkpoint", c.(map[string]any)["checkpoint_id"].(string)}
					y.must(0, append(to, "--confirm", y.digest(to...))...)
					if b, err := os.ReadFile(filepath.Join(root, "loose")); err == nil && string(b) == "three hours of work" {
						return
					}
				}
				t.Errorf("no Checkpoint has it: %s", y.origins(y.run))
			})
		}
	}
}

// A clean-up that was cut off goes on by the call that was typed, which had no
// operation key: what is left was confirmed with the whole, whatever its digest is now.
func TestDrydock_ACleanupThatWasCutOffGoesOnByTheSameCallWithoutAKey(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"cleanup.begun", "cleanup.cleaned"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			y := mustYard(t)
			root := y.create()
			args := []string{"drydock", "cleanup", y.run, "--confirm", y.digest("drydock", "cleanup", y.run)}
			y.crash(moment, args...)
			if e := y.must(4, "drydock", "cleanup", y.run, "--confirm", "other"); e["code"] != "trust_digest_mismatch" {
				t.Errorf("%v", e)
			}
			if c := y.must(0, args...); c["status"] != "cleaned" {
				t.Errorf("%v", c)
			}
			if _, err := os.Lstat(root); !os.IsNotExist(err) {
				t.Error(err)
			}
		})
	}
}

// The two moments of a repair on both sides of its container: the repeated call
// finishes it, and until then nobody uses the Drydock.
func TestDrydock_AKillBeforeAndAfterTheContainerOfARepair(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"repair.begun", "repair.repaired"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			y := mustYard(t)
			root := y.create()
			y.must(0, "run", "profile", y.run, "docker")
			y.must(0, "run", "permission", y.run, "workspace_access")
			repair := y.engine("drydock", "repair", y.run, "--operation-key", "the-key",
				"--enable-permission-control", "--enable-workspace-sandbox", "--enable-docker-execution")
			y.crash(moment, repair...)
			if r := y.must(0, "drydock", "reconcile"); len(r["kept"].([]any)) != 1 {
				t.Errorf("reconcile: %v", r)
			}
			if s := y.status(); s["status"] != "recovery_required" || s["pending"] != "repair" {
				t.Errorf("after the death the Drydock is %v %v", s["status"], s["pending"])
			}
			for verb, code := range map[string]int{"checkpoint": 8, "deliver": 8, "undo": 8, "use": 8} {
				y.must(code, "drydock", verb, y.run)
			}
			if v := y.must(0, repair...); v["status"] != "ready" {
				t.Errorf("the repeated repair: %v", v)
			}
			if again := y.must(0, repair...); again["replayed"] != true {
				t.Errorf("again: %v", again)
			}
			y.checkFiles(root, firstFiles)
		})
	}
}

// engine is a call with the real engine's place in front.
func (y *yard) engine(args ...string) []string {
	y.t.Helper()
	socket, digest := os.Getenv("CYBERAGENT_DOCKER_SOCKET"), os.Getenv("CYBERAGENT_TEST_STANDARD_CODE_DOCKER_IMAGE_DIGEST")
	if socket == "" || digest == "" {
		y.t.Fatal("CYBERAGENT_DOCKER_SOCKET or CYBERAGENT_TEST_STANDARD_CODE_DOCKER_IMAGE_DIGEST is not set; remedy: make test")
	}
	return append([]string{"--docker-socket", socket, "--image-digest", digest}, args...)
}
