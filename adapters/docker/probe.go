package docker

import (
	"context"
	"runtime"
	"strings"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"

	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
)

// Probe implements ports.EngineProbe. It asks for the API's version anew, so a
// process that outlives an upgrade of the engine follows it.
func (e *Engine) Probe(ctx context.Context) (admission.EngineFacts, error) {
	ctx, cancel := context.WithTimeout(ctx, limits.EngineProbeCall)
	defer cancel()
	facts := admission.EngineFacts{Engine: isolation.Docker, Endpoint: e.named, HostArch: runtime.GOARCH, Reachability: admission.Reachable}
	c, err := e.negotiate(ctx)
	if err != nil {
		return blocked(facts, err)
	}
	facts.APIVersion = c.ClientVersion()
	// Its properties say all that is judged. For its version the engine would start
	// two programs as well, and it starts the same two for this already.
	info, err := c.Info(ctx)
	if err != nil {
		return blocked(facts, translate(ctx, "ask the engine for its properties", err))
	}
	facts.APISupported = true // it accepted a request in that version
	describe(&facts, info)
	return facts, nil
}

// Parts implements ports.EngineParts.
func (e *Engine) Parts(ctx context.Context, _ admission.EngineFacts) map[string]string {
	v, err := call(ctx, e, "ask the engine for its version", func(ctx context.Context, c *client.Client) (types.Version, error) {
		return c.ServerVersion(ctx)
	})
	if err != nil {
		return nil
	}
	return components(v)
}

// blocked makes an answer of a failure that readiness has a word for.
func blocked(facts admission.EngineFacts, err error) (admission.EngineFacts, error) {
	facts.Detail = err.Error()
	if v := fault.From(err).Details["api_version"]; v != "" {
		facts.APIVersion = v
	}
	switch {
	case fault.CodeOf(err) == fault.DaemonPermission:
		facts.Reachability = admission.PermissionDenied
	case fault.CodeOf(err) == fault.DaemonUnreachable, fault.CodeOf(err) == fault.EngineTimeout:
		facts.Reachability = admission.Unreachable
	case fault.CodeOf(err) == fault.APIUnsupported, clientError(err): // refuses our newest version as too old
		facts.APISupported = false
	default:
		return facts, err
	}
	return facts, nil
}

// describe fills in what the engine says about itself.
func describe(f *admission.EngineFacts, i system.Info) {
	f.Version = i.ServerVersion
	f.OSType, f.Architecture = i.OSType, architecture(i.Architecture)
	f.OperatingName = i.OperatingSystem
	f.Desktop = behindVM(i, hostKernel())
	for _, o := range i.SecurityOptions {
		switch name, _, _ := strings.Cut(strings.TrimPrefix(o, "name="), ","); name {
		case "rootless":
			f.Rootless = true
		case "userns":
			f.UsernsRemap = true
		case "selinux":
			f.SELinux = true
		case "seccomp":
			f.Seccomp = true
		}
	}
	f.SwapLimit, f.PidsLimit, f.MemoryLimit = i.SwapLimit, i.PidsLimit, i.MemoryLimit
	f.CPUs, f.MemoryBytes = int64(i.NCPU), i.MemTotal
	f.CgroupVersion = i.CgroupVersion
	// The namespace is asked for by name, and engines since 20.10 give it on
	// cgroup v1 as well; one that does not warns at create, which is a refusal.
	f.PrivateCgroup = true
	if _, ok := i.Runtimes[ociRuntime]; ok {
		f.Runtime = ociRuntime
	}
}

// components are the parts whose version decides about known faults.
func components(v types.Version) map[string]string {
	out := map[string]string{}
	for _, c := range v.Components {
		switch c.Name {
		case "runc", "containerd", "crun":
			out[c.Name] = c.Version
		}
	}
	return out
}

// architecture is Go's word for the kernel's.
func architecture(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return machine
}

// behindVM says whether the engine's kernel is not this process's: then a path,
// a device and an inode of this host mean nothing to it.
func behindVM(i system.Info, kernel string) bool {
	return runtime.GOOS != "linux" || strings.HasPrefix(i.OperatingSystem, "Docker Desktop") ||
		kernel != "" && i.KernelVersion != "" && kernel != i.KernelVersion
}
