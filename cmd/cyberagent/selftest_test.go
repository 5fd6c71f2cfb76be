package main_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program is the built command in a temporary directory of its own.
type program struct {
	path, tmp string
	env       []string
}

func mustProgram(t *testing.T, env ...string) program {
	t.Helper()
	dir := t.TempDir()
	p := program{path: filepath.Join(dir, "cyberagent"), tmp: filepath.Join(dir, "tmp")}
	if err := os.Mkdir(p.tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", p.path, "cyberagent/cmd/cyberagent").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	p.env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + p.tmp, "CYBERAGENT_HOME=" + filepath.Join(dir, "home")}, env...)
	return p
}

func (p program) command(args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	cmd := exec.Command(p.path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, &stdout, &stderr
	return cmd, &stdout, &stderr
}

func (p program) run(args ...string) (code int, stdout, stderr string) {
	cmd, out, errs := p.command(args...)
	_ = cmd.Run() // its state says everything
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// mustBeEmpty fails when anything is left in the temporary directory.
func (p program) mustBeEmpty(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(p.tmp)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		t.Errorf("left in the temporary directory: %s", e.Name())
	}
}

func mustEngine(t *testing.T) []string {
	t.Helper()
	socket, digest := os.Getenv("CYBERAGENT_DOCKER_SOCKET"), os.Getenv("CYBERAGENT_TEST_STANDARD_CODE_DOCKER_IMAGE_DIGEST")
	if socket == "" || digest == "" {
		t.Fatal("CYBERAGENT_DOCKER_SOCKET or CYBERAGENT_TEST_STANDARD_CODE_DOCKER_IMAGE_DIGEST is not set; remedy: make test")
	}
	return []string{"CYBERAGENT_DOCKER_SOCKET=" + socket, "CYBERAGENT_STANDARD_CODE_DOCKER_IMAGE_DIGEST=" + digest}
}

// report is what the test reads of selftest-crash.v1, written out by hand.
type report struct {
	Protocol string `json:"protocol_version"`
	Verdict  string `json:"verdict"`
	Repeat   int    `json:"repeat"`
	Edges    []struct {
		Edge, Engine, Verdict string
		Repeats, Kills        int
		MostStarts            int `json:"most_starts"`
		Leaks                 int
		Decoys                int `json:"decoys_touched"`
	}
	Failures []struct{ Edge, Problem string }
	CleanUp  struct {
		Containers, Decoys int
		HomeRemoved        bool `json:"home_removed"`
	} `json:"clean_up"`
}

// mustContainerd is mustEngine for the other engine.
func mustContainerd(t *testing.T) []string {
	t.Helper()
	address, digest := os.Getenv("CYBERAGENT_CONTAINERD_ADDRESS"), os.Getenv("CYBERAGENT_TEST_STANDARD_CODE_CONTAINERD_IMAGE_DIGEST")
	if address == "" || digest == "" {
		t.Fatal("CYBERAGENT_CONTAINERD_ADDRESS or CYBERAGENT_TEST_STANDARD_CODE_CONTAINERD_IMAGE_DIGEST is not set; remedy: make test")
	}
	return []string{
		"CYBERAGENT_ENGINE=containerd", "CYBERAGENT_CONTAINERD_ADDRESS=" + address, "CYBERAGENT_STANDARD_CODE_CONTAINERD_IMAGE_DIGEST=" + digest,
	}
}

func mustReport(t *testing.T, stdout string) (r report) {
	t.Helper()
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("%v: %q", err, stdout)
	}
	if r.Protocol != "selftest-crash.v1" {
		t.Errorf("protocol %q", r.Protocol)
	}
	return r
}

func TestSelftestCrash_EveryEdgeHoldsTwice(t *testing.T) {
	t.Parallel()
	p := mustProgram(t, mustEngine(t)...)
	code, stdout, stderr := p.run("--output", "json", "selftest", "crash", "--repeat", "2", "--parallel", "2")
	r := mustReport(t, stdout)
	if code != 0 || r.Verdict != "held" || stderr != "" {
		t.Errorf("exit status %d, %s\n%v\n%s", code, r.Verdict, r.Failures, stderr)
	}
	if len(r.Edges) < 40 {
		t.Errorf("only %d edges", len(r.Edges))
	}
	for _, e := range r.Edges {
		// A moment in the middle of a call can come too late to kill anything.
		kills := map[bool]int{false: 2, true: 4}[strings.HasPrefix(e.Edge, "recover.")]
		if strings.Contains(e.Edge, ".during.") {
			kills = e.Kills
		}
		if e.Verdict != "held" || e.Repeats != 2 || e.Kills != kills || e.MostStarts > 1 || e.Leaks != 0 || e.Decoys != 0 || e.Engine == "" {
			t.Errorf("%+v", e)
		}
	}
	if c := r.CleanUp; c.Containers != 0 || c.Decoys != 3 || !c.HomeRemoved {
		t.Errorf("clean-up: %+v", c)
	}
	p.mustBeEmpty(t)
	file := filepath.Join(filepath.Dir(p.path), "crash.json")
	if err := os.WriteFile(file, []byte(stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, doc, errs := p.run("selftest", "report", file); code != 0 || errs != "" || !strings.Contains(doc, "Verdict: **held**") {
		t.Errorf("the document: exit status %d\n%s%s", code, doc, errs)
	}
}

// The other engine: every intent of both actors, and what dies while the engine
// makes or removes a container. `make selftest` tries every edge on it.
func TestSelftestCrash_OnContainerd(t *testing.T) {
	t.Parallel()
	for _, edges := range []string{":intent", "during"} {
		p := mustProgram(t, mustContainerd(t)...)
		code, stdout, stderr := p.run("--output", "json", "selftest", "crash", "--repeat", "1", "--parallel", "2", "--edge", edges)
		r := mustReport(t, stdout)
		if code != 0 || r.Verdict != "held" || stderr != "" || len(r.Edges) < 7 {
			t.Errorf("%s: exit status %d, %s, %d edges\n%v\n%s", edges, code, r.Verdict, len(r.Edges), r.Failures, stderr)
		}
		for _, e := range r.Edges {
			if e.Verdict != "held" || e.Repeats != 1 || e.MostStarts > 1 || e.Leaks != 0 || e.Decoys != 0 || e.Engine != "containerd" {
				t.Errorf("%+v", e)
			}
		}
		if c := r.CleanUp; c.Containers != 0 || c.Decoys != 5 || !c.HomeRemoved {
			t.Errorf("clean-up: %+v", c)
		}
		p.mustBeEmpty(t)
	}
}

func TestSelftestReport_RefusesWhatIsNone(t *testing.T) {
	t.Parallel()
	p := mustProgram(t)
	file := filepath.Join(filepath.Dir(p.path), "other.json")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {file}, {file + ".absent"}} {
		if code, out, errs := p.run(append([]string{"selftest", "report"}, args...)...); code != 2 || out != "" || !strings.Contains(errs, "what to do") {
			t.Errorf("%v: exit status %d: %q %q", args, code, out, errs)
		}
	}
}

// The full count is `make selftest`'s; its result is docs/selftest.md's.
func TestSelftestSoak_SixtyProcessesDieAndNothingIsLeft(t *testing.T) {
	p := mustProgram(t, mustEngine(t)...)
	code, stdout, stderr := p.run("--output", "json", "selftest", "soak", "--kills", "60", "--seed", "1")
	var r struct {
		Protocol   string `json:"protocol_version"`
		Verdict    string
		Seed       int
		Parallel   int
		Kills      int
		Commands   int
		Admissions int
		Receipts   int `json:"terminal_receipts"`
		Starts     int
		MostStarts int `json:"most_starts"`
		Leaks      int
		Took       int `json:"took_ms"`
		Ends       map[string]int
		Failures   []struct{ Edge, Problem string }
		CleanUp    struct {
			Containers, Decoys int
			HomeRemoved        bool `json:"home_removed"`
		} `json:"clean_up"`
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("%v: %q %q", err, stdout, stderr)
	}
	t.Logf("seed %d: %d of %d processes at once, %d commands, %d starts, %v, %d ms", r.Seed, r.Kills, r.Parallel, r.Commands, r.Starts, r.Ends, r.Took)
	if code != 0 || r.Protocol != "selftest-soak.v1" || r.Verdict != "held" || stderr != "" || len(r.Failures) > 0 {
		t.Errorf("exit status %d, %s\n%v\n%s", code, r.Verdict, r.Failures, stderr)
	}
	if r.Kills < 60 || r.Parallel != 4 || r.MostStarts != 1 || r.Starts > r.Commands || r.Leaks != 0 || r.Admissions != r.Commands+1 || r.Receipts != r.Admissions {
		t.Errorf("%+v", r)
	}
	if c := r.CleanUp; c.Containers != 0 || c.Decoys != 3 || !c.HomeRemoved {
		t.Errorf("clean-up: %+v", c)
	}
	p.mustBeEmpty(t)
}

func TestSelftestCrash_AnInterruptCleansUpAndSaysSo(t *testing.T) {
	t.Parallel()
	p := mustProgram(t, mustEngine(t)...)
	cmd, stdout, stderr := p.command("--output", "json", "selftest", "crash", "--repeat", "50", "--edge", "execute.output")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Wait until a process of the selftest is at work in its home.
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if found, _ := filepath.Glob(filepath.Join(p.tmp, "*", "home", "owners", "own_*")); len(found) > 0 {
			break
		}
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			t.Fatal("it did not begin")
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its state says everything
	r := mustReport(t, stdout.String())
	if code := cmd.ProcessState.ExitCode(); code != 1 || r.Verdict != "incomplete" || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("exit status %d, %s, %v, %q", code, r.Verdict, r.Failures, stderr)
	}
	if c := r.CleanUp; c.Decoys != 3 || !c.HomeRemoved {
		t.Errorf("clean-up: %+v", c)
	}
	p.mustBeEmpty(t)
}

func TestSelftestCrash_WithoutAnEngineItIsRefusedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, env := range [][]string{
		{"CYBERAGENT_DOCKER_SOCKET=/nonexistent/docker.sock"},
		{"CYBERAGENT_ENGINE=containerd", "CYBERAGENT_CONTAINERD_ADDRESS=/nonexistent/containerd.sock"},
	} {
		p := mustProgram(t, env...)
		code, stdout, stderr := p.run("selftest", "crash")
		if code != 3 || stdout != "" || !strings.Contains(stderr, "daemon_unreachable") {
			t.Errorf("exit status %d: %q %q", code, stdout, stderr)
		}
		p.mustBeEmpty(t)
	}
}

