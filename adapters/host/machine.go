package host

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"cyberagent/ports"
)

// Machine answers what the machine is. Its zero value is ready.
type Machine struct{}

var _ ports.Machine = Machine{}

// Facts implements ports.Machine.
func (Machine) Facts(ctx context.Context) ports.HostFacts {
	f := ports.HostFacts{OS: runtime.GOOS, Arch: runtime.GOARCH, Root: os.Geteuid() == 0, Git: gitVersion(ctx)}
	kernelFacts(&f)
	return f
}

// gitVersion is the number in "git version 2.39.5 (Apple Git-154)".
func gitVersion(ctx context.Context) string {
	path, err := exec.LookPath("git")
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	v, ok := strings.CutPrefix(strings.TrimSpace(string(out)), "git version ")
	if !ok {
		return ""
	}
	v, _, _ = strings.Cut(v, " ")
	return v
}
