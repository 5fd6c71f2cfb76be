package drydock

// Delivery is a patch that was proven: applied to the base commit in a scratch
// index it gave exactly the Checkpoint's tree.
type Delivery struct {
	File       string // the patch on this host, the operator's own, never written again
	SHA256     string
	Bytes      int64
	BaseCommit string
	BaseTree   string
	Tree       string
	Changed    Counts
	// EmptyDirectories are in the Checkpoint and cannot be in a patch.
	EmptyDirectories int64
	Excluded         []Excluded
}

// Remains is what of a Drydock is on this host, or was before a Clean. Digest is
// what a person confirms.
type Remains struct {
	Digest       string
	Content      Usage // of the worktree
	Shadow       Usage // of the Checkpoints
	Worktree     bool
	Registration bool
	Branch       bool
	Pin          bool // the ref that keeps the base commit
	// Untouched says that the doubts forbid to remove anything at all.
	Untouched bool
	// Pending says that something of the Drydock's own is left, to be removed by
	// another Clean.
	Pending bool
	// Kept is what is not removed, and why: anything in doubt.
	Kept []Doubt
}

// Doubt is one thing that is kept because it cannot be proven to be the
// Drydock's own, or cannot be removed. What is quoted as Go does.
type Doubt struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Storage is what the Checkpoints of a Drydock take on disk.
type Storage struct {
	Bytes int64
	Packs int64
}

// Repaired is what the runner said after it gave access back.
type Repaired struct {
	// Unreadable names up to 20 entries that stay closed, quoted as Go does.
	Unreadable []string
	// Intact says that the root and the mask were what they were before.
	Intact bool
	Detail string
}
