package result

import (
	"fmt"

	"cyberagent/domain/limits"
)

// Remedy is one sentence on what to do about a command that ended so, for a reader
// who knows nothing of the product's inside. It names no path and no value of the
// run; those are in the result's details.
func (r Reason) Remedy() string {
	switch r {
	case IntegrityLost:
		return "something on the host changed the Drydock's control file during the run: look at the Drydock, then confirm a Checkpoint"
	case IsolationMismatch:
		return "the container was not as the contract says, and nothing ran: run `cyberagent engine check`, and repair the engine or its image"
	case NeverStarted:
		return "nothing ran: prepare the command again"
	case StartFailed:
		return "the toolchain's program could not be started: check the image with `cyberagent fixture inspect`, or build it again"
	case GrowthBytes:
		return fmt.Sprintf("write less than %d MiB into the workspace: what is built belongs in the cache, which TMPDIR names", limits.GrowthBytes/limits.MiB)
	case GrowthEntries:
		return fmt.Sprintf("make fewer than %d files, directories and links in the workspace: what is built belongs in the cache", limits.GrowthEntries)
	case GrowthUnattributed:
		return "the command held deleted files open that took space of the disk: close them, or write to the cache"
	case Headroom:
		return fmt.Sprintf("make room on the Drydock's filesystem: %d GiB and %d inodes must stay free", limits.HeadroomBytes/limits.GiB, limits.HeadroomInodes)
	case AuthorityDrift:
		return "the Run was paused or closed, or its profile, permission, approval or Drydock changed, while the command ran, which is in the details: prepare it again under what holds now"
	case CancelledReason:
		return "somebody cancelled it: prepare the command again if it should run"
	case OwnerLost:
		return "the process that ran the command died, and its end was not seen: look at the Checkpoint, then prepare the command again"
	case Timeout:
		return "ask for more time with --timeout, an hour at most, or for less work"
	case EngineLost:
		return "the engine ended or forgot the container: look at the engine's log, then prepare the command again"
	case RunnerFailure:
		return "the runner gave no valid report, so nothing is known of the command: see the details, then prepare it again"
	case OOMKilled:
		return fmt.Sprintf("use less than %d GiB of memory, the cache and /dev/shm among it: fewer jobs at once", limits.MemoryBytes/limits.GiB)
	case PidsLimit:
		return fmt.Sprintf("run fewer than %d processes and threads at once, for example with fewer jobs", limits.Pids)
	case FileSize:
		return fmt.Sprintf("keep each file below %d MiB: build without debug information, or split it", limits.FileBytes/limits.MiB)
	case CacheFull:
		return fmt.Sprintf("use less than %d MiB and %d files of the cache, for example by building one package at a time", limits.CacheBytes/limits.MiB, limits.CacheInodes)
	case Signaled:
		return "a signal that the product did not send ended the command: read its output for the reason"
	case Exited:
		return "the command said itself that it failed: read its output"
	}
	return ""
}

// RemedyTooLarge is the remedy of a command that failed with the words of a write
// beyond the ceiling of one file (see TooLarge).
func RemedyTooLarge() string {
	return "the command said itself that it failed, and that a file is too large: read its output; if it wrote that file here, " + FileSize.Remedy()
}
