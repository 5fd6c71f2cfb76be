package gitdrydock

import (
	"sync"

	"cyberagent/ports"
)

// Config says where the adapter works. The zero value of every field but Home
// is usable.
type Config struct {
	Home string // $CYBERAGENT_HOME: absolute; made with mode 0700 when absent
	Git  string // path of the git program; looked up in PATH when empty
}

// Drydocks makes, reads and measures Drydocks. It is safe for concurrent use,
// by several processes on one Home too: the locks are files.
type Drydocks struct {
	cfg Config
	// reached is called after each step of Create and Capture that a crash could
	// separate from the next. Tests stop there; nil otherwise.
	reached func(step string) error

	once   sync.Once
	layout layout
	err    error
}

// New stores the configuration and touches nothing.
func New(cfg Config) *Drydocks { return &Drydocks{cfg: cfg} }

func (d *Drydocks) at(step string) error {
	if d.reached == nil {
		return nil
	}
	return d.reached(step)
}

var (
	_ ports.Sources    = (*Drydocks)(nil)
	_ ports.Worktrees  = (*Drydocks)(nil)
	_ ports.Rewinds    = (*Drydocks)(nil)
	_ ports.Deliveries = (*Drydocks)(nil)
	_ ports.Remnants   = (*Drydocks)(nil)
	_ ports.Masks      = (*Drydocks)(nil)
	_ ports.Meter      = (*Drydocks)(nil)
)
