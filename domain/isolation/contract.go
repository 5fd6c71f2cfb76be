// Package isolation is the fixed contract of every container on every engine
// (contract section 2): what is asked of the engine, what the engine says it
// configured, and what the runner measures from inside.
//
// Two independent proofs stand before a command starts. Compare holds the
// engine's read-back against the request; Mismatches holds the runner's
// measurement against the expectation. No option changes any property.
package isolation

import (
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/toolchain"
)

// Engine is the word for a container engine.
type Engine string

// The engines.
const (
	Docker     Engine = "docker"
	Containerd Engine = "containerd"
)

// ParseEngine accepts an engine's word.
func ParseEngine(s string) (Engine, error) {
	switch Engine(s) {
	case Docker, Containerd:
		return Engine(s), nil
	}
	return "", fault.New(fault.InvalidArgument, "%q is not docker or containerd", s).At("engine").
		Hint("use docker or containerd")
}

// The names of the contract.
const (
	// Contract names the version of the fact list and of this contract.
	Contract = "standard-code-isolation.v1"
	// ContractVersion is the value of LabelContract.
	ContractVersion = "1"

	Hostname   = "standard-code"
	User       = "65532:65532"
	Workspace  = toolchain.Workspace
	GitTarget  = toolchain.Workspace + "/.git"
	CacheDir   = toolchain.Cache
	ShmDir     = "/dev/shm"
	RunnerPath = "/standard-code/runner"
	NamePrefix = "standard-code-"

	LabelInstallation = "cyberagent.installation"
	LabelAdmission    = "cyberagent.admission"
	LabelContract     = "cyberagent.contract"
	// LabelProtocol and LabelProject are an image's only labels. The second says what
	// a project's image holds (package deps).
	LabelProtocol = "cyberagent.runner-protocol"
	LabelProject  = "cyberagent.project"

	// MaskContent is the whole content of the file mounted over /workspace/.git.
	MaskContent = "gitdir: .standard-code-git-disabled\n"
	MaskMode    = 0o444
)

// ImageLabel says whether a label is one that an image of the product has. On some
// engines its containers inherit it.
func ImageLabel(name string) bool { return name == LabelProtocol || name == LabelProject }

// ContainerName is deterministic, so that a repeated create is recognised.
func ContainerName(a id.Admission) string { return NamePrefix + string(a) }

// MaskedPaths are hidden from the command on both engines: Docker's default
// list of today, which older engines lack in part.
func MaskedPaths() []string {
	return []string{
		"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
		"/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
		"/sys/devices/virtual/powercap", "/sys/firmware",
	}
}

// ReadonlyPaths are read-only for the command on both engines.
func ReadonlyPaths() []string {
	return []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
}
