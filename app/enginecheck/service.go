// Package enginecheck proves the isolation contract on the operator's own
// machine: one container of the configured image on an empty workspace, made as a
// command's is, read back, measured by its runner, and removed. It needs no Run
// and writes nothing in the ledger.
package enginecheck

import (
	"context"
	"time"

	"cyberagent/app/aside"
	"cyberagent/app/engines"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// Protocol names the answer.
const Protocol = "engine-check.v1"

// Service is the use case over its ports.
type Service struct {
	Engine       ports.Engine
	Masks        ports.Masks
	Meter        ports.Meter
	Scratches    aside.Scratches
	Clock        ports.Clock
	IDs          ports.IDs
	Installation id.Installation
	// ImageDigest is the configured image for an engine, "sha256:…".
	ImageDigest  func(isolation.Engine) string
	ImageFrom    engines.ImageFrom
	AllowDesktop bool
}

// The proofs that a property's value comes from.
const (
	ReadBack    = "read_back"
	Measurement = "measured"
)

// Property is one line of the table.
type Property struct {
	Proof    string `json:"proof"`
	Name     string `json:"property"`
	Expected string `json:"expected"`
	Found    string `json:"found"`
	OK       bool   `json:"ok"`
}

// Blocker is why no container could be made.
type Blocker struct {
	ReasonCode fault.Code `json:"reason_code"`
	Detail     string     `json:"detail"`
	Advice     string     `json:"advice"`
}

// Report is the answer. OK says that every property of both proofs is the
// contract's and the trivial command ran.
type Report struct {
	Protocol       string           `json:"protocol_version"`
	Engine         isolation.Engine `json:"engine"`
	EngineVersion  string           `json:"engine_version"`
	ImageID        string           `json:"image_id"`
	OK             bool             `json:"ok"`
	Blockers       []Blocker        `json:"blockers"`
	Properties     []Property       `json:"properties"`
	Contract       string           `json:"contract"`
	ExpectedSHA256 string           `json:"expected_sha256"`
	MeasuredSHA256 string           `json:"measured_sha256"` // empty when nothing was measured
	// Command is how the trivial command ended, in the runner's word; empty when
	// nothing was started.
	Command   string    `json:"command"`
	Detail    string    `json:"detail"`
	CheckedAt time.Time `json:"checked_at"`
}

// add keeps every property with both values, and which are not the contract's.
func (r *Report) add(proof string, want, got []isolation.Fact, wrong []isolation.Difference) {
	found := map[string]string{}
	for _, f := range got {
		found[f.Name] = f.Value
	}
	bad := map[string]isolation.Difference{}
	for _, d := range wrong {
		bad[d.Property] = d
	}
	for _, f := range want {
		p := Property{Proof: proof, Name: f.Name, Expected: f.Value, Found: found[f.Name], OK: true}
		if d, differs := bad[f.Name]; differs {
			p.Found, p.OK = d.Got, false
			delete(bad, f.Name)
		}
		r.Properties = append(r.Properties, p)
	}
	for _, d := range wrong {
		if _, extra := bad[d.Property]; extra {
			r.Properties = append(r.Properties, Property{Proof: proof, Name: d.Property, Expected: d.Want, Found: d.Got})
			delete(bad, d.Property)
		}
	}
}

// yard is where the check's container stands.
func (s *Service) yard() aside.Yard {
	return aside.Yard{
		Engine: s.Engine, Scratches: s.Scratches, Again: "cyberagent engine check",
		Owner: func(id.Admission) id.Installation { return s.Installation },
	}
}

// Sweep removes what killed checks left, and returns how many there were.
func (s *Service) Sweep(ctx context.Context) (int, error) { return s.yard().Sweep(ctx) }
