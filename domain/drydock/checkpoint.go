package drydock

import (
	"time"

	"cyberagent/domain/id"
)

// Origin says what a Checkpoint was made for.
type Origin string

// The origins.
const (
	OriginCreate   Origin = "create"
	OriginOperator Origin = "operator"
	OriginCommand  Origin = "command"
	OriginRecovery Origin = "recovery"
	OriginRewind   Origin = "rewind"
)

// Capture is one exact recording of the Drydock's files as the adapter made it:
// a commit of the shadow repository and the raw index beside it.
type Capture struct {
	Commit      string     `json:"commit"`
	Tree        string     `json:"tree"`
	IndexSHA256 string     `json:"index_sha256"` // of the raw git index, empty when there is none
	Entries     int64      `json:"entries"`
	Bytes       int64      `json:"bytes"`
	Changed     Counts     `json:"changed"` // against the parent
	Excluded    []Excluded `json:"excluded"`
}

// Counts are numbers of paths.
type Counts struct {
	Added    int64 `json:"added"`
	Modified int64 `json:"modified"`
	Deleted  int64 `json:"deleted"`
}

// Total is the number of changed paths.
func (c Counts) Total() int64 { return c.Added + c.Modified + c.Deleted }

// Excluded is an entry that git cannot represent, left untouched on disk and
// never entered. Path is quoted as Go does, for names are bytes.
type Excluded struct {
	Path   string `json:"path"`
	Reason string `json:"reason"` // nested_repository, fifo, socket, device, mount_point, gitmodules_link
}

// Checkpoint is the ledger's immutable record of one Capture.
type Checkpoint struct {
	ID         id.Checkpoint
	Drydock    id.Drydock
	Run        id.Run
	Parent     id.Checkpoint // empty for the first
	Generation int64         // the Drydock's after it
	Origin     Origin
	Admission  id.Admission // empty unless OriginCommand or OriginRecovery
	Receipt    id.Receipt
	Capture    Capture
	CreatedAt  time.Time
}

// Change is one path that differs between two trees.
type Change struct {
	Path string // quoted as Go does where it is not plain text
	Kind ChangeKind
}

// ChangeKind says how a path differs.
type ChangeKind string

// The kinds of changes.
const (
	Added    ChangeKind = "added"
	Modified ChangeKind = "modified"
	Deleted  ChangeKind = "deleted"
)

// Usage is what a tree holds: Bytes is the sum over inodes of max(allocated,
// size), Entries the number of names below the root (contract section 3).
type Usage struct {
	Bytes   int64
	Entries int64
}

// Free is what a filesystem has left for us. InodesKnown is false where it
// reports no inode count.
type Free struct {
	Bytes       int64
	Inodes      int64
	InodesKnown bool
}
