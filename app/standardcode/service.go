// Package standardcode holds the use cases of the product's one job: an
// approved Command runs once, offline, in the fixed container, and its result
// is a new Checkpoint. Readiness, prepare, execute, status, cancel, recover.
package standardcode

import (
	"context"
	"time"

	"cyberagent/app/engines"
	"cyberagent/domain/admission"
	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// Settings are the operator's configuration that these use cases need.
type Settings struct {
	// ImageDigest is the one configured image for an engine and a Run's source
	// repository, "sha256:…".
	ImageDigest  func(e isolation.Engine, repository string) string
	ImageFrom    engines.ImageFrom
	AllowDesktop bool
}

// Service is the use cases over their ports.
type Service struct {
	Ledger ports.Ledger
	// Engine is the configured engine; EngineFor finds the one that an older
	// admission ran on.
	Engine    ports.Engine
	EngineFor func(isolation.Engine) (ports.Engine, error)
	Worktrees ports.Worktrees
	Masks     ports.Masks
	Meter     ports.Meter
	Clock     ports.Clock
	IDs       ports.IDs
	Locks     ports.OwnerLocks
	Settings  Settings
	// Fail is nil but in the child of `selftest crash`.
	Fail ports.FailPoints
}

// Request is what readiness, prepare and execute have in common: a Command
// against the exact state that the caller believes to be current.
type Request struct {
	Run        id.Run
	Generation int64
	Checkpoint id.Checkpoint
	Gates      admission.Gates
	Command    command.Input
	Stdin      isolation.Stdin // empty means closed
}

func (r Request) requested() *admission.Requested {
	return &admission.Requested{Generation: r.Generation, Checkpoint: r.Checkpoint}
}

// check validates what needs no ledger and no engine: the Command and the gates.
func (r *Request) check() (command.Command, error) {
	if r.Stdin == "" {
		r.Stdin = isolation.StdinClosed
	}
	c, err := command.New(r.Command)
	if err != nil {
		return c, err
	}
	if refused := admission.Evaluate(admission.Evidence{Gates: r.Gates}); len(refused) > 0 {
		return c, admission.Error(refused)
	}
	return c, nil
}

// detached gives clean-up a context that the caller's cancellation does not end.
func detached(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d)
}

// event is a short form.
func event(rid id.Run, kind, subject string, at time.Time, detail ...string) ports.Event {
	e := ports.Event{Run: rid, Kind: kind, Subject: subject, At: at}
	for i := 0; i+1 < len(detail); i += 2 {
		if e.Detail == nil {
			e.Detail = map[string]string{}
		}
		e.Detail[detail[i]] = detail[i+1]
	}
	return e
}

// is says whether err is a fault of the code.
func is(err error, c fault.Code) bool { return err != nil && fault.CodeOf(err) == c }
