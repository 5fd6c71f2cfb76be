package containerd

import (
	"bytes"
	"encoding/json"
	"runtime"
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"cyberagent/domain/fault"
)

// profile is the domain's seccomp profile: Docker's form, of which the runtime
// specification lacks the choice by architecture.
type profile struct {
	DefaultAction   specs.LinuxSeccompAction `json:"defaultAction"`
	DefaultErrnoRet *uint                    `json:"defaultErrnoRet"`
	ArchMap         []struct {
		Architecture     specs.Arch   `json:"architecture"`
		SubArchitectures []specs.Arch `json:"subArchitectures"`
	} `json:"archMap"`
	Syscalls []struct {
		specs.LinuxSyscall

		Includes *struct {
			Arches []string `json:"arches"`
		} `json:"includes"`
	} `json:"syscalls"`
}

// architectures are the profile's words for those that this product runs on.
var architectures = map[string]specs.Arch{"amd64": specs.ArchX86_64, "arm64": specs.ArchAARCH64}

// seccompProfile translates for this machine's architecture. It fails on
// anything that it does not know, for what is left out would be another profile.
func seccompProfile(raw []byte) (*specs.LinuxSeccomp, error) {
	var p profile
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return nil, fault.Wrap(fault.Internal, err, "the seccomp profile cannot be read")
	}
	s := &specs.LinuxSeccomp{DefaultAction: p.DefaultAction, DefaultErrnoRet: p.DefaultErrnoRet}
	for _, a := range p.ArchMap {
		if a.Architecture == architectures[runtime.GOARCH] {
			s.Architectures = append([]specs.Arch{a.Architecture}, a.SubArchitectures...)
		}
	}
	if len(s.Architectures) == 0 {
		return nil, fault.New(fault.PlatformBlocked, "the seccomp profile knows no %s", runtime.GOARCH)
	}
	for _, c := range p.Syscalls {
		if c.Includes == nil || slices.Contains(c.Includes.Arches, runtime.GOARCH) {
			s.Syscalls = append(s.Syscalls, c.LinuxSyscall)
		}
	}
	return s, nil
}
