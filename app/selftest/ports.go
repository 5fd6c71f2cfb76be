package selftest

import (
	"context"
	"time"

	"cyberagent/domain/id"
)

// Processes starts other processes of this product in the selftest's home.
type Processes interface {
	// Run starts one and waits for its end. An error means that it could not be
	// started or did not end in time.
	Run(ctx context.Context, o Order) (Death, error)
	// Kill starts one and ends it with KILL after a time, if it still is at work.
	Kill(ctx context.Context, o Order, after time.Duration) (Death, error)
}

// Death is how a process ended.
type Death struct {
	// Killed says that KILL ended it.
	Killed bool
	Status int
	Output string // both streams, bounded
}

// Files are what the selftest needs of the host's files.
type Files interface {
	// Source makes a small git repository of its own and returns its path.
	Source(ctx context.Context) (string, error)
	// Lines reads a file of a worktree without following a link; an absent file
	// has none.
	Lines(root, name string) ([]string, error)
	// Listing names every file below the home, but those inside the worktrees.
	Listing() ([]string, error)
}

// Decoys are things that look like the product's own and are not. They must
// survive everything.
type Decoys interface {
	// Plant makes them. owned is the selftest's own installation.
	Plant(ctx context.Context, owned id.Installation) error
	// Touched names those that are not as they were planted.
	Touched(ctx context.Context) ([]string, error)
	// Remove takes exactly them away and says how many.
	Remove(ctx context.Context) (int, error)
}
