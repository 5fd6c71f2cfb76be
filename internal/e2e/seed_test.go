package e2e

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// The command lines of the product's first description, exactly as they are
// printed there. A shell reads the POSIX ones; the PowerShell ones are read by
// the rules that they use: a backtick continues a line, double quotes keep
// spaces.
func TestSeed_ItsCommandLinesWorkVerbatim(t *testing.T) {
	t.Parallel()
	for _, shell := range []struct {
		name string
		run  func(t *testing.T, h *home, line string) answer
	}{
		{"powershell", func(t *testing.T, h *home, line string) answer {
			words := powershellWords(t, line)
			if words[0] != "cyberagent" {
				t.Fatalf("it begins with %q", words[0])
			}
			return h.start(t, words[1:]...).Wait(t)
		}},
		{"posix", func(t *testing.T, h *home, line string) answer {
			return h.exec(t, "/bin/sh", "-c", line).Wait(t)
		}},
	} {
		t.Run(shell.name, func(t *testing.T) {
			t.Parallel()
			lines := MustSeed(t, shell.name)
			h := MustHome(t)
			// Nothing to compile, so that the go command is quick.
			f := h.MustFlow(t, h.MustSource(t, map[string]string{"go.mod": "module example.invalid/seed\n\ngo 1.24\n", "seed.go": "package seed\n"}))
			values := map[string]string{
				"<run-id>": f.run, "<n>": strconv.FormatInt(f.generation, 10), "<checkpoint-id>": f.checkpoint,
				"<prepare-key>": "prepare-1", "<execute-key>": "execute-1",
			}
			ready := MustAnswer[readinessView](t, shell.run(t, h, fill(lines[0], values)), 0)
			if ready.Protocol != "standard-code-backend-readiness.v1" || ready.Status != "ready" || ready.Reason != "none" || ready.CapabilityGrant ||
				len(ready.BlockedBy)+len(ready.Remedies)+len(ready.Blockers) > 0 || ready.Checkpoint != f.checkpoint {
				t.Errorf("readiness: %+v", ready)
			}
			prep := MustAnswer[preparationView](t, shell.run(t, h, fill(lines[1], values)), 0)
			if prep.Protocol != "standard-code-preparation.v1" || prep.Approval.Status != "pending" || prep.Authority.ImageDigest != lab.digest {
				t.Errorf("preparation: %+v", prep)
			}
			values["<preparation-id>"], values["<approval-id>"] = prep.ID, prep.Approval.ID
			seen := MustAnswer[approvalView](t, f.call(t, "run", "sandbox", "request", prep.ID), 0)
			if seen.Command.Toolchain != "go" || strings.Join(seen.Command.Quoted, " ") != `"test" "./..."` || seen.Command.Purpose != "offline tests" {
				t.Errorf("the reviewer sees %+v", seen.Command)
			}
			f.MustReview(t, prep, "approve")
			r := MustAnswer[resultView](t, shell.run(t, h, fill(lines[2], values)), 0)
			if r.Protocol != "standard-code-command-result.v1" || r.ended() != "succeeded/exited" {
				t.Errorf("the result: %+v", r)
			}
			f.MustFollow(t, r)
		})
	}
}

func TestSeed_ItsTwoSpellingsAreOneCommand(t *testing.T) {
	t.Parallel()
	posix := MustSeed(t, "posix")
	for i, line := range MustSeed(t, "powershell") {
		if strings.ReplaceAll(line, "`\n", "\\\n") != posix[i] {
			t.Errorf("command %d differs:\n%s\n%s", i+1, line, posix[i])
		}
	}
}

func TestSeed_CancelAndRecoverGoByTheirNames(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	r := f.MustRun(t, python("-c", "pass"), 0)

	again := MustAnswer[resultView](t, f.call(t, "run", "standard-code", "docker-cancel", "--admission", r.ExecutionID), 0)
	if !again.Replayed || again.ended() != "succeeded/exited" || again.ExecutionID != r.ExecutionID {
		t.Errorf("cancelling a finished command answers %+v", again)
	}
	for _, args := range [][]string{{f.run}, {"--admission", r.ExecutionID}, {"--all"}, {f.run, "--dry-run"}} {
		v := MustAnswer[recoveryView](t, f.call(t, append([]string{"run", "standard-code", "docker-recover"}, args...)...), 0)
		if v.Protocol != "standard-code-recovery.v1" || v.Open != 0 {
			t.Errorf("recover %v: %+v", args, v)
		}
	}
	if x := f.MustExecutions(t); len(x) != 1 || x[0].starts() != 1 {
		t.Errorf("recovery started something: %+v", x)
	}
	f.MustHaveNoContainer(t)
}

// MustSeed reads the three commands of one spelling: readiness, prepare, execute.
func MustSeed(t testing.TB, shell string) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/seed-" + shell + ".txt")
	must(t, err)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n\n")
	if len(lines) != 3 {
		t.Fatalf("%d commands, want 3", len(lines))
	}
	return lines
}

// fill puts values in the places of the placeholders.
func fill(line string, values map[string]string) string {
	for name, v := range values {
		line = strings.ReplaceAll(line, name, v)
	}
	return line
}

func powershellWords(t testing.TB, line string) []string {
	t.Helper()
	var words []string
	for i, part := range strings.Split(strings.ReplaceAll(line, "`\n", " "), `"`) {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
