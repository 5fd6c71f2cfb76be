package ports

import (
	"context"

	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
)

// HostFacts are what this machine says about itself. An empty text or list means
// that it does not say.
type HostFacts struct {
	OS, Kernel, Arch string // as GOOS, uname -r, GOARCH
	Root             bool   // this process is uid 0
	CgroupVersion    string // "1" or "2"
	Controllers      []string
	Seccomp          bool // the kernel filters system calls
	AppArmor         bool
	SELinux          bool   // enforcing
	Git              string // version
}

// StorageFacts are what a directory lies on. Path is the nearest directory that
// exists.
type StorageFacts struct {
	Path       string
	Filesystem string
	Network    bool // or otherwise outside of this kernel
	Free       drydock.Free
	Writable   bool
	// Access says how the container's user is let in; empty with AccessError.
	Access      drydock.Access
	AccessError string
}

// Machine answers questions about the host. Nothing is changed.
type Machine interface {
	Facts(ctx context.Context) HostFacts
}

// Storage answers what Drydocks below a directory would lie on. Nothing that
// lasts is changed.
type Storage interface {
	Storage(ctx context.Context, dir string) (StorageFacts, error)
}

// LedgerFacts are what a ledger's file says without being opened for writing.
type LedgerFacts struct {
	Path         string
	Present      bool
	Mode         uint32 // permission bits
	Foreign      bool   // owned by another user
	Schema       string // newest applied migration
	Newest       string // newest that this program knows
	Integrity    string // "ok", or what SQLite found
	Installation id.Installation
}

// LedgerProbe examines a ledger and changes nothing of it.
type LedgerProbe interface {
	Examine(ctx context.Context) (LedgerFacts, error)
}
