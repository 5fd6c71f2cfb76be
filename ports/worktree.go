package ports

import (
	"context"
	"io"

	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
)

// Sources reads facts about the repository that an operator names. No code that
// the repository or the user's git configuration selects is ever run.
type Sources interface {
	// Inspect takes any path inside a repository. It returns source_unsupported,
	// with the reason, for what a Drydock cannot be made from, and not_found when
	// there is no repository.
	Inspect(ctx context.Context, path string) (drydock.Source, error)
}

// Worktrees makes and reads the files of Drydocks.
//
// Invariants: (1) every byte of a worktree is hostile: no git command reads the
// worktree, its attributes, or a repository nested in it, and no link is
// followed; (2) a Capture is complete or fails: an entry that cannot be read is
// recovery_required, naming it; (3) the worktree's own .git file is never
// written after create; (4) each step can be repeated after a crash.
type Worktrees interface {
	// Create makes the worktree on its own branch, locked, with the files of
	// src.HeadCommit written from raw blobs, the shadow repository, the access
	// for uid 65532, and the first Capture under the Checkpoint's id. Repeating it
	// with the same ids after a crash finishes an exact clean creation and
	// refuses anything else (recovery_required).
	Create(ctx context.Context, d id.Drydock, first id.Checkpoint, src drydock.Source) (drydock.Place, drydock.Capture, error)
	// Capture records the files as a child of parent, under the Checkpoint's id.
	// Repeating it with the same id and the same files is a no-op.
	Capture(ctx context.Context, p drydock.Place, parent, next id.Checkpoint) (drydock.Capture, error)
	// Drift compares the files with a Checkpoint, cheaply, and returns up to most
	// changes, always one when there are any, and how many there are.
	Drift(ctx context.Context, p drydock.Place, c id.Checkpoint, most int) (shown []drydock.Change, all int, err error)
	// Changes lists what differs between two Checkpoints.
	Changes(ctx context.Context, p drydock.Place, from, to id.Checkpoint) ([]drydock.Change, error)
	// Diff writes a unified diff between two Checkpoints, made of plumbing with
	// every option spelled. An empty from means the source's base commit.
	Diff(ctx context.Context, p drydock.Place, from, to id.Checkpoint, w io.Writer) error
	// Verify proves that the Place is what was recorded: root and .git by device,
	// inode, kind, link count and bytes, no link in the path, no mount beneath.
	// It returns integrity_lost, naming what differs.
	Verify(ctx context.Context, p drydock.Place) error
	// ReadFiles reads those of the named files that exist in a directory beneath the
	// root, each a regular file of at most most bytes; a larger one, another kind of
	// entry, or one behind a link is passed over like an absent one. Nothing of
	// them is interpreted.
	ReadFiles(ctx context.Context, p drydock.Place, dir string, names []string, most int64) (map[string][]byte, error)
	// CheckWorkdir proves that a clean relative path is an existing directory
	// beneath the root without any link in it (invalid_argument at workdir).
	CheckWorkdir(ctx context.Context, p drydock.Place, rel string) error
}

// Rewinds brings the files of a Drydock back to a Checkpoint.
//
// Invariants: those of Worktrees, and (1) no link is followed and nothing outside
// of the root is written; (2) an entry that a Capture excludes is never touched:
// where it is in the way, Rewind refuses; (3) unrecorded files are recorded
// before the first of them is replaced; (4) every file that Rewind
// wrote, and every directory that it changed, was read back before the Capture.
type Rewinds interface {
	// Plan compares the files, the current Checkpoint and the target. It lists up
	// to most changes and changes nothing.
	Plan(ctx context.Context, p drydock.Place, current, target id.Checkpoint, most int) (drydock.Plan, error)
	// Rewind makes the files and the raw index those of the target and records
	// them under o.Next. Another state than the confirmed one is
	// trust_digest_mismatch. Repeating it with the same order after a crash goes on
	// where the first ended.
	//
	// What was not recorded is recorded under o.Saved first, and saved is told of it
	// before any file is changed, again by each repetition: a rewind that is cut off
	// and never repeated must not be all that knows of it. When it fails, nothing is
	// changed.
	Rewind(ctx context.Context, p drydock.Place, o drydock.RewindOrder, saved func(drydock.Capture) error) (drydock.Rewound, error)
	// Adopt makes the files of a new Drydock those of a Checkpoint of another one
	// of the same base commit, and records them under next. Repeating it goes on.
	Adopt(ctx context.Context, p drydock.Place, parent, next id.Checkpoint, from drydock.Place, target id.Checkpoint) (drydock.Capture, error)
}

// Deliveries hands out what a Run made.
//
// Invariant: nothing is handed out that was not proven, and the source is not
// written to.
type Deliveries interface {
	// Deliver makes the patch from the base commit to a Checkpoint, proves that
	// `git apply` of it gives the Checkpoint's tree, and only then gives it its
	// name. Repeating it answers the same. It returns unsupported, with git's
	// reason, for a Checkpoint that plain git would not apply.
	Deliver(ctx context.Context, p drydock.Place, c id.Checkpoint) (drydock.Delivery, error)
}

// Remnants removes Drydocks from this host.
//
// Invariants: (1) content first, registration second, the product's own records
// last; each step can be repeated; (2) only what is proven to be the Drydock's
// own is removed: by device and inode, by the registration's way back and lock
// reason, by the commit of a ref; anything else is kept and named; (3) no link is
// followed, no mount is entered, nothing outside is touched.
type Remnants interface {
	// Survey says what is there and changes nothing.
	Survey(ctx context.Context, d drydock.Drydock) (drydock.Remains, error)
	// Clean removes it. Kept is empty when nothing is left. It answers in bounded
	// time; a repeated call goes on.
	Clean(ctx context.Context, d drydock.Drydock) (drydock.Remains, error)
	// Strays names directories of Drydocks that are none of the known ones. They
	// are never removed.
	Strays(ctx context.Context, known []id.Drydock) ([]drydock.Doubt, error)
	// History says what the Checkpoints take; Compact joins them into one pack.
	History(ctx context.Context, p drydock.Place) (drydock.Storage, error)
	Compact(ctx context.Context, p drydock.Place) (before, after drydock.Storage, err error)
	// Idle says that no process is at work on the Drydock's files right now.
	Idle(ctx context.Context, did id.Drydock) bool
}

// Masks owns the file that is mounted over /workspace/.git.
type Masks interface {
	// Mask makes the file if it is absent and returns what an open without
	// following links finds. It never repairs: the domain judges the facts.
	Mask(ctx context.Context) (isolation.MaskFacts, error)
}

// Meter measures a Drydock from the host, as the backstop of the runner.
type Meter interface {
	Free(ctx context.Context, root string) (drydock.Free, error)
	// Usage walks the whole tree. A vanishing entry is no error; one that cannot
	// be read is.
	Usage(ctx context.Context, root string) (drydock.Usage, error)
	// Hidden sums what the processes in the pid namespace of a host process hold
	// open, or mapped, on root's filesystem without a name: bytes on disk. It says
	// false when this process may not look (an ordinary user) or cannot (not Linux).
	// A descriptor in flight between processes is not seen.
	Hidden(ctx context.Context, root string, pid int) (bytes int64, known bool)
	// Namespaces returns the inode numbers of this process's own namespaces; nil
	// where the host has none to compare (not Linux).
	Namespaces() map[string]uint64
}
