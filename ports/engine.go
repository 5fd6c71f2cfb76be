// Package ports holds what the use cases need of the outside: small interfaces
// in the domain's words, each with its invariants. Adapters implement them and
// translate their errors to package fault at their edge.
package ports

import (
	"context"
	"io"
	"time"

	"cyberagent/domain/admission"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
)

// EngineProbe asks the engine what it is. Nothing is changed by it.
//
// Invariants: (1) an engine that cannot be reached is an answer with
// Reachability set, not an error; (2) it answers within EngineProbeCall.
type EngineProbe interface {
	Engine() isolation.Engine
	Probe(ctx context.Context) (admission.EngineFacts, error)
}

// Images reads images that are already present. Nothing is ever pulled.
//
// Invariants: (1) exactly one image matches a digest, by its config digest or
// by its manifest digest, or the answer is image_unavailable; (2) an absent
// image is an answer with Present false, not an error.
type Images interface {
	// InspectImage takes "sha256:<64 hex>".
	InspectImage(ctx context.Context, digest string) (admission.ImageFacts, error)
}

// ImageStore exports bases for and loads the result of fixture build.
type ImageStore interface {
	Images
	// ResolveBase takes "name@sha256:<64 hex>" and returns the engine's image id.
	// It returns fixture_base_absent when no present image has that name and
	// digest.
	ResolveBase(ctx context.Context, ref string) (string, error)
	// Export streams the image in docker-archive form. The caller closes it.
	Export(ctx context.Context, imageID string) (io.ReadCloser, error)
	// Load reads a docker-archive and returns nothing: the caller knows the
	// digests that it made. tag is random and owned by the caller.
	Load(ctx context.Context, archive io.Reader) error
	// Untag removes one tag that the caller owns; the image itself stays if
	// another name or the digest still holds it.
	Untag(ctx context.Context, tag string) error
	// Tagged lists the tags of one repository ("host/name", without a tag) that
	// present images have, sorted by tag.
	Tagged(ctx context.Context, repository string) ([]TaggedImage, error)
}

// TaggedImage is one tag of a present image, whose ID is what InspectImage says.
type TaggedImage struct {
	Tag string
	ID  string
}

// ContainerID is the engine's own id of a container.
type ContainerID string

// ContainerState says what an engine knows of a container's process.
type ContainerState string

// The states. Anything an engine says beyond them is StateOther.
const (
	StateCreated ContainerState = "created"
	StateRunning ContainerState = "running"
	StatePaused  ContainerState = "paused"
	StateExited  ContainerState = "exited"
	StateOther   ContainerState = "other"
)

// Container is one container as the engine reports it. Times are UTC; StartedAt
// is zero when its process never started. ExitCode is what the engine says and
// is evidence only.
type Container struct {
	ID         ContainerID
	Name       string
	Labels     map[string]string
	State      ContainerState
	StartedAt  time.Time
	FinishedAt time.Time
	ExitCode   int
	OOMKilled  bool
	Error      string
	// PID is the runner's process id on this host, 0 when it does not run or the
	// engine cannot say.
	PID int
}

// Exit is what Wait saw.
type Exit struct {
	Code      int
	OOMKilled bool
	// Interrupted says that the process ended with the engine, not by itself
	// (pitfall A9): the code means nothing.
	Interrupted bool
}

// Output is the attachment to a container's two streams, made before start.
// Stdout carries the runner's frames, Stderr its report. Both end with EOF when
// the container's process ended and everything was delivered, or with an error
// when the attachment broke. Both must be read at the same time, to the end or to
// Close: engines deliver them through one connection, and one that is not read
// stops. Close ends the attachment at once and never hangs.
type Output struct {
	Stdout io.Reader
	Stderr io.Reader
	Close  func() error
}

// Containers is the life of one container.
//
// Invariants, each a check of adapters/conformance:
//
//  1. Create is deterministic in name and labels: a repeated Create finds the
//     same container and never makes a second one; a container of that name with
//     other labels is recovery_required and is not touched.
//  2. Create never leaves a container that FindOwned does not find, also when
//     its context ends in the middle.
//  3. Start sends exactly one start request, whatever the answer.
//  4. Attach before Start delivers every byte of both streams.
//  5. Wait answers only when the process has ended, never for a container that
//     has not started.
//  6. Remove returns nil only when absence is proven; it touches nothing but the
//     exact container with the exact labels. Absent is one of which no process
//     lives either, also when the engine has forgotten it.
//  7. No call outlives its context by more than a second.
//
// Errors: daemon_unreachable, daemon_permission_denied, api_unsupported,
// engine_timeout, engine_failure, not_found, recovery_required, start_failed
// (Start), image_unavailable and image_profile_unsafe (Create), cleanup_pending
// (Remove, for a process that cannot be ended).
type Containers interface {
	// Create makes the container and returns what the engine reports of it.
	Create(ctx context.Context, spec isolation.Spec) (ContainerID, isolation.Properties, error)
	// ReadBack reports an existing container's configuration anew.
	ReadBack(ctx context.Context, c ContainerID) (isolation.Properties, error)
	// Attach must be called between Create and Start.
	Attach(ctx context.Context, c ContainerID) (Output, error)
	// Start is sent once and is not idempotent. start_failed means that the
	// process did not start for sure; any other error leaves that open.
	Start(ctx context.Context, c ContainerID) error
	// AttachStdin makes the one input-only attachment of a running container
	// whose spec has a pipe, also when it is frozen for a moment. Closing it gives
	// the command its EOF.
	AttachStdin(ctx context.Context, c ContainerID) (io.WriteCloser, error)
	// Wait blocks until the process ended. It may be called before Start.
	Wait(ctx context.Context, c ContainerID) (Exit, error)
	// Stop sends TERM to the runner; Kill sends KILL. Both are idempotent and nil
	// for a container that has ended.
	Stop(ctx context.Context, c ContainerID) error
	Kill(ctx context.Context, c ContainerID) error
	// Freeze and Thaw stop and continue every process of the container.
	Freeze(ctx context.Context, c ContainerID) error
	Thaw(ctx context.Context, c ContainerID) error
	// Remove kills if needed, removes, and proves absence. It is idempotent.
	Remove(ctx context.Context, c ContainerID, owner Ownership) error
	// Inspect returns not_found when there is none.
	Inspect(ctx context.Context, c ContainerID) (Container, error)
	// Find returns every container that has the admission's name or its
	// admission label, whoever made it.
	Find(ctx context.Context, a id.Admission) ([]Container, error)
	// FindOwned returns every container with the installation's label.
	FindOwned(ctx context.Context, inst id.Installation) ([]Container, error)
}

// Ownership is what a container's labels must say before it is touched.
type Ownership struct {
	Admission    id.Admission
	Installation id.Installation
}

// EngineParts tells of what an engine consists.
type EngineParts interface {
	// Parts returns the versions of the engine's parts by name: runc, containerd. A
	// version that nobody tells is absent. No check looks at them and an engine may
	// have to start programs to say them, so only a person's question is worth it.
	Parts(ctx context.Context, f admission.EngineFacts) map[string]string
}

// Engine is everything that an engine adapter offers.
type Engine interface {
	EngineProbe
	EngineParts
	Images
	Containers
}
