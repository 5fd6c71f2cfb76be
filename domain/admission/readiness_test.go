package admission_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"cyberagent/domain/admission"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func TestAReadyAnswerIsThisJSON(t *testing.T) {
	t.Parallel()
	const want = `{"protocol_version":"standard-code-backend-readiness.v1","backend":"docker","engine":"docker","status":"ready",` +
		`"reason_code":"none","remediation_code":"none","blocked_by":[],"remediation":[],"blockers":[],` +
		`"checked_at":"2026-11-29T12:00:00Z","expires_at":"2026-11-29T12:00:30Z","capability_grant":false,"evidence_sha256":"e",` +
		`"run_id":"run_1","drydock_id":"dry_1","generation":4,"checkpoint_id":"ckpt_4","profile_revision":2,"permission_revision":3,` +
		`"engine_version":"20.10.24","image_id":"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}`
	e := evidence()
	got, err := json.Marshal(admission.Answer(e, admission.Evaluate(e), "e", noon))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestABlockedAnswerListsEverythingInOneOrder(t *testing.T) {
	t.Parallel()
	e := evidence()
	e.Engine.Reachability = "unreachable"
	e.Run.Permission.Permission = "approval"
	e.Drydock.Drifted = true
	r := admission.Answer(e, admission.Evaluate(e), "e", noon)
	if r.Status != "unavailable" || r.ReasonCode != "daemon_unreachable" || r.RemediationCode != "install_or_start_docker" || r.CapabilityGrant {
		t.Errorf("got %+v", r)
	}
	if want := []admission.Blocker{"docker_unavailable", "permission_mismatch", "drydock_drifted"}; !slices.Equal(r.BlockedBy, want) {
		t.Errorf("blocked by %q, want %q", r.BlockedBy, want)
	}
	if want := []admission.Remediation{"install_or_start_docker", "grant_workspace_access", "checkpoint_or_rewind"}; !slices.Equal(r.Remediation, want) {
		t.Errorf("remediation %q, want %q", r.Remediation, want)
	}
	for i, b := range r.Blockers {
		if b.BlockedBy != r.BlockedBy[i] || b.Remediation != r.Remediation[i] || b.Detail == "" || b.Advice == "" {
			t.Errorf("blocker %d: %+v", i, b)
		}
	}
}

func TestAClosedGateIsDisabled(t *testing.T) {
	t.Parallel()
	e := everythingWrong()
	r := admission.Answer(e, admission.Evaluate(e), "e", noon)
	if r.Status != "disabled" || r.ReasonCode != "feature_disabled" || r.RemediationCode != "restart_with_startup_gate" || r.CapabilityGrant {
		t.Errorf("got %s, %s, %s", r.Status, r.ReasonCode, r.RemediationCode)
	}
}

func TestAnAnswerFitsWhateverWasGathered(t *testing.T) {
	t.Parallel()
	r := admission.Answer(admission.Evidence{}, admission.Evaluate(admission.Evidence{}), "e", noon)
	if r.Status != "disabled" || r.RunID != "" || r.BlockedBy == nil || r.Remediation == nil || r.Blockers == nil {
		t.Errorf("got %+v", r)
	}
	e := evidence()
	*e.Drydock = admission.DrydockFacts{}
	if r := admission.Answer(e, admission.Evaluate(e), "e", noon); r.Generation != 0 || r.CheckpointID != "" || r.DrydockID != "" {
		t.Errorf("an absent Drydock is shown: %+v", r)
	}
}

// An answer about a part that nobody looked at must not be read as consent.
func TestIncompleteEvidenceIsNeverReady(t *testing.T) {
	t.Parallel()
	for i := range reflect.TypeFor[admission.Evidence]().NumField() {
		e := evidence()
		f := reflect.ValueOf(&e).Elem().Field(i)
		if f.Kind() != reflect.Pointer {
			continue
		}
		f.SetZero()
		r := admission.Answer(e, admission.Evaluate(e), "e", noon)
		if r.Status == admission.StatusReady {
			t.Errorf("ready without %s", reflect.TypeFor[admission.Evidence]().Field(i).Name)
		}
	}
}
