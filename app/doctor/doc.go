// Package doctor says whether this machine can keep the product's promises and
// what to do where it cannot. It looks; it changes nothing and starts nothing.
package doctor

import (
	"context"

	"cyberagent/app/engines"
	"cyberagent/domain/admission"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// Protocol names the answer.
const Protocol = "doctor.v1"

// Status is what a finding means.
type Status string

// The statuses, the worst last.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Failure Status = "failure"
)

// Finding is one line of the report. Remedy is what to do, where possible a
// command that one can paste; it is empty when all is well.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy"`
}

// Report is the answer. Status is the worst of the findings.
type Report struct {
	Protocol string    `json:"protocol_version"`
	Status   Status    `json:"status"`
	Findings []Finding `json:"findings"`
}

func (r *Report) add(check string, s Status, detail, remedy string) {
	r.Findings = append(r.Findings, Finding{check, s, detail, remedy})
	if rank(s) > rank(r.Status) {
		r.Status = s
	}
}

func rank(s Status) int {
	return map[Status]int{OK: 0, Warning: 1, Failure: 2}[s]
}

// Service is the use case over its ports.
type Service struct {
	Machine ports.Machine
	Storage ports.Storage
	Ledger  ports.LedgerProbe
	// Open opens the ledger for reading what it holds. It is called only for a
	// present ledger of this program's schema.
	Open func(context.Context) (ports.Ledger, func(), error)
	// Engines are the configured ones, the preferred first; with more than one the
	// later ones are what the first falls back to.
	Engines []ports.Engine
	// ImageDigest is the configured image for an engine.
	ImageDigest func(isolation.Engine) string
	ImageFrom   engines.ImageFrom
	// Projects are the images of single repositories, by path.
	Projects     map[string]string
	AllowDesktop bool
	Home         string
}

// Examine makes the whole report. A check that fails does not end it.
func (s *Service) Examine(ctx context.Context) Report {
	r := Report{Protocol: Protocol, Status: OK}
	s.host(ctx, &r)
	s.storage(ctx, &r)
	ledger := s.ledger(ctx, &r)
	s.engines(ctx, &r, ledger)
	return r
}

// evidence holds what concerns the engine and the image only: the gates and the
// Run are a command's business.
func (s *Service) evidence(e *admission.EngineFacts, i *admission.ImageFacts) admission.Evidence {
	open := admission.AllGates()
	return admission.Evidence{Gates: open, Engine: e, Image: i, AllowDesktop: s.AllowDesktop}
}
