package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/phrase"
	"cyberagent/ports"
)

// engines looks at each configured engine. Where one falls back to another, it is
// enough that one of them can be used.
func (s *Service) engines(ctx context.Context, r *Report, ledger ports.LedgerFacts) {
	parts := make([]Report, len(s.Engines))
	usable := false
	for i, e := range s.Engines {
		s.engine(ctx, e, &parts[i])
		usable = usable || parts[i].Status != Failure
	}
	for i, p := range parts {
		for _, f := range p.Findings {
			if f.Status == Failure && usable && len(parts) > 1 {
				f.Status, f.Detail = Warning, f.Detail+" (the other engine can be used)"
			}
			r.add(f.Check, f.Status, f.Detail, f.Remedy)
		}
		if p.Status != Failure {
			s.leftovers(ctx, r, s.Engines[i], ledger)
		}
	}
}

func (s *Service) engine(ctx context.Context, e ports.Engine, r *Report) {
	name := string(e.Engine())
	f, err := e.Probe(ctx)
	if err != nil {
		fe := fault.From(err)
		r.add(name, Failure, fe.Error(), fe.Remedy)
		return
	}
	refused := admission.Evaluate(s.evidence(&f, nil))
	for _, v := range refused {
		r.add(name, Failure, v.Detail, paste(e.Engine(), v))
	}
	if f.Reachability != admission.Reachable {
		return
	}
	if len(refused) == 0 {
		detail := fmt.Sprintf("%s %s, API %s, %s/%s, %d CPUs, %s", name, f.Version, f.APIVersion, f.OSType, f.Architecture, f.CPUs, mib(f.MemoryBytes))
		r.add(name, OK, detail, "")
	}
	for _, k := range KnownFaults(e.Parts(ctx, f)) {
		r.add(name+"/versions", Warning, fmt.Sprintf("%s %s is older than the fix of %s: %s", k.Component, k.Version, k.ID, k.What),
			"upgrade to "+k.Fixed+", or see whether your distribution carries the fix under this version")
	}
	s.image(ctx, e, f, "", s.ImageDigest(e.Engine()), r)
	for _, repository := range slices.Sorted(maps.Keys(s.Projects)) {
		s.image(ctx, e, f, repository, s.Projects[repository], r)
	}
}

// image judges the image for all repositories, or that for one.
func (s *Service) image(ctx context.Context, e ports.Engine, engine admission.EngineFacts, repository, digest string, r *Report) {
	name, remedy := "image", func(v admission.Verdict) string { return paste(e.Engine(), v) }
	if repository != "" {
		name = "image of " + repository
		remedy = func(admission.Verdict) string {
			return "cyberagent --engine " + string(e.Engine()) + " fixture build --project " + phrase.Word(repository) +
				" (or the directory below it that has the lockfile)"
		}
	}
	facts := s.ImageFrom.Image(e.Engine(), repository, digest)
	if admission.ValidDigest(digest) {
		var err error
		if facts, err = s.ImageFrom.Inspect(ctx, e, repository, digest); err != nil {
			fe := fault.From(err)
			r.add(name, Failure, fe.Error(), fe.Remedy)
			return
		}
	}
	// The image is judged together with its engine; the engine's own refusals are
	// reported already.
	refused := slices.DeleteFunc(admission.Evaluate(s.evidence(&engine, &facts)), func(v admission.Verdict) bool {
		return !strings.HasPrefix(v.Check, "image_")
	})
	severity := Failure
	if repository != "" {
		severity = Warning // all other Runs can go on
	}
	for _, v := range refused {
		r.add(name, severity, v.Detail, remedy(v))
	}
	if len(refused) == 0 {
		r.add(name, OK, fmt.Sprintf("%s is in %s, %s, and fit for use", digest, e.Engine(), mib(facts.SizeBytes)), "")
	}
}

// paste is a command where there is one, and readiness' own advice otherwise.
func paste(e isolation.Engine, v admission.Verdict) string {
	build := "cyberagent --engine " + string(e) + " fixture build"
	commands := map[admission.Remediation]string{
		admission.StartDocker:     "systemctl start docker (or: apt-get install docker.io)",
		admission.StartContainerd: "systemctl start containerd (or: apt-get install containerd)",
		admission.BuildImage:      build,
		admission.RebuildImage:    build,
	}
	c := commands[v.Remediation]
	switch {
	case c == "":
		return v.Advice
	case v.Source != "":
		return c + ", or correct where it is looked for: " + v.Source
	}
	return c
}