func TestSelftestChild_IsHiddenAndRefusesEveryHomeButTheSelftestsOwn(t *testing.T) {
	t.Parallel()
	p := mustProgram(t)
	if _, out, errs := p.run("selftest", "--help"); !strings.Contains(out, "crash") || strings.Contains(out+errs, "crash-child") {
		t.Errorf("help: %q %q", out, errs)
	}
	order := `{"seal":"","act":"execute","point":"execute.before.create:intent"}`
	for _, o := range []string{order, strings.Replace(order, `"seal":""`, `"seal":"x"`, 1), `{"unknown":1}`, ""} {
		if code, out, errs := p.run("selftest", "crash-child", "--order", o); code != 2 || out != "" {
			t.Errorf("%s: exit status %d: %q %q", o, code, out, errs)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(p.path), "home", "*")); len(found) > 0 {
		t.Errorf("a refused child made %v", found)
	}
}

// Only the selftest's child may arm a fail point: each of these words stands where
// it is written here and nowhere else.
func TestSelftest_NothingElseArmsAFailPoint(t *testing.T) {
	t.Parallel()
	allowed := map[string][]string{
		"NewFailPoint(": {"adapters/host/failpoint.go", "cmd/cyberagent/internal/wiring/selftest.go"},
		// The command line passes on what a test gave it; no program gives it one.
		".Fail =":    {"cmd/cyberagent/internal/wiring/selftest.go", "cmd/cyberagent/root.go"},
		"failAt:":    nil,
		"failAt =":   nil,
		"OpenArmed(": {"cmd/cyberagent/internal/wiring/selftest.go", "cmd/cyberagent/selftest.go"},
	}
	root := filepath.Join("..", "..")
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		for word := range allowed {
			if strings.Contains(string(b), word) {
				found[word] = append(found[word], filepath.ToSlash(rel))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for word, where := range allowed {
		slices.Sort(found[word])
		if !slices.Equal(found[word], where) {
			t.Errorf("%q stands in %v, want %v", word, found[word], where)
		}
	}
}
