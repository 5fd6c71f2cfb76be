package containerd

import (
	"context"
	"runtime"
	"strconv"
	"strings"

	"github.com/containerd/containerd/v2/client"

	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
)

// The engine's version must lie in this range: 1.6 is the oldest that was tried,
// and what a third major one will want is not known.
const (
	oldestMajor, oldestMinor = 1, 6
	newestMajor              = 2
)

// Probe implements ports.EngineProbe. containerd says its version; the rest is
// asked of this kernel, which is the engine's, too.
func (e *Engine) Probe(ctx context.Context) (admission.EngineFacts, error) {
	ctx, cancel := context.WithTimeout(ctx, limits.EngineProbeCall)
	defer cancel()
	f := admission.EngineFacts{Engine: isolation.Containerd, Endpoint: e.cfg.Named, HostArch: runtime.GOARCH, Reachability: admission.Reachable}
	v, err := call(ctx, e, "ask the engine for its version", func(ctx context.Context) (client.Version, error) { return e.client.Version(ctx) })
	if err != nil {
		return blocked(f, err)
	}
	f.Version = v.Version
	f.APIVersion, f.APISupported = supported(v.Version)
	f.OSType, f.Architecture, f.OperatingName = runtime.GOOS, runtime.GOARCH, runtime.GOOS
	f.CPUs, f.Runtime = int64(runtime.NumCPU()), e.cfg.Runtime
	describeHost(&f)
	return f, nil
}

// blocked makes an answer of a failure that readiness has a word for.
func blocked(f admission.EngineFacts, err error) (admission.EngineFacts, error) {
	f.Detail = err.Error()
	switch fault.CodeOf(err) {
	case fault.DaemonPermission:
		f.Reachability = admission.PermissionDenied
	case fault.DaemonUnreachable, fault.EngineTimeout:
		f.Reachability = admission.Unreachable
	default:
		return f, err
	}
	return f, nil
}

// supported reads a version such as "v2.4.2" or "1.6.20~ds1" and returns its
// first two numbers.
func supported(version string) (api string, ok bool) {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	if errA != nil || errB != nil {
		return version, false
	}
	api = major + "." + minor
	return api, a <= newestMajor && (a > oldestMajor || a == oldestMajor && b >= oldestMinor)
}
