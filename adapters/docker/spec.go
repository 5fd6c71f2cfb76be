package docker

import (
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"cyberagent/domain/isolation"
)

// What the engine calls what the contract fixes.
const (
	ociRuntime = "runc" // named, so that another default runtime is not used
	stopSignal = "SIGTERM"
	noNewPrivs = "no-new-privileges"
	seccompOpt = "seccomp="
	allCaps    = "ALL"
	noHealth   = "NONE"
	private    = "private"
	rprivate   = mount.PropagationRPrivate
	bindMount  = mount.TypeBind
	cgroupsOwn = container.CgroupnsModePrivate
	noRestart  = container.RestartPolicyDisabled
	engineEnvs = "PATH HOSTNAME TERM" // what the engine sets by itself
	unusedShm  = 64 << 20             // the engine's default, without effect under IPC mode none
)

// request turns a spec into the engine's two structures. imageEnv are the
// image's variables: the engine would hand them on, and drops each that the
// request names without a value.
func request(s isolation.Spec, imageEnv []string, hosts isolation.Mount) (*container.Config, *container.HostConfig) {
	p := s.Properties()
	pipe := p.Stdin == isolation.StdinPipe
	cfg := &container.Config{
		Hostname:     p.Hostname,
		User:         p.User,
		AttachStdin:  pipe,
		AttachStdout: true,
		AttachStderr: true,
		OpenStdin:    pipe,
		StdinOnce:    pipe, // without it the command never sees EOF
		Env:          unset(imageEnv),
		Cmd:          p.Args,
		Healthcheck:  &container.HealthConfig{Test: []string{noHealth}},
		Image:        p.ImageID,
		WorkingDir:   p.WorkingDir,
		Entrypoint:   p.Entrypoint,
		Labels:       p.Labels,
		StopSignal:   stopSignal,
	}
	no, oomKillDisable, pids := false, !p.OOMKill, p.Pids
	host := &container.HostConfig{
		LogConfig:      container.LogConfig{Type: p.LogDriver},
		NetworkMode:    container.NetworkMode(p.NetworkMode),
		RestartPolicy:  container.RestartPolicy{Name: noRestart},
		CapDrop:        []string{allCaps},
		CgroupnsMode:   cgroupsOwn,
		IpcMode:        container.IpcMode(p.IPCMode),
		ReadonlyRootfs: p.ReadOnlyRoot,
		SecurityOpt:    []string{noNewPrivs, seccompOpt + string(isolation.SeccompProfile())},
		Tmpfs:          map[string]string{},
		Runtime:        ociRuntime,
		MaskedPaths:    p.MaskedPaths,
		ReadonlyPaths:  p.ReadonlyPaths,
		Init:           &no,
		Resources: container.Resources{
			Memory:         p.MemoryBytes,
			MemorySwap:     p.MemorySwapBytes,
			PidsLimit:      &pids,
			NanoCPUs:       p.NanoCPUs,
			OomKillDisable: &oomKillDisable,
		},
	}
	for _, m := range p.Mounts {
		host.Mounts = append(host.Mounts, bind(m))
	}
	noSandbox(cfg, host, hosts)
	for _, t := range p.Tmpfs {
		// Not a mount of type tmpfs: nr_inodes is ignored there below API 1.46
		// (pitfall A7).
		host.Tmpfs[t.Target] = strings.Join(t.Options(), ",")
	}
	for _, r := range p.Rlimits {
		host.Ulimits = append(host.Ulimits, &container.Ulimit{Name: r.Name, Soft: r.Value, Hard: r.Value})
	}
	return cfg, host
}

// bind is one projection. Not recursive: what is mounted below the source stays
// outside. A missing source is an error; only the other way of asking, Binds,
// would create it.
func bind(m isolation.Mount) mount.Mount {
	return mount.Mount{
		Type: bindMount, Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly,
		BindOptions: &mount.BindOptions{Propagation: rprivate, NonRecursive: true},
	}
}

// unset names every variable that the image or the engine would set, without a
// value, which takes it away.
func unset(imageEnv []string) []string {
	names := strings.Fields(engineEnvs)
	for _, v := range imageEnv {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
