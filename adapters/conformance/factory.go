package conformance

import (
	"context"
	"io"

	"cyberagent/ports"
)

// Engine is what the suite asks of an adapter.
type Engine interface {
	ports.Engine
	ports.ImageStore
}

// Factory is one engine under test. All fields but Name and Open may be empty;
// for an engine with real processes that fails the checks that need them.
type Factory struct {
	// Name is the row of the matrix, for example "Docker 20.10".
	Name string
	// Open makes a client of its own, as another process would have.
	Open func() (Engine, error)
	// Socket is where it listens, for attacks on it.
	Socket string
	// NoKernel is why checks that need real processes do not apply. Empty for every
	// engine but the one in memory.
	NoKernel string
	// Between makes a client whose requests pass somebody who changes them.
	Between func(Tamper) (Engine, io.Closer, error)
	// Form chooses the words in which Between gives requests to a Tamper.
	Form Form
	// Destroy removes an owner's container although its name or labels say something
	// else. The suite calls it for what its own sabotages made and no adapter may
	// touch.
	Destroy func(context.Context, ports.ContainerID, ports.Ownership) error
	// Private starts an engine of the suite's own, which may be killed.
	Private func(context.Context) (Private, error)
	// Survives says that containers run on while their engine is away, as the
	// engine promises. Otherwise they end with it, and that must be told.
	Survives bool
	// Kept lists what the adapter keeps on disk for its containers; it must be empty
	// when the last container is removed. Nil for an adapter that keeps nothing.
	Kept func() ([]string, error)
}

// Private is an engine that only the suite uses. Its methods are called one at a
// time.
type Private struct {
	Open func() (Engine, error)
	// Kill ends the engine's own process with KILL, not its containers.
	Kill func() error
	// Stop ends the engine as its service manager would.
	Stop func() error
	// Start brings it up again, with the same state, and waits until it answers.
	Start func() error
	// Close ends everything that was started and removes it.
	Close func() error
}

// Form names an engine's words for a request.
type Form string

// The forms.
const (
	// FormDocker is the body of Docker's POST /containers/create, with the name as
	// the additional key "name".
	FormDocker Form = "docker"
	// FormOCI is the OCI runtime specification, with the additional key "record"
	// that holds what the engine keeps beside it: "id", "labels", "image".
	FormOCI Form = "oci"
)

// Tamper is what somebody between an adapter and its engine does.
type Tamper struct {
	// Create changes the request to create, nil for nothing.
	Create func(Object)
	// Forge answers questions about the container as if nothing had been changed.
	Forge bool
	// Warn adds a warning to the engine's answer to create. Engines without such
	// answers ignore it.
	Warn string
	// LoseStart lets the request to start pass and cuts off its answer.
	LoseStart bool
	// LoseCreate does the same for create.
	LoseCreate bool
	// Started is called for every request to start.
	Started func()
}

// Object is a JSON object.
type Object map[string]any

// In returns the object below a path of keys, made if it is not there.
func (o Object) In(keys ...string) Object {
	for _, k := range keys {
		switch v := o[k].(type) {
		case Object:
			o = v
		case map[string]any:
			o = v
		default:
			next := Object{}
			o[k] = next
			o = next
		}
	}
	return o
}
