package drydock

import "cyberagent/domain/id"

// Plan is what a rewind would do, from three sides: the current Checkpoint, the
// files as they are, and the target. It is shown to a person, whose confirmation
// is bound to Digest. Nothing was changed to make it.
type Plan struct {
	Current id.Checkpoint
	Target  id.Checkpoint
	// Digest covers every path with its contents on all three sides, not only
	// those that are listed.
	Digest string
	// Counts are of the paths on disk that the rewind changes, Changes are the
	// first of them.
	Counts  Counts
	Changes []PlanChange
	// Unrecorded says how many paths on disk differ from the current Checkpoint.
	// They are recorded as a Checkpoint of their own before a file is touched.
	Unrecorded int64
	// Index says that the raw git index is replaced, too.
	Index bool
	// Blocked are excluded entries that stand where the target has something
	// else. A plan with any is refused.
	Blocked []Excluded
	// Interrupted says that an earlier rewind was cut off: the files are neither
	// the one nor the other, and are not recorded before they are replaced.
	Interrupted bool
}

// PlanChange is one path that a rewind changes on disk.
type PlanChange struct {
	Path string     `json:"path"`
	Kind ChangeKind `json:"kind"`
	// Unrecorded says that what is there now is not in the current Checkpoint.
	Unrecorded bool `json:"unrecorded"`
}

// RewindOrder names the Checkpoints of one rewind. Saved is the id under which
// unrecorded files are kept, if there are any; Next is the one that is appended.
// Digest is the Plan's that was confirmed.
type RewindOrder struct {
	Current, Target, Saved, Next id.Checkpoint
	Digest                       string
}

// Rewound is what a rewind recorded. Saved is nil when every file was recorded
// before.
type Rewound struct {
	Saved  *Capture
	Result Capture
}
