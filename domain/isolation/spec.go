package isolation

import (
	"strings"

	"cyberagent/domain/canon"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/limits"
)

// Tmpfs is one kernel-bounded writable place.
type Tmpfs struct {
	Target string
	Bytes  int64
	Inodes int64
	Mode   uint32
	UID    int
	GID    int
	Exec   bool
}

// Tmpfses returns the two tmpfs mounts of the contract.
func Tmpfses() []Tmpfs {
	return []Tmpfs{
		{Target: CacheDir, Bytes: limits.CacheBytes, Inodes: limits.CacheInodes, Mode: 0o700, UID: limits.UID, GID: limits.GID, Exec: true},
		{Target: ShmDir, Bytes: limits.ShmBytes, Inodes: limits.ShmInodes, Mode: 0o1777, UID: 0, GID: 0, Exec: false},
	}
}

// Rlimit is one hard and soft process limit.
type Rlimit struct {
	Name  string // fsize, core, nofile, msgqueue
	Value int64
}

// Rlimits returns the process limits of the contract.
func Rlimits() []Rlimit { return rlimits(limits.FileBytes) }

func rlimits(fileBytes int64) []Rlimit {
	return []Rlimit{
		{"core", limits.CoreBytes}, {"fsize", fileBytes},
		{"msgqueue", limits.MsgQueueBytes}, {"nofile", limits.OpenFiles},
	}
}

// Stdin says what the container's standard input is.
type Stdin string

// The stdin policies.
const (
	StdinClosed Stdin = "closed"
	StdinPipe   Stdin = "pipe"
)

// ParseStdin accepts a policy's word.
func ParseStdin(s string) (Stdin, error) {
	switch Stdin(s) {
	case StdinClosed, StdinPipe:
		return Stdin(s), nil
	}
	return "", fault.New(fault.InvalidArgument, "%q is not closed or pipe", s).At("stdin_policy").Hint("use closed or pipe")
}

// Spec is what one admission asks of an engine. Everything that is not a field
// is fixed by the contract; NewSpec is the only way to make one for a command.
type Spec struct {
	admission    id.Admission
	installation id.Installation
	imageID      string
	mounts       []Mount
	runnerArgs   []string
	stdin        Stdin
	fileBytes    int64 // the most that one file may have
}

// NewSpec checks the mounts and the mask and makes a Spec. imageID is what the
// engine resolved the configured digest to; binding is the runner's canonical
// JSON. It returns mask_invalid, mask_missing, mount_refused, image_unconfigured
// or internal.
func NewSpec(a id.Admission, inst id.Installation, imageID, drydockRoot string, mask MaskFacts, protocol string, binding []byte, stdin Stdin) (Spec, error) {
	if err := CheckMask(mask); err != nil {
		return Spec{}, err
	}
	mounts := []Mount{
		{Source: drydockRoot, Target: Workspace, Private: true},
		{Source: mask.Path, Target: GitTarget, ReadOnly: true, Private: true},
	}
	if err := CheckMounts(mounts); err != nil {
		return Spec{}, err
	}
	if hexDigest, ok := strings.CutPrefix(imageID, "sha256:"); !ok || !canon.IsSHA256(hexDigest) {
		return Spec{}, fault.New(fault.ImageUnconfigured, "%q is not an image id", imageID).At("image")
	}
	if int64(len(binding)) > limits.RunnerBindingBytes {
		return Spec{}, fault.New(fault.Internal, "the runner's binding has %d bytes, at most %d fit", len(binding), limits.RunnerBindingBytes)
	}
	if stdin != StdinClosed && stdin != StdinPipe {
		return Spec{}, fault.New(fault.Internal, "stdin policy %q", stdin)
	}
	return Spec{
		admission: a, installation: inst, imageID: imageID, mounts: mounts,
		runnerArgs: []string{protocol, string(binding)}, stdin: stdin, fileBytes: limits.FileBytes,
	}, nil
}

// NewOvenSpec makes the Spec of a container that makes caches for an image, and never
// of one for a command. It differs by one limit: a file may have
// limits.ProjectFileBytes, as one may that is laid into the image, for a dependency's
// archive or library is made here so that no command has to. It returns what NewSpec
// does.
func NewOvenSpec(a id.Admission, inst id.Installation, imageID, root string, mask MaskFacts, protocol string, binding []byte) (Spec, error) {
	s, err := NewSpec(a, inst, imageID, root, mask, protocol, binding, StdinClosed)
	if err != nil {
		return Spec{}, err
	}
	s.fileBytes = limits.ProjectFileBytes
	return s, nil
}

// Admission returns whose container this is.
func (s Spec) Admission() id.Admission { return s.admission }

// Installation returns which ledger's container this is.
func (s Spec) Installation() id.Installation { return s.installation }

// ImageID returns the engine's own id of the image.
func (s Spec) ImageID() string { return s.imageID }

// Stdin returns the stdin policy.
func (s Spec) Stdin() Stdin { return s.stdin }

// Name returns the container's name.
func (s Spec) Name() string { return ContainerName(s.admission) }

// Labels returns a copy of the container's exact labels.
func (s Spec) Labels() map[string]string { return Labels(s.admission, s.installation) }

// Labels are the exact labels of an admission's container.
func Labels(a id.Admission, inst id.Installation) map[string]string {
	return map[string]string{
		LabelInstallation: string(inst), LabelAdmission: string(a), LabelContract: ContractVersion,
	}
}

// Properties returns every property that the engine must report back.
func (s Spec) Properties() Properties {
	return Properties{
		Name: s.Name(), Labels: s.Labels(), ImageID: s.imageID, Hostname: Hostname,
		Entrypoint: []string{RunnerPath}, Args: append([]string{}, s.runnerArgs...),
		User: User, Groups: nil, WorkingDir: Workspace,
		Env: nil, ReadOnlyRoot: true, Privileged: false, NoNewPrivileges: true, Capabilities: nil,
		SeccompSHA256: SeccompSHA256(),
		NetworkMode:   "none", PIDMode: "private", IPCMode: "none", UTSMode: "private", CgroupMode: "private",
		Mounts: append([]Mount{}, s.mounts...), Tmpfs: Tmpfses(), Rlimits: rlimits(s.fileBytes),
		MaskedPaths: MaskedPaths(), ReadonlyPaths: ReadonlyPaths(),
		MemoryBytes: limits.MemoryBytes, MemorySwapBytes: limits.MemoryBytes, Pids: limits.Pids, NanoCPUs: limits.CPUs * 1_000_000_000,
		OOMKill: true, Stdin: s.stdin, TTY: false, LogDriver: "none",
	}
}
