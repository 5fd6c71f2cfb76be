package e2e

import "testing"

// Authority that goes while the command runs ends it.
func TestAuthority_AChangeDuringTheRunEndsIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change, restore []string // verbs with words, around the Run's id
		field           string
	}{
		"the Run is paused":             {[]string{"pause"}, []string{"resume"}, "run_status changed"},
		"the permission is taken back":  {[]string{"permission", "read_only"}, []string{"permission", "workspace_access"}, "permission_revision changed"},
		"the permission is another one": {[]string{"permission", "full_access"}, []string{"permission", "workspace_access"}, "permission_revision changed"},
		"the profile is taken back":     {[]string{"profile", "none"}, []string{"profile", "docker"}, "profile_revision changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := MustHome(t)
			f := h.MustFlow(t, h.MustScripts(t, "abuse.py"))
			set := func(verb []string) {
				t.Helper()
				args := append([]string{"run", verb[0], f.run}, verb[1:]...)
				MustAnswer[runView](t, f.call(t, args...), 0)
			}
			o := f.MustStart(t, f.MustApprove(t, python("abuse.py", "wait").within(600)))
			set(c.change)
			r := MustAnswer[resultView](t, o.Wait(t), 5)
			if r.ended() != "failed/authority_drift" || r.Details["authority"] != c.field || r.Checkpoint.Changed.Added != 1 {
				t.Errorf("it ended %s: %v", r.ended(), r.Details)
			}
			f.MustFollow(t, r)
			set(c.restore)
			f.MustRunOrdinarily(t)
		})
	}
}
