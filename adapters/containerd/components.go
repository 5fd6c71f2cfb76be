package containerd

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/opencontainers/runtime-spec/specs-go/features"

	"cyberagent/domain/admission"
	"cyberagent/domain/limits"
)

// Parts implements ports.EngineParts: containerd and the OCI runtime, the parts
// whose version decides about known faults. For the second the engine starts its
// shim, which starts the runtime.
func (e *Engine) Parts(ctx context.Context, f admission.EngineFacts) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, limits.EngineProbeCall)
	defer cancel()
	parts := map[string]string{"containerd": f.Version}
	if name, v := e.ociRuntime(ctx); v != "" {
		parts[name] = v
	}
	return parts
}

// runtimeVersions are the annotations in which OCI runtimes tell theirs.
var runtimeVersions = map[string]string{
	"runc": "org.opencontainers.runc.version",
	"crun": "run.oci.crun.version",
}

// ociRuntime asks the engine which runtime its shim calls, and an engine or a
// runtime that cannot say it the program itself. A version that nobody tells is
// empty.
func (e *Engine) ociRuntime(ctx context.Context) (name, version string) {
	binary := e.cfg.Binary
	if binary == "" {
		binary = "runc"
	}
	var opts any
	if e.cfg.Binary != "" {
		opts = &options.Options{BinaryName: e.cfg.Binary}
	}
	if info, err := e.client.RuntimeInfo(ctx, e.cfg.Runtime, opts); err == nil {
		if f, ok := info.Features.(*features.Features); ok {
			for name, key := range runtimeVersions {
				if v := f.Annotations[key]; v != "" {
					return name, v
				}
			}
		}
	}
	path, err := exec.LookPath(binary)
	if err != nil {
		return "", ""
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", ""
	}
	return versionLine(filepath.Base(binary), string(out))
}

// versionLine reads "runc version 1.1.5+ds1" and "crun version 1.8.1"; a program
// that says it in another way is known by its file and has no version.
func versionLine(file, text string) (name, version string) {
	line, _, _ := strings.Cut(text, "\n")
	name, version, ok := strings.Cut(line, " version ")
	if !ok {
		return file, ""
	}
	return name, strings.TrimSpace(version)
}
