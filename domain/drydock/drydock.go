// Package drydock holds the Run-owned git worktree as a value: its recorded
// state, its Checkpoints, and what a comparison of two trees found. A Drydock is
// ownership, attribution, Checkpoint and recovery; it is not a sandbox.
package drydock

import (
	"time"

	"cyberagent/domain/canon"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
)

// Status is where a Drydock is in its life.
type Status string

// The statuses.
const (
	Preparing        Status = "preparing"
	Ready            Status = "ready"
	Delivered        Status = "delivered"
	RecoveryRequired Status = "recovery_required"
	Cleaned          Status = "cleaned"
)

// Access says how uid 65532 is let into the tree.
type Access string

// The ways: the tree is given to 65532 (root), or POSIX ACLs (ordinary user).
const (
	AccessOwner Access = "owner"
	AccessACL   Access = "acl"
)

// Source are the facts about the repository that a Drydock is made from. They
// are shown to a person, whose confirmation is bound to TrustDigest.
type Source struct {
	TopLevel     string `json:"top_level"`     // absolute, symlinks resolved
	CommonDir    string `json:"common_dir"`    // absolute, symlinks resolved
	ObjectFormat string `json:"object_format"` // sha1 or sha256
	HeadCommit   string `json:"head_commit"`
	HeadBranch   string `json:"head_branch"` // empty when detached
	Entries      int64  `json:"entries"`
	Bytes        int64  `json:"bytes"` // of blobs
	// Dirty is what the source's working tree has beyond its HEAD. It is
	// reported and not copied.
	Dirty Dirty `json:"dirty"`
	// Notices are facts that a person should know: submodules that stay empty,
	// filters that are not applied, LFS pointers.
	Notices []string `json:"notices"`
}

// Dirty counts uncommitted content of the source and names up to 20 paths.
type Dirty struct {
	Modified  int      `json:"modified"`
	Untracked int      `json:"untracked"`
	Paths     []string `json:"paths"`
}

// TrustDigest is what the operator confirms.
func (s Source) TrustDigest() string { return canon.Digest(s) }

// Place is where a Drydock lies on this host and what proves that it is still
// the same: never stored in events.
type Place struct {
	Root      string // the worktree, mounted on /workspace
	Shadow    string // the product's own bare repository with the Checkpoints
	CommonDir string // the source's
	Branch    string
	RootID    isolation.FileID
	// Control is the worktree's own .git file, which is never replaced.
	ControlID     isolation.FileID
	ControlSHA256 string
	Access        Access
}

// Drydock is the recorded state. Generation starts at 1 with the first
// Checkpoint; every change of the recorded state adds one.
type Drydock struct {
	ID         id.Drydock
	Run        id.Run
	Status     Status
	Generation int64
	Checkpoint id.Checkpoint
	Source     Source
	Place      Place
	Reason     string // why recovery is required
	CreatedAt  time.Time
	UpdatedAt  time.Time
	ExpiresAt  time.Time
}

// BindingDigest is what preparations and approvals bind to: the Drydock, its
// generation, its Checkpoint and its base, never a host path.
func (d Drydock) BindingDigest() string {
	return canon.Digest(struct {
		Drydock    id.Drydock    `json:"drydock_id"`
		Run        id.Run        `json:"run_id"`
		Generation int64         `json:"generation"`
		Checkpoint id.Checkpoint `json:"checkpoint_id"`
		Base       string        `json:"base_commit"`
		Control    string        `json:"control_sha256"`
	}{d.ID, d.Run, d.Generation, d.Checkpoint, d.Source.HeadCommit, d.Place.ControlSHA256})
}

// Advance records a new Checkpoint: the next generation, ready.
func (d Drydock) Advance(c id.Checkpoint, now time.Time) Drydock {
	d.Generation++
	d.Checkpoint, d.Status, d.Reason, d.UpdatedAt = c, Ready, "", now
	return d
}

// Keep records a Checkpoint of files that are about to be replaced: the next
// generation, and the Drydock is as much in doubt as before.
func (d Drydock) Keep(c id.Checkpoint, now time.Time) Drydock {
	d.Generation++
	d.Checkpoint, d.UpdatedAt = c, now
	return d
}

// Quarantine records that an operator must look: the next generation,
// recovery_required. The Checkpoint stays.
func (d Drydock) Quarantine(reason string, now time.Time) Drydock {
	d.Generation++
	d.Status, d.Reason, d.UpdatedAt = RecoveryRequired, reason, now
	return d
}
