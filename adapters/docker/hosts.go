package docker

import (
	"os"
	"path/filepath"

	"github.com/docker/docker/api/types/container"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
)

// hostsTarget is one of the engine's own read-only files. An engine that makes no
// network for a container leaves it empty, and then not even localhost has an
// address: this adapter gives it in the engine's place, as the other one does.
const (
	hostsTarget = "/etc/hosts"
	hostsText   = "127.0.0.1\tlocalhost\n::1\tlocalhost\n"
	hostsMode   = 0o444
)

// hosts is the mount of the file in place of the engine's.
func (e *Engine) hosts() isolation.Mount {
	return isolation.Mount{Source: filepath.Join(e.dir, "hosts"), Target: hostsTarget, ReadOnly: true, Private: true}
}

// layHosts makes the file, unless it is there exactly. It is put in place whole, for
// other processes make it, too, and containers may have the old one.
func (e *Engine) layHosts() error {
	path := e.hosts().Source
	if s, err := os.Lstat(path); err == nil && s.Mode() == hostsMode {
		if text, err := os.ReadFile(path); err == nil && string(text) == hostsText {
			return nil
		}
	}
	err := os.MkdirAll(e.dir, 0o700)
	if err == nil {
		err = replace(e.dir, path)
	}
	if err != nil {
		return fault.Wrap(fault.Internal, err, "the file %s cannot be made", path)
	}
	return nil
}

func replace(dir, path string) error {
	f, err := os.CreateTemp(dir, "hosts-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it is gone when all went well
	_, err = f.WriteString(hostsText)
	if e := f.Chmod(hostsMode); err == nil {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// ofEngine takes the mount of the hosts file out of the projections: it stands for a
// file of the engine's. A container without exactly that mount has an Extra.
func ofEngine(list []isolation.Mount, hosts isolation.Mount, x *extras) []isolation.Mount {
	var rest []isolation.Mount
	found := 0
	for _, m := range list {
		if m == hosts {
			found++
			continue
		}
		rest = append(rest, m)
	}
	if found != 1 {
		x.add("mount."+hostsTarget, found)
	}
	return rest
}

// noSandbox asks the engine for no network of its own. Asked for its network called
// none it would start itself twice more for a namespace with lo, which the OCI runtime
// makes anyway: most of the time that its start takes.
func noSandbox(cfg *container.Config, host *container.HostConfig, hosts isolation.Mount) {
	cfg.NetworkDisabled = true
	host.Mounts = append(host.Mounts, bind(hosts))
}
