// Package gitdrydock makes Drydocks: git worktrees whose every byte is taken to
// be hostile, and the Checkpoints of their files.
//
// # On disk
//
// Everything lies below $CYBERAGENT_HOME, mode 0700, outside of any Drydock:
//
//	drydocks/<drydock id>/tree/       the worktree; the only thing a container sees
//	drydocks/<drydock id>/shadow.git/ bare repository of ours with the Checkpoints
//	drydocks/<drydock id>/intent.json what Create set out to do
//	drydocks/<drydock id>/place.json  what Create made, written last
//	drydocks/<drydock id>/cache       stat cache; checksummed; never needed for truth
//	drydocks/<drydock id>/lock        one flock a Drydock
//	drydocks/<drydock id>/rewind.json a rewind that changes files: neither the one nor the other
//	deliveries/<ids>.patch            proven patches; the operator's, never removed
//	locks/<digest>                    one flock a source repository
//	mask/git-mask                     the file mounted over /workspace/.git
//	void/                             an empty directory: git's HOME and working directory
//
// In the source: the branch cyberagent/drydock/<id>, the ref
// refs/cyberagent/drydock/<id>/base that keeps the base commit from being
// pruned, and one locked worktree registration. Nothing else is written there.
//
// # A Checkpoint
//
// A Checkpoint is one commit at refs/cyberagent/checkpoints/<id> of the shadow
// repository, child of its parent Checkpoint, with fixed author and date, and
// counts as JSON in its message:
//
//	tree/              the files, links and submodules, as git records them
//	meta/dirs          empty directories, each path followed by NUL
//	meta/excluded      "<reason> <path>" of what git cannot represent, each followed by NUL
//	meta/submodules    "<object> <path>" of the base commit's submodules, each followed by NUL
//	meta/index         the worktree's raw git index, when it has one
//
// A path that git records as a submodule of the base commit is a submodule as
// long as it is an empty directory, and plain files otherwise.
//
// New objects go to shadow.git/store, which has no alternates: fast-import
// drops what it finds elsewhere, and what it finds in the source could be
// pruned there. shadow.git/objects holds nothing itself and names the store and
// the source's objects as alternates, so that plain git can read every
// Checkpoint. Of the source, a Checkpoint needs only what the base commit
// reaches.
//
// # A rewind
//
// Three sides are compared: the current Checkpoint, the files, the target. What
// no Checkpoint has becomes one. Then rewind.json is written, files and
// directories go, directories and files come (each name anew, none is written
// into), the raw index is put back, what was touched is read back and
// must be the target's, and that walk is recorded with the target's own tree. A repeated
// call goes on from rewind.json.
//
// # Absences
//
// No git command of this package reads the worktree, its attributes, or a
// repository nested in it; none reads the user's or the system's configuration;
// the source's configuration is read with everything off that starts a program.
// No walk follows a link, enters a mount, or opens anything but directories and
// regular files.
package gitdrydock
