// Package engines looks at the engines that this build has an adapter for: which
// of them could run a command now, and which one `auto` stands for.
package engines

import (
	"context"

	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// Gather asks an engine what it is and for the image that is configured for a
// repository, "" for all of them. An unreachable engine and an absent image are
// answers; an error is something that could not be found out. The image is asked for
// only where the engine can say.
func Gather(ctx context.Context, e ports.Engine, digest string, from ImageFrom, repository string) (admission.EngineFacts, admission.ImageFacts, error) {
	image := from.Image(e.Engine(), repository, digest)
	facts, err := e.Probe(ctx)
	if err != nil || facts.Reachability != admission.Reachable || !facts.APISupported || !admission.ValidDigest(digest) {
		return facts, image, err
	}
	image, err = from.Inspect(ctx, e, repository, digest)
	return facts, image, err
}

// ImageFrom says who configured an engine's image for a repository, "" for all of
// them, in words for a person, and whether it is for that repository alone. A nil one
// says nothing.
type ImageFrom func(e isolation.Engine, repository string) (said string, alone bool)

// Inspect asks an engine for an image as it is configured, whose digest is well formed.
func (f ImageFrom) Inspect(ctx context.Context, e ports.Engine, repository, digest string) (admission.ImageFacts, error) {
	image := f.Image(e.Engine(), repository, digest)
	found, err := e.InspectImage(ctx, digest)
	found.Configured, found.From, found.Project = image.Configured, image.From, image.Project
	return found, err
}

// Image is an image as it is configured.
func (f ImageFrom) Image(e isolation.Engine, repository, digest string) admission.ImageFacts {
	image := admission.ImageFacts{Configured: digest}
	if f != nil {
		image.From, image.Project = f(e, repository)
	}
	return image
}

// Judge asks engines what they are and judges the answers by the very checks of
// readiness.
type Judge struct {
	// ImageDigest is the one configured image for an engine, "sha256:…".
	ImageDigest  func(isolation.Engine) string
	ImageFrom    ImageFrom
	AllowDesktop bool
}

// Judgement is what one engine says and every reason why readiness would refuse
// it; none means that it is ready.
type Judgement struct {
	Facts   admission.EngineFacts
	Image   admission.ImageFacts
	Refused []admission.Verdict
}

// Ready says whether a command could run on it, as far as the engine goes.
func (j Judgement) Ready() bool { return len(j.Refused) == 0 }

// Why is the first reason in one sentence, empty when ready.
func (j Judgement) Why() string {
	if j.Ready() {
		return ""
	}
	return string(j.Refused[0].Reason) + ": " + j.Refused[0].Detail
}

// Judge asks an engine. An unreachable one and an absent image are answers; an
// error is something that could not be found out.
func (g Judge) Judge(ctx context.Context, e ports.Engine) (Judgement, error) {
	var j Judgement
	var err error
	if j.Facts, j.Image, err = Gather(ctx, e, g.ImageDigest(e.Engine()), g.ImageFrom, ""); err != nil {
		return j, err
	}
	// The gates are this process's, not the engine's.
	j.Refused = admission.Evaluate(admission.Evidence{
		Gates:  admission.AllGates(),
		Engine: &j.Facts, Image: &j.Image, AllowDesktop: g.AllowDesktop,
	})
	return j, nil
}

// of judges an engine; one that cannot be asked is refused.
func (g Judge) of(ctx context.Context, e ports.Engine) Judgement {
	j, err := g.Judge(ctx, e)
	if err != nil {
		return refusal(e, err)
	}
	return j
}

// refusal makes a judgement of an engine about which nothing could be found out.
func refusal(e ports.Engine, err error) Judgement {
	return Judgement{
		Facts: admission.EngineFacts{Engine: e.Engine(), Reachability: admission.Unreachable, Detail: err.Error()},
		Refused: []admission.Verdict{{
			Reason: fault.CodeOf(err), BlockedBy: "backend_not_ready", Remediation: admission.RetryReadiness, Detail: err.Error(), Advice: admission.Advice(admission.RetryReadiness),
		}},
	}
}
