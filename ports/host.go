package ports

import (
	"time"

	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
)

// Clock tells time: Now in UTC for records, Boot for leases.
type Clock interface {
	Now() time.Time
	Boot() lifecycle.Boot
}

// IDs makes identifiers of 128 random and time bits.
type IDs interface {
	New(k id.Kind) string
}

// OwnerLocks tells at once whether an owner's process lives: the kernel releases
// its lock when it dies.
type OwnerLocks interface {
	// Hold makes this process the owner until release or death.
	Hold(o id.Owner) (release func(), err error)
	// Dead says that the owner's lock is free for sure. A lock that cannot be
	// looked at is not dead.
	Dead(o id.Owner) bool
	// Sweep forgets dead owners. Before and after it Dead answers the same of every
	// owner.
	Sweep() error
}

// FailPoints are named places where a crash can be asked for. They do nothing
// unless armed.
type FailPoints interface {
	Hit(name string)
}
