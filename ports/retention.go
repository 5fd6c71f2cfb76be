package ports

import (
	"context"
	"time"

	"cyberagent/domain/id"
	"cyberagent/domain/retention"
)

// Prunings keeps the receipts of what was pruned, and prunes.
//
// Invariant: of a Run that was pruned nothing is recorded again but events, by
// any caller: its operation keys, old and new, are run_not_eligible.
type Prunings interface {
	// Histories returns the closed Runs that changed last before a time and were not
	// pruned, in the order of their ids.
	Histories(before time.Time) ([]retention.History, error)
	// Prune keeps the receipts and takes away the records of their Runs, inside of
	// Retention.Prune only. It is operation_conflict, and nothing goes, when a Run is
	// not over, was pruned, or has other records than its receipt says.
	Prune(all []retention.Receipt) error
	// Pruning returns (nil, nil) for a Run that was not pruned.
	Pruning(rid id.Run) (*retention.Receipt, error)
}

// Space is what the ledger takes on disk, in bytes: its file and its write-ahead
// log. Reusable is the part of it that is free for new records.
type Space struct{ Bytes, Reusable int64 }

// Retention takes records out of the ledger and gives their room back.
type Retention interface {
	// Prune is Ledger.Write for a function that prunes: one transaction, all or
	// nothing, and every reference is checked before it is kept. Room that is kept
	// for what must end is not used for it (disk_full).
	Prune(ctx context.Context, fn func(Records) error) error
	// Space says what it takes now.
	Space(ctx context.Context) (Space, error)
	// Compact writes the file anew without its free room. Others wait for it.
	Compact(ctx context.Context) error
}
