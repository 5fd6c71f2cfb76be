package engines

import (
	"context"
	"fmt"
	"io"
	"sync"

	"cyberagent/domain/admission"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

// Auto is the engine that `engine: auto` stands for: the first one that is
// ready, and the first one when none is, so that readiness says what is wrong with
// it. It chooses once, when it is first asked for anything, and then is that
// engine. What is prepared is bound to the choice; execute with another one is
// refused.
type Auto struct {
	Judge

	// Engines in order of preference, at least one.
	Engines []ports.Engine
	// Notice is told, in one sentence, when the choice is not the first engine; nil
	// for nobody.
	Notice func(string)

	once   sync.Once
	choice ports.Engine
}

var _ ports.Engine = (*Auto)(nil)

// Chosen returns the engine, choosing if that was not done yet.
func (a *Auto) Chosen(ctx context.Context) ports.Engine {
	a.once.Do(func() {
		var sentence string
		if a.choice, sentence = a.Choose(ctx); sentence != "" && a.Notice != nil {
			a.Notice(sentence)
		}
	})
	return a.choice
}

// Choose looks anew and returns the engine and, when it is not the first one, a
// sentence that says why.
func (a *Auto) Choose(ctx context.Context) (ports.Engine, string) {
	// Not the caller's cancellation: the choice outlives the call.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limits.EngineCall)
	defer cancel()
	return a.pick(func(i int) Judgement { return a.of(ctx, a.Engines[i]) })
}

// pick is the rule: the first engine that is ready, or else the first.
func (a *Auto) pick(judged func(i int) Judgement) (ports.Engine, string) {
	var first string
	for i, e := range a.Engines {
		switch j := judged(i); {
		case j.Ready() && i == 0:
			return e, ""
		case j.Ready():
			return e, fmt.Sprintf("using %s, for %s is not ready (%s)", e.Engine(), a.Engines[0].Engine(), first)
		case i == 0:
			first = j.Why()
		}
	}
	return a.Engines[0], ""
}

// Engine implements ports.EngineProbe.
func (a *Auto) Engine() isolation.Engine { return a.Chosen(context.Background()).Engine() }

// Probe implements ports.EngineProbe.
func (a *Auto) Probe(ctx context.Context) (admission.EngineFacts, error) {
	return a.Chosen(ctx).Probe(ctx)
}

// Parts implements ports.EngineParts.
func (a *Auto) Parts(ctx context.Context, f admission.EngineFacts) map[string]string {
	return a.Chosen(ctx).Parts(ctx, f)
}

// InspectImage implements ports.Images.
func (a *Auto) InspectImage(ctx context.Context, digest string) (admission.ImageFacts, error) {
	return a.Chosen(ctx).InspectImage(ctx, digest)
}

// Create implements ports.Containers.
func (a *Auto) Create(ctx context.Context, s isolation.Spec) (ports.ContainerID, isolation.Properties, error) {
	return a.Chosen(ctx).Create(ctx, s)
}

// ReadBack implements ports.Containers.
func (a *Auto) ReadBack(ctx context.Context, c ports.ContainerID) (isolation.Properties, error) {
	return a.Chosen(ctx).ReadBack(ctx, c)
}

// Attach implements ports.Containers.
func (a *Auto) Attach(ctx context.Context, c ports.ContainerID) (ports.Output, error) {
	return a.Chosen(ctx).Attach(ctx, c)
}

// Start implements ports.Containers.
func (a *Auto) Start(ctx context.Context, c ports.ContainerID) error {
	return a.Chosen(ctx).Start(ctx, c)
}

// AttachStdin implements ports.Containers.
func (a *Auto) AttachStdin(ctx context.Context, c ports.ContainerID) (io.WriteCloser, error) {
	return a.Chosen(ctx).AttachStdin(ctx, c)
}

// Wait implements ports.Containers.
func (a *Auto) Wait(ctx context.Context, c ports.ContainerID) (ports.Exit, error) {
	return a.Chosen(ctx).Wait(ctx, c)
}

// Stop implements ports.Containers.
func (a *Auto) Stop(ctx context.Context, c ports.ContainerID) error {
	return a.Chosen(ctx).Stop(ctx, c)
}

// Kill implements ports.Containers.
func (a *Auto) Kill(ctx context.Context, c ports.ContainerID) error {
	return a.Chosen(ctx).Kill(ctx, c)
}

// Freeze implements ports.Containers.
func (a *Auto) Freeze(ctx context.Context, c ports.ContainerID) error {
	return a.Chosen(ctx).Freeze(ctx, c)
}

// Thaw implements ports.Containers.
func (a *Auto) Thaw(ctx context.Context, c ports.ContainerID) error {
	return a.Chosen(ctx).Thaw(ctx, c)
}

// Remove implements ports.Containers.
func (a *Auto) Remove(ctx context.Context, c ports.ContainerID, o ports.Ownership) error {
	return a.Chosen(ctx).Remove(ctx, c, o)
}

// Inspect implements ports.Containers.
func (a *Auto) Inspect(ctx context.Context, c ports.ContainerID) (ports.Container, error) {
	return a.Chosen(ctx).Inspect(ctx, c)
}

// Find implements ports.Containers.
func (a *Auto) Find(ctx context.Context, adm id.Admission) ([]ports.Container, error) {
	return a.Chosen(ctx).Find(ctx, adm)
}

// FindOwned implements ports.Containers. It asks every engine, for an earlier
// choice may have left something on another one; it fails only when all do.
func (a *Auto) FindOwned(ctx context.Context, inst id.Installation) ([]ports.Container, error) {
	var all []ports.Container
	var failed error
	answered := false
	for _, e := range a.Engines {
		found, err := e.FindOwned(ctx, inst)
		if err != nil {
			failed = err
			continue
		}
		answered = true
		all = append(all, found...)
	}
	if answered {
		return all, nil
	}
	return nil, failed
}
