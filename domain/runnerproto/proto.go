// Package runnerproto is what the host and the runner (PID 1 of the container)
// say to each other, standard-code-docker-runner.v2.
//
// The host gives the runner two arguments: the protocol's name and one Binding
// in canonical JSON. The runner answers with frames on stdout, which carry the
// command's two streams, and with one line on its own stderr: the Report. The
// command holds pipes to the runner only, so it can forge neither.
package runnerproto

import (
	"bytes"
	"strings"

	"cyberagent/domain/canon"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
)

// Protocol names the version. ProtocolV1 is known from old manifests and images
// only; nothing of that version is ever started.
const (
	Protocol   = "standard-code-docker-runner.v2"
	ProtocolV1 = "standard-code-docker-runner.v1"
)

// Mode says what the runner is asked to do.
type Mode string

// The modes. Repair restores access bits on what the container's user owns in
// the workspace and starts no command. Bake runs a command whose caches lie in the
// workspace (toolchain.Oven), where the builder of an image finds them.
const (
	ModeRun    Mode = "run"
	ModeRepair Mode = "repair"
	ModeBake   Mode = "bake"
)

// Binding is everything that the runner acts on.
type Binding struct {
	Protocol       string          `json:"protocol_version"`
	Mode           Mode            `json:"mode"`
	Admission      string          `json:"admission_id"`
	ManifestSHA256 string          `json:"manifest_sha256"`
	CommandSHA256  string          `json:"command_sha256"`
	Toolchain      string          `json:"toolchain"`
	Arguments      []string        `json:"arguments"`
	Workdir        string          `json:"working_directory"`
	Stdin          isolation.Stdin `json:"stdin_policy"`
	TimeoutMillis  int64           `json:"timeout_ms"`
	GraceMillis    int64           `json:"grace_ms"`
	Quota          Quota           `json:"quota"`
	Host           isolation.Host  `json:"host"`
}

// Quota are the limits that the runner itself enforces: bytes, entries, inodes.
type Quota struct {
	GrowthBytes    int64 `json:"growth_bytes"`
	GrowthEntries  int64 `json:"growth_entries"`
	HeadroomBytes  int64 `json:"headroom_bytes"`
	HeadroomInodes int64 `json:"headroom_inodes"`
}

// FixedQuota is the contract's (section 3).
func FixedQuota() Quota {
	return Quota{
		GrowthBytes: limits.GrowthBytes, GrowthEntries: limits.GrowthEntries,
		HeadroomBytes: limits.HeadroomBytes, HeadroomInodes: limits.HeadroomInodes,
	}
}

// Encode returns the canonical JSON that is the runner's second argument.
func (b Binding) Encode() ([]byte, error) { return canon.JSON(b) }

// DecodeBinding reads a Binding strictly: it must be the canonical encoding of
// itself, so that what was hashed and approved is what is acted on. It returns
// runner_protocol_outdated for another protocol and runner_failure for anything
// else that the runner would not act on.
func DecodeBinding(data []byte) (Binding, error) {
	var b Binding
	if err := canon.Strict(data, &b); err != nil {
		return Binding{}, fault.Wrap(fault.RunnerFailure, err, "unreadable binding")
	}
	if b.Protocol != Protocol {
		return Binding{}, fault.New(fault.RunnerOutdated, "protocol %q, want %q", b.Protocol, Protocol)
	}
	if err := b.check(); err != nil {
		return Binding{}, err
	}
	again, err := b.Encode()
	if err != nil {
		return Binding{}, fault.Wrap(fault.RunnerFailure, err, "unreadable binding")
	}
	if !bytes.Equal(again, data) {
		return Binding{}, fault.New(fault.RunnerFailure, "the binding is not canonical JSON")
	}
	return b, nil
}

// check refuses values that no host of this protocol sends. Whether the command
// itself is allowed was decided before; the runner's own fences are the closed
// set of tools and the kernel's resolution of the working directory.
func (b Binding) check() error {
	bad := func(format string, a ...any) error { return fault.New(fault.RunnerFailure, format, a...) }
	q := b.Quota
	switch {
	case b.Mode != ModeRun && b.Mode != ModeRepair && b.Mode != ModeBake:
		return bad("mode %q", b.Mode)
	case b.Stdin != isolation.StdinClosed && b.Stdin != isolation.StdinPipe:
		return bad("stdin policy %q", b.Stdin)
	case b.TimeoutMillis <= 0 || b.TimeoutMillis > limits.MaxTimeout.Milliseconds():
		return bad("timeout of %d ms", b.TimeoutMillis)
	case b.GraceMillis <= 0 || b.GraceMillis > limits.MaxTimeout.Milliseconds():
		return bad("grace of %d ms", b.GraceMillis)
	case q.GrowthBytes <= 0 || q.GrowthEntries <= 0 || q.HeadroomBytes <= 0 || q.HeadroomInodes <= 0:
		return bad("a quota that is not above zero: %+v", q)
	}
	for _, a := range append([]string{b.Workdir}, b.Arguments...) {
		if strings.ContainsRune(a, 0) {
			return bad("a NUL in %q", a)
		}
	}
	return nil
}
