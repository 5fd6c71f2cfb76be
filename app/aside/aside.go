// Package aside runs containers that belong to no Run: on an empty workspace that
// carries the id of an admission no ledger knows. The workspace exists before its
// container and goes after it, so that what a killed process left is found again.
package aside

import (
	"context"
	"io"
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

// Scratches are workspaces that carry the id of an admission that no ledger
// knows.
type Scratches interface {
	// Make makes an empty one and holds it until release or the process's end.
	Make(ctx context.Context, a id.Admission) (Scratch, error)
	// Abandoned returns those whose process is dead for sure.
	Abandoned(ctx context.Context) ([]id.Admission, error)
	// Remove removes it. It is idempotent.
	Remove(ctx context.Context, a id.Admission) error
}

// Scratch is an empty workspace.
type Scratch struct {
	Root    string
	ID      isolation.FileID
	Release func()
}

// Yard is where they stand. Owner says whose label an admission's container has;
// Again is the command that clears what could not be removed.
type Yard struct {
	Engine    ports.Engine
	Scratches Scratches
	Owner     func(id.Admission) id.Installation
	Again     string
}

// Run starts a created container, waits for its end, and returns the runner's
// line. The runner's frames go to stdout. It gives up some time after the timeout
// that the runner itself has.
func (y Yard) Run(ctx context.Context, c ports.ContainerID, timeout time.Duration, stdout io.Writer) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout+limits.EngineCall)
	defer cancel()
	out, err := y.Engine.Attach(ctx, c)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	line, frames := make(chan []byte, 1), make(chan struct{})
	go func() {
		defer close(frames)
		_, _ = io.Copy(stdout, out.Stdout)
		_, _ = io.Copy(io.Discard, out.Stdout)
	}()
	go func() {
		b, _ := io.ReadAll(io.LimitReader(out.Stderr, limits.RunnerReportBytes+1))
		_, _ = io.Copy(io.Discard, out.Stderr)
		line <- b
	}()
	// The wait is registered before the start (pitfall A3).
	exit := make(chan error, 1)
	go func() { _, err := y.Engine.Wait(ctx, c); exit <- err }()
	if err := y.Engine.Start(ctx, c); err != nil {
		return nil, err
	}
	if err := <-exit; err != nil {
		return nil, err
	}
	late := time.After(limits.EngineProbeCall)
	select {
	case <-frames:
	case <-late:
		return nil, torn()
	}
	select {
	case b := <-line:
		return b, nil
	case <-late:
		return nil, torn()
	}
}

func torn() error {
	return fault.New(fault.RunnerFailure, "the container ended and its output did not").Hint("try it again")
}

// Sweep removes what killed processes left, and returns how many there were. Only
// a container with exactly the labels of its owner and of a workspace that was made
// here is touched.
func (y Yard) Sweep(ctx context.Context) (int, error) {
	left, err := y.Scratches.Abandoned(ctx)
	if err != nil {
		return 0, err
	}
	for n, a := range left {
		if err := y.Clear(ctx, a); err != nil {
			return n, err
		}
	}
	return len(left), nil
}

// Clear removes the container, proves its absence, and then removes the workspace:
// while that exists somebody will look again.
func (y Yard) Clear(ctx context.Context, a id.Admission) error {
	if err := y.Remove(ctx, a); err != nil {
		return err
	}
	return y.Scratches.Remove(context.WithoutCancel(ctx), a)
}

// Remove removes the container and leaves the workspace. Its caller may be gone.
func (y Yard) Remove(ctx context.Context, a id.Admission) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limits.EngineCall)
	defer cancel()
	found, err := y.Engine.Find(ctx, a)
	for _, c := range found {
		if err == nil {
			err = y.Engine.Remove(ctx, c.ID, ports.Ownership{Admission: a, Installation: y.Owner(a)})
		}
	}
	if err != nil {
		return fault.Wrap(fault.CleanupPending, err, "a container on a workspace of its own could not be removed yet").
			Hint("when the engine answers again, run `%s`", y.Again)
	}
	return nil
}
