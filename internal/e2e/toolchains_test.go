package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The sample projects: a suite that passes and writes report.txt, and one with a
// failing test.
var projects = []struct {
	toolchain string
	args      []string
	failing   int // the tool's own exit code when a test fails
}{
	{"go", []string{"test", "./..."}, 1},
	{"node", []string{"npm", "test"}, 1},
	{"python", []string{"-m", "pytest"}, 1},
	{"rust", []string{"test"}, 101},
}

func TestToolchains(t *testing.T) {
	t.Parallel()
	for _, p := range projects {
		c := command{toolchain: p.toolchain, args: p.args, timeout: 600}
		t.Run(p.toolchain+" passes and leaves its report", func(t *testing.T) {
			t.Parallel()
			h := MustHome(t)
			f := h.MustFlow(t, h.MustProject(t, p.toolchain))
			began := f.checkpoint
			r := f.MustRun(t, c, 0)
			checkResult(t, f, r, "succeeded", 0)
			if want := (counts{Added: 1}); r.Checkpoint.Changed != want {
				t.Errorf("changed %+v, want %+v", r.Checkpoint.Changed, want)
			}
			report, err := os.ReadFile(filepath.Join(f.path, "report.txt"))
			if err != nil || len(report) == 0 {
				t.Errorf("the report: %q, %v", report, err)
			}
			checkLog(t, f, r, began)
		})
		t.Run(p.toolchain+" fails with the tool's own exit code", func(t *testing.T) {
			t.Parallel()
			h := MustHome(t)
			f := h.MustFlow(t, h.MustProject(t, p.toolchain+"-failing"))
			r := f.MustRun(t, c, 5)
			checkResult(t, f, r, "failed", p.failing)
			if r.Checkpoint.Changed != (counts{}) {
				t.Errorf("changed %+v, want nothing", r.Checkpoint.Changed)
			}
		})
	}
}

var (
	idPattern  = regexp.MustCompile(`^[a-z]{3,4}_[0-9A-HJKMNP-TV-Z]{26}$`)
	hexPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// checkResult holds a whole result against the contract.
func checkResult(t *testing.T, f *flow, r resultView, status string, exit int) {
	t.Helper()
	if r.Protocol != "standard-code-command-result.v1" || r.Backend != "docker" || r.Engine != "docker" || r.RunID != f.run ||
		r.Network != "disabled" || r.Credentials != "none" || r.Signal != "" || r.Recovery || r.Replayed || len(r.Details) > 0 {
		t.Errorf("the result's frame: %+v", r)
	}
	if r.Status != status || r.Reason != "exited" || r.ExitCode == nil || *r.ExitCode != exit {
		t.Errorf("it ended %s with %v, want %s/exited with %d", r.ended(), r.ExitCode, status, exit)
	}
	ck := r.Checkpoint
	for _, id := range []string{r.ExecutionID, r.DrydockID, ck.BeforeID, ck.AfterID, ck.ReceiptID} {
		if !idPattern.MatchString(id) {
			t.Errorf("not an id: %q", id)
		}
	}
	if ck.DrydockID != r.DrydockID || ck.GenerationAfter != ck.GenerationBefore+1 || ck.AfterID == ck.BeforeID || len(ck.Excluded) > 0 {
		t.Errorf("the Checkpoint: %+v", ck)
	}
	if r.StartedAt == nil || !r.CompletedAt.After(*r.StartedAt) {
		t.Errorf("started %v, completed %v", r.StartedAt, r.CompletedAt)
	}
	if u := r.Resources; u.WallMillis <= 0 || u.CPUMillis <= 0 || u.MaxRSSBytes < 1<<20 || u.GrowthBytes < 0 || u.GrowthBytes > 16<<20 {
		t.Errorf("resources: %+v", u)
	}
	checkReceipts(t, r)
	checkFacts(t, r)
}

// checkReceipts: both streams, nothing lost, and as much kept as was seen.
func checkReceipts(t *testing.T, r resultView) {
	t.Helper()
	if len(r.Artifacts) != 2 || r.Artifacts[0].Stream != "stdout" || r.Artifacts[1].Stream != "stderr" {
		t.Fatalf("the receipts: %+v", r.Artifacts)
	}
	for _, a := range r.Artifacts {
		if a.Kind != "logs" || !hexPattern.MatchString(a.SHA256) || a.Lost || a.Truncated || a.KeptBytes != a.SizeBytes {
			t.Errorf("the receipt of %s: %+v", a.Stream, a)
		}
	}
	if r.Artifacts[0].SizeBytes+r.Artifacts[1].SizeBytes == 0 {
		t.Error("a test run that says nothing")
	}
}

// checkFacts: every fact of the contract with its value, and their digest.
func checkFacts(t *testing.T, r resultView) {
	t.Helper()
	if r.Isolation.Contract != "standard-code-isolation.v1" {
		t.Errorf("the contract is %q", r.Isolation.Contract)
	}
	if got, want := r.Isolation.Facts, MustFacts(t); !equal(got, want) {
		t.Errorf("the facts are\n%v\nwant\n%v", got, want)
	}
	if got := factsDigest(t, r.Isolation.Facts); got != r.Isolation.MeasuredSHA256 {
		t.Errorf("measured_sha256 is %s, the facts have %s", r.Isolation.MeasuredSHA256, got)
	}
}

func equal(a, b []fact) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// factsDigest is the SHA-256 of the list's canonical JSON.
func factsDigest(t *testing.T, facts []fact) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	must(t, enc.Encode(facts))
	sum := sha256.Sum256(bytes.TrimSpace(b.Bytes()))
	return hex.EncodeToString(sum[:])
}

