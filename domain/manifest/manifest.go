// Package manifest holds what one Command was compiled to for one exact
// authority state. A preparation stores its digest; execute recompiles it and
// refuses any difference.
package manifest

import (
	"encoding/json"
	"slices"
	"time"

	"cyberagent/domain/canon"
	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/domain/run"
	"cyberagent/domain/runnerproto"
	"cyberagent/domain/toolchain"
)

// Authority is the exact state that a preparation, its approval and its
// admission are bound to. A change of any field is drift.
type Authority struct {
	Drydock            id.Drydock       `json:"drydock_id"`
	Generation         int64            `json:"generation"`
	Checkpoint         id.Checkpoint    `json:"checkpoint_id"`
	BindingSHA256      string           `json:"binding_sha256"`
	ProfileRevision    int64            `json:"profile_revision"`
	PermissionRevision int64            `json:"permission_revision"`
	Engine             isolation.Engine `json:"engine"`
	ImageDigest        string           `json:"image_digest"` // as configured, "sha256:…"
}

// Differences names the fields in which two authorities differ.
func (a Authority) Differences(b Authority) []string {
	var d []string
	add := func(same bool, name string) {
		if !same {
			d = append(d, name)
		}
	}
	add(a.Drydock == b.Drydock, "drydock_id")
	add(a.Generation == b.Generation, "generation")
	add(a.Checkpoint == b.Checkpoint, "checkpoint_id")
	add(a.BindingSHA256 == b.BindingSHA256, "binding_sha256")
	add(a.ProfileRevision == b.ProfileRevision, "profile_revision")
	add(a.PermissionRevision == b.PermissionRevision, "permission_revision")
	add(a.Engine == b.Engine, "engine")
	add(a.ImageDigest == b.ImageDigest, "image_digest")
	return d
}

// Manifest is the compiled form of one Command. It holds digests of what the
// container will be; the Command itself stays with the approval.
type Manifest struct {
	Protocol        string          `json:"protocol_version"`
	Run             id.Run          `json:"run_id"`
	CommandSHA256   string          `json:"command_sha256"`
	Toolchain       string          `json:"toolchain"`
	TimeoutSeconds  int64           `json:"timeout_seconds"`
	Stdin           isolation.Stdin `json:"stdin_policy"`
	Profile         run.Profile     `json:"profile"`
	Permission      run.Permission  `json:"permission"`
	Authority       Authority       `json:"authority"`
	Contract        string          `json:"isolation_contract"`
	SeccompSHA256   string          `json:"seccomp_sha256"`
	FactsSHA256     string          `json:"expected_facts_sha256"`
	ToolchainSHA256 string          `json:"toolchain_sha256"`
	LimitsSHA256    string          `json:"limits_sha256"`
}

// Compile makes the v2 manifest of a Command for one authority state.
func Compile(r id.Run, c command.Command, stdin isolation.Stdin, a Authority) Manifest {
	return Manifest{
		Protocol: runnerproto.Protocol, Run: r, CommandSHA256: c.Fingerprint(),
		Toolchain: string(c.Toolchain()), TimeoutSeconds: int64(c.Timeout() / time.Second), Stdin: stdin,
		Profile: run.ProfileDocker, Permission: run.WorkspaceAccess, Authority: a,
		Contract: isolation.Contract, SeccompSHA256: isolation.SeccompSHA256(),
		FactsSHA256: isolation.FactsSHA256(isolation.Expected()), ToolchainSHA256: toolchainDigest(c),
		LimitsSHA256: limitsDigest(),
	}
}

// limitsDigest covers the numbers and not the prose beside them.
func limitsDigest() string {
	var rows []any
	for _, r := range limits.Table() {
		rows = append(rows, []any{r.Name, r.Unit, r.Default, r.Max})
	}
	return canon.Digest(rows)
}

func toolchainDigest(c command.Command) string {
	program, _ := toolchain.Program(c.Toolchain(), c.Args())
	env := toolchain.Environment(c.Toolchain(), toolchain.Carried{ModCache: true, SitePkgs: true})
	return canon.Digest(slices.Insert(env, 0, program))
}

// Encode returns the canonical JSON that a ledger stores.
func (m Manifest) Encode() ([]byte, error) { return canon.JSON(m) }

// SHA256 is the manifest's digest.
func (m Manifest) SHA256() string { return canon.Digest(m) }

// V1 is what a manifest of standard-code-docker-runner.v1 still tells: enough to
// recover and finalize, with its stdin closed. It is never executed.
type V1 struct {
	Run           id.Run `json:"run_id"`
	CommandSHA256 string `json:"command_sha256"`
}

// Decoded is a stored manifest of either version.
type Decoded struct {
	Version int
	Stdin   isolation.Stdin
	V2      Manifest // zero for version 1
	V1      V1       // zero for version 2
	SHA256  string
}

// Executable returns manifest_v1_read_only for what is evidence only.
func (d Decoded) Executable() error {
	if d.Version != 2 {
		return fault.New(fault.ManifestV1, "the preparation was compiled for %s", runnerproto.ProtocolV1).
			Hint("prepare the command again; the old record stays readable")
	}
	return nil
}

// Decode reads a stored manifest. Version 1 decodes as closed stdin whatever it
// says beyond its known fields; version 2 is read strictly.
func Decode(data []byte) (Decoded, error) {
	var head struct {
		Protocol string `json:"protocol_version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Decoded{}, fault.Wrap(fault.Internal, err, "unreadable manifest")
	}
	switch head.Protocol {
	case runnerproto.ProtocolV1:
		d := Decoded{Version: 1, Stdin: isolation.StdinClosed, SHA256: canon.SHA256(data)}
		if err := json.Unmarshal(data, &d.V1); err != nil {
			return Decoded{}, fault.Wrap(fault.Internal, err, "unreadable v1 manifest")
		}
		return d, nil
	case runnerproto.Protocol:
		d := Decoded{Version: 2}
		if err := canon.Strict(data, &d.V2); err != nil {
			return Decoded{}, fault.Wrap(fault.Internal, err, "unreadable v2 manifest")
		}
		if _, err := isolation.ParseStdin(string(d.V2.Stdin)); err != nil {
			return Decoded{}, err
		}
		d.Stdin, d.SHA256 = d.V2.Stdin, d.V2.SHA256()
		return d, nil
	}
	return Decoded{}, fault.New(fault.Internal, "manifest of protocol %q", head.Protocol)
}
