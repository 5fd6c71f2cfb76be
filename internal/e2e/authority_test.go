package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A drifted Drydock is refused whatever changed in it, and works again when the
// change is taken back.
func TestDrift_IsRefusedUntilItIsTakenBack(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustSource(t, map[string]string{"file": "x\n", "sub/deep": "y\n"}))
	a := f.MustApprove(t, python("-c", "pass"))
	at := func(name string) string { return filepath.Join(f.path, name) }
	for name, c := range map[string]struct{ change, back func() error }{
		"other content": {
			func() error { return os.WriteFile(at("file"), []byte("z\n"), 0o644) },
			func() error { return os.WriteFile(at("file"), []byte("x\n"), 0o644) },
		},
		"a new file": {
			func() error { return os.WriteFile(at("new"), nil, 0o644) },
			func() error { return os.Remove(at("new")) },
		},
		"a new empty directory": {
			func() error { return os.Mkdir(at("empty"), 0o755) },
			func() error { return os.Remove(at("empty")) },
		},
		"a file less": {
			func() error { return os.Rename(at("sub/deep"), f.path+".aside") },
			func() error { return os.Rename(f.path+".aside", at("sub/deep")) },
		},
		"an executable bit": {
			func() error { return os.Chmod(at("file"), 0o755) },
			func() error { return os.Chmod(at("file"), 0o644) },
		},
		"git's control file gone": {
			func() error { return os.Rename(at(".git"), f.path+".git") },
			func() error { return os.Rename(f.path+".git", at(".git")) },
		},
		"a link in its place": {
			func() error {
				return errors.Join(os.Rename(at(".git"), f.path+".git"), os.Symlink(f.path+".git", at(".git")))
			},
			func() error { return os.Rename(f.path+".git", at(".git")) },
		},
		"a directory in its place": {
			func() error { return errors.Join(os.Rename(at(".git"), f.path+".git"), os.Mkdir(at(".git"), 0o755)) },
			func() error { return errors.Join(os.Remove(at(".git")), os.Rename(f.path+".git", at(".git"))) },
		},
		"a copy in its place": {
			func() error {
				b, err := os.ReadFile(at(".git"))
				return errors.Join(err, os.Rename(at(".git"), f.path+".git"), os.WriteFile(at(".git"), b, 0o644))
			},
			func() error { return os.Rename(f.path+".git", at(".git")) },
		},
		"a second name of git's control file": {
			func() error { return os.Link(at(".git"), f.path+".link") },
			func() error { return os.Remove(f.path + ".link") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			must(t, c.change())
			for _, verb := range []string{"prepare", "execute"} {
				f.MustRefuse(t, f.request(verb, a), refusal{"drydock_drifted", 3, ""})
			}
			ready := MustAnswer[readinessView](t, h.call(t, append([]string{"run", "standard-code", "readiness"}, f.at(a.command)...)...), 0)
			if ready.Status != "unavailable" || ready.Reason != "drydock_drifted" || ready.Remediation != "checkpoint_or_rewind" {
				t.Errorf("readiness: %+v", ready)
			}
			must(t, c.back())
		})
	}
	f.MustFollow(t, MustAnswer[resultView](t, f.Execute(t, a), 0))
}

// What was approved for one state of the Run is worth nothing in another.
func TestAuthority_AChangeAfterTheApprovalIsRefused(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	a := f.MustApprove(t, python("-c", "pass"))
	set := func(verb string, word ...string) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			MustAnswer[runView](t, h.call(t, append([]string{"run", verb, f.run}, word...)...), 0)
		}
	}
	for _, row := range []struct {
		name      string
		set, back func(*testing.T)
		now       refusal // while it is so
		after     refusal // when it is as before, but not the same
	}{
		{"a paused Run", set("pause"), set("resume"), refusal{"run_not_eligible", 3, ""}, refusal{}},
		{"another profile", set("profile", "none"), set("profile", "docker"), refusal{"profile_mismatch", 3, ""}, refusal{"authority_drift", 3, ""}},
		{
			"another permission", set("permission", "full_access"), set("permission", "workspace_access"),
			refusal{"permission_mismatch", 3, ""}, refusal{"authority_drift", 3, ""},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.set(t)
			for _, verb := range []string{"prepare", "execute"} {
				f.MustRefuse(t, f.request(verb, a), row.now)
			}
			row.back(t)
			if row.after != (refusal{}) {
				f.MustRefuse(t, f.request("execute", a), row.after)
				a = f.MustApprove(t, a.command)
			}
		})
	}
	f.MustFollow(t, MustAnswer[resultView](t, f.Execute(t, a), 0))
}

// Readiness names everything that stands in the way, in the contract's order.
func TestReadiness_ListsEveryBlocker(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	c := python("-c", "pass")
	ask := func(h *home, q request, more ...string) answer {
		q.verb = "readiness"
		args := q.args()
		args = args[:len(args)-2] // it takes no operation key
		return h.call(t, append(args, more...)...)
	}
	q := f.request("readiness", approved{command: c})

	q.gates = gates[:1]
	v := MustAnswer[readinessView](t, ask(h, q), 0)
	if v.Status != "disabled" || v.Reason != "feature_disabled" || v.Remediation != "restart_with_startup_gate" || v.BlockedBy[0] != "startup_gate_closed" || v.CapabilityGrant {
		t.Errorf("without two gates: %+v", v)
	}
	q.gates = gates
	MustAnswer[runView](t, h.call(t, "run", "profile", f.run, "none"), 0)
	MustAnswer[runView](t, h.call(t, "run", "permission", f.run, "approval"), 0)
	q.generation = "7"
	none := h.with("CYBERAGENT_STANDARD_CODE_DOCKER_IMAGE_DIGEST=")
	v = MustAnswer[readinessView](t, ask(none, q), 0)
	var got []string
	for i, b := range v.Blockers {
		got = append(got, b.Reason)
		if b.Detail == "" || b.Advice == "" || v.BlockedBy[i] != b.BlockedBy || v.Remedies[i] != b.Remediation {
			t.Errorf("blocker %d: %+v", i, b)
		}
	}
	want := []string{"image_unconfigured", "profile_mismatch", "permission_mismatch", "generation_stale"}
	if len(got) != len(want) || v.Reason != want[0] || v.Status != "unavailable" {
		t.Fatalf("blocked by %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("blocked by %v, want %v", got, want)
		}
	}
	gone := h.with("CYBERAGENT_DOCKER_SOCKET=" + filepath.Join(h.dir, "nothing.sock"))
	v = MustAnswer[readinessView](t, ask(gone, q, "--exit-code"), 3)
	if v.Reason != "daemon_unreachable" || v.BlockedBy[0] != "docker_unavailable" || v.Remediation != "install_or_start_docker" {
		t.Errorf("without an engine: %+v", v)
	}
}
