package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cyberagent/domain/command"
	"cyberagent/domain/isolation"
	"cyberagent/domain/toolchain"
)

// limit is one that a command can run into, as `docker run` says it.
type limit struct {
	name         string
	kept, lifted []string
}

// limits are those of the contract, by the reason that names them.
var limits = map[string]limit{
	"file_size":  {"16 MiB a file", []string{"--ulimit=fsize=16777216"}, []string{"--ulimit=fsize=-1"}},
	"cache_full": {"128 MiB of cache", []string{cacheMount("134217728", "16384")}, []string{cacheMount("4g", "1m")}},
	"oom_killed": {"2 GiB of memory", []string{"--memory=2g", "--memory-swap=2g"}, []string{"--memory=8g", "--memory-swap=8g"}},
	"pids_limit": {"128 processes", []string{"--pids-limit=128"}, []string{"--pids-limit=4096"}},
}

// stoppedBy is the reason that names the limit. A command that says itself that a file
// is too large has ended by itself.
func (r row) stoppedBy() string {
	if strings.Contains(r.Detail, "file_size_said: ") {
		return "file_size"
	}
	return r.Reason
}

func cacheMount(size, inodes string) string {
	return "--tmpfs=" + toolchain.Cache + ":size=" + size + ",nr_inodes=" + inodes + ",mode=0700,uid=65532,gid=65532,exec,nosuid,nodev"
}

// lift runs a command that a fixed limit stopped by plain `docker run` with the same
// image, user, mounts, seccomp profile and limits, and once more with only that limit
// lifted. The product has no such switch, and its runner would refuse to start.
func (l lab) lift(ctx context.Context, p project, source string, rows []row) {
	i := slices.IndexFunc(rows, func(r row) bool { return r.Image == "project" && r.Changed && limits[r.stoppedBy()].name != "" })
	if i < 0 {
		_ = os.Remove(l.place("lift", p))
		return
	}
	if _, ok := recall[lifted](l.place("lift", p), l.inputs("docker", p)); ok && !l.again {
		return
	}
	reason := rows[i].stoppedBy()
	result := lifted{Limit: limits[reason].name, At: time.Now().UTC()}
	for lift, to := range map[bool]*string{false: &result.Kept, true: &result.Lifted} {
		*to = "passes"
		if err := l.dockerRun(ctx, p, source, rows[i].Digest, reason, lift); err != nil {
			*to = "fails: " + clip(err.Error())
		}
	}
	if ctx.Err() != nil {
		return
	}
	if err := remember(l.place("lift", p), l.inputs("docker", p), result); err != nil {
		say("%s", err)
	}
	say("%s %s: by docker run %s; without the limit of %s %s", p.Name, p.Version, result.Kept, result.Limit, result.Lifted)
}

func (l lab) dockerRun(ctx context.Context, p project, source, image, reason string, lift bool) error {
	dir, err := os.MkdirTemp(l.cache, "lift-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	workspace := filepath.Join(dir, "workspace")
	if out, err := exec.CommandContext(ctx, "git", "clone", "-q", "--no-hardlinks", source, workspace).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if err := touch(workspace, p.Toolchain); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(workspace, ".git")); err != nil {
		return err
	}
	tc := command.Toolchain(p.Toolchain)
	lifting := ""
	if lift {
		lifting = reason
	}
	args, err := contract(ctx, dir, lifting)
	if err != nil {
		return err
	}
	program, rest := toolchain.Program(tc, p.Args)
	env := toolchain.Environment(tc, toolchain.Carried{ModCache: tc == command.Go, SitePkgs: tc == command.Python})
	args = append(args, "--entrypoint=/bin/sh", image, "-c", setup(tc)+`exec env -i "$@"`, "sh")
	args = slices.Concat(args, env, []string{program}, rest)
	out, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
	l.log(fmt.Sprintf("docker-run-lifted-%t", lift), p, string(out))
	if err != nil {
		return fmt.Errorf("%w: %s", err, last(string(out)))
	}
	return nil
}

// contract is `docker run` with the fixed isolation, for dir/workspace; the limit of
// one reason may be lifted.
func contract(ctx context.Context, dir, lifting string) ([]string, error) {
	workspace, profile := filepath.Join(dir, "workspace"), filepath.Join(dir, "seccomp.json")
	if err := os.WriteFile(profile, isolation.SeccompProfile(), 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, "chown", "-R", "65532:65532", workspace).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	args := []string{
		"-H", "unix://" + os.Getenv("CYBERAGENT_DOCKER_SOCKET"), "run", "--rm", "--network=none", "--log-driver=none", "--read-only", "--user=65532:65532",
		"--cap-drop=ALL", "--security-opt=no-new-privileges", "--security-opt=seccomp=" + profile,
		"--cpus=2", "--ipc=none", "--cgroupns=private", "--runtime=runc", "--hostname=standard-code",
		"--tmpfs=/dev/shm:size=67108864,nr_inodes=4096,noexec,nosuid,nodev",
		"--ulimit=core=0", "--ulimit=nofile=4096", "--ulimit=msgqueue=0",
		"--mount=type=bind,src=" + workspace + ",dst=/workspace,bind-propagation=rprivate", "--workdir=/workspace",
	}
	for name, x := range limits {
		if name == lifting {
			args = append(args, x.lifted...)
		} else {
			args = append(args, x.kept...)
		}
	}
	return args, nil
}

// setup is what the runner does before it starts a tool.
func setup(tc command.Toolchain) string {
	s := "mkdir -p " + strings.Join(toolchain.Dirs(tc), " ") + "\n"
	for _, warm := range []string{toolchain.WarmGo, toolchain.WarmStd, toolchain.WarmDeps} {
		if tc == command.Go {
			s += "[ -d " + warm + " ] && cp -rs " + warm + "/?? " + toolchain.GoCache + "/ 2>/dev/null\n"
		}
	}
	if tc == command.Go {
		s += "date +%s >" + toolchain.GoCache + "/trim.txt\n"
	}
	if tc == command.Rust {
		s += "ln -s " + toolchain.CargoConfig + " " + toolchain.CargoHome + "/config.toml\n"
	}
	return s
}
