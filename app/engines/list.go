package engines

import (
	"context"

	"cyberagent/domain/admission"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// ListProtocol names list's answer.
const ListProtocol = "engine-list.v1"

// List is list's answer. Setting is the configuration's word, Chosen the engine
// that it stands for now; Notice says why that is not the first choice.
type List struct {
	Protocol string           `json:"protocol_version"`
	Setting  string           `json:"setting"`
	Chosen   isolation.Engine `json:"chosen"`
	Notice   string           `json:"notice"`
	Engines  []Listed         `json:"engines"`
}

// Listed is one engine. ReasonCode is "none" when it is ready; Detail and
// Advice are then empty.
type Listed struct {
	Engine       isolation.Engine       `json:"engine"`
	Endpoint     string                 `json:"endpoint"`
	Reachability admission.Reachability `json:"reachability"`
	Version      string                 `json:"version"`
	APIVersion   string                 `json:"api_version"`
	Runtime      string                 `json:"runtime"`
	ImageDigest  string                 `json:"image_digest"`
	ImagePresent bool                   `json:"image_present"`
	Ready        bool                   `json:"ready"`
	ReasonCode   string                 `json:"reason_code"`
	Detail       string                 `json:"detail"`
	Advice       string                 `json:"advice"`
}

// Service is what `engine list` needs. Configured is nil for auto.
type Service struct {
	Auto       *Auto
	Configured ports.Engine
	Setting    string
	Endpoint   func(isolation.Engine) string
}

// List asks every engine. It changes nothing, and an engine that does not answer
// is part of the answer.
func (s Service) List(ctx context.Context) List {
	v := List{Protocol: ListProtocol, Setting: s.Setting, Engines: []Listed{}}
	all := make([]Judgement, len(s.Auto.Engines))
	for i, e := range s.Auto.Engines {
		j := s.Auto.of(ctx, e)
		all[i] = j
		l := Listed{
			Engine: e.Engine(), Endpoint: s.Endpoint(e.Engine()), Reachability: j.Facts.Reachability,
			Version: j.Facts.Version, APIVersion: j.Facts.APIVersion, Runtime: j.Facts.Runtime,
			ImageDigest: s.Auto.ImageDigest(e.Engine()), ImagePresent: j.Image.Present,
			Ready: j.Ready(), ReasonCode: admission.None,
		}
		if !j.Ready() {
			first := j.Refused[0]
			l.ReasonCode, l.Detail, l.Advice = string(first.Reason), first.Detail, first.Advice
		}
		v.Engines = append(v.Engines, l)
	}
	if s.Configured != nil {
		v.Chosen = s.Configured.Engine()
		return v
	}
	e, notice := s.Auto.pick(func(i int) Judgement { return all[i] })
	v.Chosen, v.Notice = e.Engine(), notice
	return v
}
