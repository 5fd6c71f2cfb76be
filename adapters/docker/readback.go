package docker

import (
	"reflect"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"

	"cyberagent/domain/canon"
	"cyberagent/domain/isolation"
)

// properties turns what the engine reports of a container into the contract's
// words. What the contract has no word for becomes an entry of Extra, with two
// tables of exceptions (extra.go), so that a field which nobody thought of is
// noticed and not overlooked. raw is the engine's answer itself, for what this
// client has no field for.
func properties(in container.InspectResponse, raw []byte, hosts isolation.Mount) isolation.Properties {
	var x extras
	if in.ContainerJSONBase == nil || in.HostConfig == nil || in.Config == nil {
		x.add("inspect", "incomplete")
		return isolation.Properties{Extra: x}
	}
	cfg, host := in.Config, in.HostConfig
	x.unmapped(raw, in)
	p := isolation.Properties{
		Name: strings.TrimPrefix(in.Name, "/"), Labels: labels(cfg.Labels), ImageID: in.Image, Hostname: cfg.Hostname,
		Entrypoint: []string{in.Path}, Args: slices.Clone(in.Args),
		User: cfg.User, Groups: slices.Clone(host.GroupAdd), WorkingDir: cfg.WorkingDir, Env: env(cfg.Env),
		ReadOnlyRoot: host.ReadonlyRootfs, Privileged: host.Privileged, Capabilities: capabilities(host),
		NetworkMode: string(host.NetworkMode), PIDMode: own(string(host.PidMode)), IPCMode: string(host.IpcMode),
		UTSMode: own(string(host.UTSMode)), CgroupMode: string(host.CgroupnsMode),
		MaskedPaths: slices.Clone(host.MaskedPaths), ReadonlyPaths: slices.Clone(host.ReadonlyPaths),
		MemoryBytes: host.Memory, MemorySwapBytes: host.MemorySwap, NanoCPUs: host.NanoCPUs,
		OOMKill: host.OomKillDisable == nil || !*host.OomKillDisable,
		TTY:     cfg.Tty, LogDriver: host.LogConfig.Type,
	}
	if host.PidsLimit != nil {
		p.Pids = *host.PidsLimit
	}
	p.Stdin = stdin(cfg, &x)
	security(host.SecurityOpt, &p, &x)
	p.Mounts = ofEngine(mounts(in, &x), hosts, &x)
	for target, options := range host.Tmpfs {
		t, err := isolation.ParseTmpfs(target, strings.Split(options, ","))
		if err != nil {
			x.add("tmpfs."+target, options)
		}
		p.Tmpfs = append(p.Tmpfs, t)
	}
	for _, u := range host.Ulimits {
		if u == nil || u.Soft != u.Hard {
			x.add("ulimit", u)
			continue
		}
		p.Rlimits = append(p.Rlimits, isolation.Rlimit{Name: u.Name, Value: u.Hard})
	}
	settings(in, &x)
	p.Extra = x
	return p
}

// labels leaves out the image's own label, which the engine copies to each of
// its containers; the image's check looks at it.
func labels(all map[string]string) map[string]string {
	l := make(map[string]string, len(all))
	for k, v := range all {
		if !isolation.ImageLabel(k) {
			l[k] = v
		}
	}
	return l
}

// env leaves out names without a value: those are taken away, not set.
func env(all []string) []string {
	var set []string
	for _, v := range all {
		if strings.Contains(v, "=") {
			set = append(set, v)
		}
	}
	return set
}

// own is the contract's word for the engine's empty one.
func own(mode string) string {
	if mode == "" {
		return private
	}
	return mode
}

// capabilities is what a set could hold: nothing when all are dropped and none
// is added.
func capabilities(h *container.HostConfig) []string {
	caps := slices.Clone([]string(h.CapAdd))
	if !slices.Contains(h.CapDrop, allCaps) {
		caps = append(caps, "engine default")
	}
	return caps
}

func stdin(c *container.Config, x *extras) isolation.Stdin {
	switch {
	case c.OpenStdin && c.StdinOnce && c.AttachStdin:
		return isolation.StdinPipe
	case !c.OpenStdin && !c.StdinOnce && !c.AttachStdin:
		return isolation.StdinClosed
	}
	x.add("config.stdin", map[string]bool{"open": c.OpenStdin, "once": c.StdinOnce, "attach": c.AttachStdin})
	return isolation.Stdin("other")
}

// security reads the profile as the engine reports it, not as it was asked for:
// a rewritten one has another digest.
func security(opts []string, p *isolation.Properties, x *extras) {
	for _, o := range opts {
		profile, isProfile := strings.CutPrefix(o, seccompOpt)
		switch {
		case isProfile && p.SeccompSHA256 == "":
			p.SeccompSHA256 = canon.SHA256([]byte(profile))
		case o == noNewPrivs, o == noNewPrivs+"=true", o == noNewPrivs+":true":
			p.NoNewPrivileges = true
		default:
			x.add("security_opt", o)
		}
	}
}

// mounts are the projections as the engine set them up; how they were asked for
// must agree with that in every option.
func mounts(in container.InspectResponse, x *extras) []isolation.Mount {
	var list []isolation.Mount
	asked := slices.Clone(in.HostConfig.Mounts)
	for _, m := range in.Mounts {
		if m.Type != bindMount || m.Name != "" || m.Driver != "" || m.Mode != "" {
			x.add("mount."+m.Destination, m)
			continue
		}
		got := isolation.Mount{Source: m.Source, Target: m.Destination, ReadOnly: !m.RW, Private: m.Propagation == rprivate}
		list = append(list, got)
		for i := range asked {
			if reflect.DeepEqual(asked[i], bind(got)) {
				asked = slices.Delete(asked, i, i+1)
				break
			}
		}
	}
	for _, m := range asked {
		x.add("host_config.mounts."+m.Target, m)
	}
	return list
}
