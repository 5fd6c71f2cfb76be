package admission

import (
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
)

// ReadinessProtocol names the readiness answer.
const ReadinessProtocol = "standard-code-backend-readiness.v1"

// Backend is the one backend of Standard Code; which engine carries it is
// another fact.
const Backend = "docker"

// Status says whether a command could be prepared now.
type Status string

// The readiness statuses.
const (
	StatusReady       Status = "ready"
	StatusDisabled    Status = "disabled"
	StatusUnavailable Status = "unavailable"
)

// Readiness is an answer about the present state. It grants nothing.
type Readiness struct {
	Protocol           string           `json:"protocol_version"`
	Backend            string           `json:"backend"`
	Engine             isolation.Engine `json:"engine"`
	Status             Status           `json:"status"`
	ReasonCode         fault.Code       `json:"reason_code"`
	RemediationCode    Remediation      `json:"remediation_code"`
	BlockedBy          []Blocker        `json:"blocked_by"`
	Remediation        []Remediation    `json:"remediation"`
	Blockers           []BlockerFact    `json:"blockers"`
	CheckedAt          time.Time        `json:"checked_at"`
	ExpiresAt          time.Time        `json:"expires_at"`
	CapabilityGrant    bool             `json:"capability_grant"`
	EvidenceSHA256     string           `json:"evidence_sha256"`
	RunID              string           `json:"run_id"`
	DrydockID          string           `json:"drydock_id"`
	Generation         int64            `json:"generation"`
	CheckpointID       string           `json:"checkpoint_id"`
	ProfileRevision    int64            `json:"profile_revision"`
	PermissionRevision int64            `json:"permission_revision"`
	EngineVersion      string           `json:"engine_version"`
	ImageID            string           `json:"image_id"`
}

// BlockerFact is one refusal with a sentence for a person.
type BlockerFact struct {
	ReasonCode  fault.Code  `json:"reason_code"`
	BlockedBy   Blocker     `json:"blocked_by"`
	Remediation Remediation `json:"remediation"`
	Detail      string      `json:"detail"`
	Advice      string      `json:"advice"`
}

// None is the reason and remediation of a ready backend.
const None = "none"

// Answer renders refusals as the readiness answer at a time. evidence is the
// digest of what was looked at. Where nothing refused but not everything was
// looked at, the answer is not ready.
func Answer(e Evidence, refused []Verdict, evidence string, now time.Time) Readiness {
	if len(refused) == 0 && !e.Complete() {
		v := refuse(fault.Internal, "backend_not_ready", RetryReadiness, "not everything could be looked at")
		v.Advice = advise(RetryReadiness, e)
		refused = []Verdict{v}
	}
	r := Readiness{
		Protocol: ReadinessProtocol, Backend: Backend, Status: StatusReady,
		ReasonCode: None, RemediationCode: None,
		BlockedBy: []Blocker{}, Remediation: []Remediation{}, Blockers: []BlockerFact{},
		CheckedAt: now, ExpiresAt: now.Add(limits.ReadinessLife), EvidenceSHA256: evidence,
	}
	if e.Run != nil {
		r.RunID, r.ProfileRevision, r.PermissionRevision = string(e.Run.ID), e.Run.Profile.Revision, e.Run.Permission.Revision
	}
	if e.Engine != nil {
		r.Engine, r.EngineVersion = e.Engine.Engine, e.Engine.Version
	}
	if e.Image != nil {
		r.ImageID = e.Image.ID
	}
	if e.Drydock != nil && e.Drydock.Present {
		d := e.Drydock.Drydock
		r.DrydockID, r.Generation, r.CheckpointID = string(d.ID), d.Generation, string(d.Checkpoint)
	}
	for i, v := range refused {
		if i == 0 {
			r.Status, r.ReasonCode, r.RemediationCode = StatusUnavailable, v.Reason, v.Remediation
		}
		if v.Reason == fault.FeatureDisabled {
			r.Status = StatusDisabled
		}
		r.BlockedBy = append(r.BlockedBy, v.BlockedBy)
		r.Remediation = append(r.Remediation, v.Remediation)
		r.Blockers = append(r.Blockers, BlockerFact{v.Reason, v.BlockedBy, v.Remediation, v.Detail, v.Advice})
	}
	return r
}