// MustFacts reads the facts that every command must have.
func MustFacts(t testing.TB) []fact {
	t.Helper()
	b, err := os.ReadFile("testdata/facts.txt")
	must(t, err)
	var facts []fact
	for l := range strings.Lines(string(b)) {
		name, value, ok := strings.Cut(strings.TrimSpace(l), " = ")
		if ok && !strings.HasPrefix(l, "#") {
			facts = append(facts, fact{name, value})
		}
	}
	return facts
}

type logView struct {
	Protocol    string           `json:"protocol_version"`
	RunID       string           `json:"run_id"`
	Checkpoints []checkpointView `json:"checkpoints"`
}

// checkLog: the Checkpoint's record and its diff say the same as the result.
func checkLog(t *testing.T, f *flow, r resultView, before string) {
	t.Helper()
	log := MustAnswer[logView](t, f.call(t, "drydock", "log", f.run), 0).Checkpoints
	if len(log) != 2 || log[0].ID != before || log[0].Origin != "create" {
		t.Fatalf("the log: %+v", log)
	}
	c := log[1]
	if c.ID != r.Checkpoint.AfterID || c.Parent != before || c.Origin != "command" || c.Admission != r.ExecutionID ||
		c.Generation != 2 || c.Changed != r.Checkpoint.Changed || c.Entries != log[0].Entries+1 {
		t.Errorf("the Checkpoint in the log: %+v", c)
	}
	d := MustAnswer[diffView](t, f.call(t, "drydock", "diff", f.run), 0)
	if d.From != before || d.To != c.ID || !strings.Contains(d.Patch, "+++ b/report.txt") || strings.Count(d.Patch, "diff --git") != 1 {
		t.Errorf("the diff: %+v", d)
	}
}

func TestResult_TheSameIsMeasuredForEveryCommandAndOutputIsExact(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	one := f.MustRun(t, python("-c", "print('one')"), 0)
	two := f.MustRun(t, python("-c", "import sys; sys.stderr.write('two'); sys.exit(3)"), 5)
	checkFacts(t, one)
	checkFacts(t, two)
	if one.Isolation.MeasuredSHA256 != two.Isolation.MeasuredSHA256 {
		t.Error("two commands of one contract were measured differently")
	}
	for _, c := range []struct {
		got   logReceipt
		text  string
		lines int64
	}{{one.Artifacts[0], "one\n", 1}, {one.Artifacts[1], "", 0}, {two.Artifacts[0], "", 0}, {two.Artifacts[1], "two", 0}} {
		sum := sha256.Sum256([]byte(c.text))
		want := logReceipt{
			Kind: "logs", Stream: c.got.Stream, SHA256: hex.EncodeToString(sum[:]),
			SizeBytes: int64(len(c.text)), KeptBytes: int64(len(c.text)), Lines: c.lines,
		}
		if c.got != want {
			t.Errorf("the receipt is %+v, want %+v", c.got, want)
		}
	}
	if *two.ExitCode != 3 || two.Checkpoint.Changed != (counts{}) || two.Checkpoint.GenerationAfter != 3 {
		t.Errorf("the second result: %+v", two)
	}
}
