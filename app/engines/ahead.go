package engines

import (
	"context"
	"sync/atomic"
	"time"

	"cyberagent/domain/admission"
	"cyberagent/ports"
)

// aheadLife is how long an answer may have been waiting before it is too old: a
// ledger that another process keeps busy may delay the one who wanted it.
const aheadLife = 2 * time.Second

// Ahead is an engine that can be asked what it is before anybody needs to know:
// Docker takes 30 ms for that, in which the ledger can be opened. The answer serves
// the first Probe only; a process that lives on asks anew each time.
type Ahead struct {
	inner

	served atomic.Bool
	life   context.Context //nolint:containedctx // a deadline that an answer carries
	done   chan struct{}   // nil before Begin
	facts  admission.EngineFacts
	err    error
}

// inner is embedded under a name that is not one of its methods'.
type inner = ports.Engine

// NewAhead is e until Begin is called.
func NewAhead(e ports.Engine) *Ahead { return &Ahead{inner: e} }

// Begin asks in the background until ctx ends. It must come before every other
// call, once at most; the returned function ends the asking and waits for it.
func (a *Ahead) Begin(ctx context.Context) (end func()) {
	life, cancel := context.WithTimeout(ctx, aheadLife)
	a.life, a.done = life, make(chan struct{})
	go func() {
		defer close(a.done)
		a.facts, a.err = a.inner.Probe(life)
	}()
	return func() {
		cancel()
		<-a.done
	}
}

// Probe implements ports.EngineProbe: the first answer may be one that was asked
// for ahead. One that is too old, or none, is asked for now.
func (a *Ahead) Probe(ctx context.Context) (admission.EngineFacts, error) {
	if a.done != nil && !a.served.Swap(true) {
		select {
		case <-ctx.Done():
		case <-a.life.Done():
		case <-a.done:
			if a.life.Err() == nil && a.err == nil && a.facts.Reachability == admission.Reachable {
				return a.facts, nil
			}
		}
	}
	return a.inner.Probe(ctx)
}
