package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReviewer_SeesWhatChangedSinceTheLastApprovedCommand(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	first := f.MustApprove(t, python("-c", "open('new.txt', 'w').write('x')"))
	if v := MustAnswer[approvalView](t, f.call(t, "run", "sandbox", "show", first.prep.ID), 0); v.Since != nil {
		t.Errorf("nothing was approved before the first command: %+v", v.Since)
	}
	f.MustFollow(t, MustAnswer[resultView](t, f.Execute(t, first), 0))

	p := f.MustPrepare(t, python("-c", "pass"))
	v := MustAnswer[approvalView](t, f.call(t, "run", "sandbox", "show", p.ID), 0)
	s := v.Since
	if s == nil || s.Preparation != first.prep.ID || s.SameCommand || s.FilesUnknown || s.Checkpoint != first.prep.Authority.Checkpoint ||
		s.Engine != v.Authority.Engine || s.ImageDigest != v.Authority.ImageDigest {
		t.Fatalf("since the first: %+v", s)
	}
	if s.Changed.Added != 1 || s.Changed.Modified != 0 || s.Changed.Deleted != 0 || len(s.Paths) != 1 || s.Paths[0].Path != "new.txt" || s.Paths[0].Kind != "added" {
		t.Errorf("files since the first: %+v", s)
	}
	text := string(f.start(t, "--output", "text", "run", "sandbox", "show", p.ID).Wait(t).stdout)
	for _, want := range []string{"since       the last approved command (" + first.prep.ID, "files: 1 added, 0 modified, 0 deleted", "new.txt", "--confirm " + v.ManifestSHA256} {
		if !strings.Contains(text, want) {
			t.Errorf("the reviewer's page lacks %q:\n%s", want, text)
		}
	}
}

func TestReviewer_ConfirmsTheDigestThatWasShown(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	p := f.MustPrepare(t, python("-c", "pass"))
	v := MustAnswer[approvalView](t, f.call(t, "run", "sandbox", "show", p.ID), 0)
	review := []string{"run", "sandbox", "review", p.ID, "--decision", "approve", "--operation-key", "confirmed"}
	f.MustRefuseCall(t, h, append(review, "--confirm", strings.Repeat("0", 64)), refusal{"command_mismatch", 3, "confirm"})
	if got := MustAnswer[approvalView](t, f.call(t, append(review, "--confirm", v.ManifestSHA256)...), 0); got.Status != "approved" {
		t.Errorf("%+v", got)
	}
}

func TestReviewer_WaitsForTheNextProposal(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	watch := f.start(t, "--output", "json", "run", "sandbox", "list", "--pending", "--watch")
	time.Sleep(time.Second)
	p := f.MustPrepare(t, python("-c", "pass"))
	a := watch.Wait(t)
	if a.code != 0 || !strings.Contains(string(a.stdout), p.ID) {
		t.Errorf("exit %d: %s%s", a.code, a.stdout, a.stderr)
	}
}

// A Drydock's doctor: the whole report on a real machine.
func TestDoctor_FindsThisMachineReadyAndSaysWhatIsNot(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	h.MustFlow(t, h.MustScripts(t))
	type finding struct {
		Check  string `json:"check"`
		Status string `json:"status"`
		Detail string `json:"detail"`
		Remedy string `json:"remedy"`
	}
	type report struct {
		Protocol string    `json:"protocol_version"`
		Status   string    `json:"status"`
		Findings []finding `json:"findings"`
	}
	statusOf := func(r report, check string) (s string) {
		for _, f := range r.Findings {
			if f.Check == check {
				s = f.Status
			}
			if f.Status != "ok" && f.Remedy == "" {
				t.Errorf("no remedy: %+v", f)
			}
		}
		return s
	}
	r := MustAnswer[report](t, h.call(t, "doctor"), 0)
	for _, check := range []string{"host", "git", "cgroup", "seccomp", "storage", "access", "ledger", "docker", "image", "docker/leftovers"} {
		if got := statusOf(r, check); got != "ok" {
			t.Errorf("%s is %q", check, got)
		}
	}
	r = MustAnswer[report](t, h.containerd(t).call(t, "doctor"), 0)
	for _, check := range []string{"containerd", "image", "containerd/leftovers", "ledger"} {
		if got := statusOf(r, check); got != "ok" {
			t.Errorf("%s is %q", check, got)
		}
	}
	r = MustAnswer[report](t, h.call(t, "--docker-socket", filepath.Join(h.state, "nothing.sock"), "doctor"), 3)
	if r.Status != "failure" || statusOf(r, "docker") != "failure" || statusOf(r, "ledger") != "ok" {
		t.Errorf("without an engine: %+v", r)
	}
	if err := os.Chmod(filepath.Join(h.state, "ledger.db"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r = MustAnswer[report](t, h.call(t, "doctor"), 0); statusOf(r, "ledger") != "warning" {
		t.Errorf("a ledger that others can read: %+v", r)
	}
}
