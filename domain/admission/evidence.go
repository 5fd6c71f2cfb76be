// Package admission decides whether a Standard Code container may be prepared
// and started: one check a file, all refusals reported, in the contract's order
// (contract section 4).
package admission

import (
	"cyberagent/domain/deps"
	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/run"
)

// Gates are the process gates: flags of this process, never a stored setting
// and never environment.
type Gates struct {
	PermissionControl bool
	WorkspaceSandbox  bool
	DockerExecution   bool
}

// AllGates are the gates of a question that must not stop at them.
func AllGates() Gates {
	return Gates{PermissionControl: true, WorkspaceSandbox: true, DockerExecution: true}
}

// Missing returns the flags that were not given.
func (g Gates) Missing() []string {
	var m []string
	for _, f := range []struct {
		on   bool
		name string
	}{
		{g.PermissionControl, "--enable-permission-control"},
		{g.WorkspaceSandbox, "--enable-workspace-sandbox"},
		{g.DockerExecution, "--enable-docker-execution"},
	} {
		if !f.on {
			m = append(m, f.name)
		}
	}
	return m
}

// Reachability says whether an engine answered.
type Reachability string

// The answers.
const (
	Reachable        Reachability = "reachable"
	Unreachable      Reachability = "unreachable"
	PermissionDenied Reachability = "permission_denied"
)

// EngineFacts are what an engine says about itself. Detail is one sentence for a
// person when it is not reachable.
type EngineFacts struct {
	Engine       isolation.Engine
	Reachability Reachability
	Detail       string
	// Endpoint says where it was looked for, and who said so, in words for a person;
	// it is no fact that anything is bound to.
	Endpoint string `json:"-"`

	Version       string
	APIVersion    string // negotiated
	APISupported  bool
	OSType        string // linux
	Architecture  string // as GOARCH
	HostArch      string // this process's GOARCH
	OperatingName string
	Desktop       bool // Docker Desktop or another engine behind a VM
	Rootless      bool
	UsernsRemap   bool
	SELinux       bool // enforcing, without relabelling
	Seccomp       bool
	SwapLimit     bool
	PidsLimit     bool
	MemoryLimit   bool
	CPUs          int64
	MemoryBytes   int64
	CgroupVersion string
	// PrivateCgroup says whether containers get a cgroup namespace.
	PrivateCgroup bool
	// Runtime is the OCI runtime that is named explicitly at create.
	Runtime string
}

// ImageFacts are what an engine says about the configured image.
type ImageFacts struct {
	Configured  string // as configured, may be empty or malformed
	From        string `json:"-"` // who configured it, as Endpoint
	Project     bool   `json:"-"` // it is configured for the Run's repository alone
	Present     bool
	ID          string // the engine's own id, "sha256:…"
	OS          string
	Arch        string
	Entrypoint  []string
	Cmd         []string
	Env         []string
	Volumes     []string
	Ports       []string
	OnBuild     []string
	Healthcheck bool // one is configured
	Labels      map[string]string
	SizeBytes   int64
}

// DrydockFacts are the Drydock's recorded state and what its files say. One that was
// cleaned is not present.
type DrydockFacts struct {
	Drydock drydock.Drydock
	Present bool
	// Drifted says that the files differ from the current Checkpoint; Drift names
	// up to ten paths, and how many more there are.
	Drifted bool
	Drift   []string
}

// Requested is the exact state that the caller believes to be current.
type Requested struct {
	Generation int64
	Checkpoint id.Checkpoint
}

// Evidence is everything the checks look at. A nil part was not gathered; its
// checks are then passed over, and Complete says so, so that nothing is started
// on it.
type Evidence struct {
	Gates     Gates
	Run       *run.Run
	Engine    *EngineFacts
	Image     *ImageFacts
	Drydock   *DrydockFacts
	Requested *Requested
	// Dependencies are what the lockfiles of the command's directory ask for, which may
	// be nothing.
	Dependencies *deps.Need
	// AllowDesktop is the operator's docker.allow_desktop.
	AllowDesktop bool
}

// Complete says whether every part was gathered.
func (e Evidence) Complete() bool {
	return e.Run != nil && e.Engine != nil && e.Image != nil && e.Drydock != nil && e.Requested != nil && e.Dependencies != nil
}
