package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"cyberagent/adapters/ledger"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/lifecycle"
	"cyberagent/ports"
)

// executing measures a trivial command: everything from the process's start to its
// answer, beside the plain engine with the same flags.
func executing(ctx context.Context, l *lab) ([]Table, error) {
	var tables []Table
	for _, p := range []struct {
		engine isolation.Engine
		name   string
		most   float64
		peer   func(workspace, profile string, n int) (*exec.Cmd, error)
	}{
		{isolation.Docker, "docker run --rm", 0.75, l.dockerRun},
		{isolation.Containerd, "ctr run --rm", 1.0, l.ctrRun},
	} {
		some, err := l.executingOn(ctx, p.engine, p.name, p.most, p.peer)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.engine, err)
		}
		tables = append(tables, some...)
	}
	return tables, nil
}

func (l *lab) executingOn(ctx context.Context, engine isolation.Engine, name string, most float64, peer func(string, string, int) (*exec.Cmd, error)) ([]Table, error) {
	h := l.home("execute-"+string(engine), string(engine))
	src, err := l.source("source-"+string(engine), map[string]string{"a.py": "print(1)\n"})
	if err != nil {
		return nil, err
	}
	f, err := h.flow(src)
	if err != nil {
		return nil, err
	}
	workspace, profile, err := l.peerFiles()
	if err != nil {
		return nil, err
	}
	var ours, theirs, ourCPU, theirCPU Sample
	steps := newPhases()
	for round := range l.rounds + 1 { // the first is a warm-up
		cmd, err := f.approved()
		if err != nil {
			return nil, err
		}
		other, err := peer(workspace, profile, round)
		if err != nil {
			return nil, err
		}
		err = inTurn(round, func() error {
			began := time.Now()
			out, err := spent(cmd, &ours, &ourCPU)
			if err != nil {
				return err
			}
			finished := time.Now()
			e, err := f.follow(out)
			if err != nil || round == 0 {
				return err
			}
			return steps.read(ctx, h.dir, id.Admission(e.ID), began, finished)
		}, func() error {
			_, err := spent(other, &theirs, &theirCPU)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	title := fmt.Sprintf("A trivial command on %s", engine)
	return []Table{
		{Title: title, Unit: "ms", Lines: []Line{
			{What: "`execute`, all of it", Ours: ours[1:], Peer: theirs[1:], PeerName: "`" + name + "`", MostRatio: most},
			{What: "processor time of the program that was called", Ours: ourCPU[1:], Peer: theirCPU[1:], PeerName: "`" + name + "`"},
		}, Notes: []string{"The command is `python3 -c pass`. Ours includes the checks, the ledger and the Checkpoint; the peer gets the same image, user, mounts, limits and seccomp profile."}},
		{Title: title + ": where the time goes", Unit: "ms", Lines: steps.lines()},
	}, nil
}

// peerFiles are a directory for the peer's workspace and the seccomp profile.
func (l *lab) peerFiles() (workspace, profile string, err error) {
	workspace, profile = filepath.Join(l.dir, "peer"), filepath.Join(l.dir, "seccomp.json")
	if err := os.MkdirAll(workspace, 0o755); err != nil { //nolint:gosec // for another uid
		return "", "", err
	}
	return workspace, profile, os.WriteFile(profile, isolation.SeccompProfile(), 0o600)
}

const interpreter = "/standard-code/bin/python3"

// dockerRun is what somebody would type for the same container.
func (l *lab) dockerRun(workspace, profile string, _ int) (*exec.Cmd, error) {
	args := []string{
		"-H", "unix://" + l.docker, "run", "--rm", "--network=none", "--log-driver=none", "--read-only", "--user=65532:65532",
		"--cap-drop=ALL", "--security-opt=no-new-privileges", "--security-opt=seccomp=" + profile, "--memory=2g", "--memory-swap=2g",
		"--pids-limit=128", "--cpus=2", "--ipc=none", "--cgroupns=private", "--runtime=runc", "--hostname=standard-code",
		"--tmpfs=/standard-code/cache:size=134217728,nr_inodes=16384,mode=0700,uid=65532,gid=65532,exec,nosuid,nodev",
		"--tmpfs=/dev/shm:size=67108864,nr_inodes=4096,noexec,nosuid,nodev",
		"--ulimit=core=0", "--ulimit=nofile=4096", "--ulimit=fsize=16777216", "--ulimit=msgqueue=0",
		"--mount=type=bind,src=" + workspace + ",dst=/workspace,bind-propagation=rprivate", "--workdir=/workspace",
		"--entrypoint=" + interpreter, l.dockerImage,
	}
	cmd := exec.Command("docker", append(args, trivial...)...)
	cmd.Env = plain()
	return cmd, nil
}

// ctrRun gives every flag that ctr has for the same. It has none for the size of
// /dev/shm, limits of files, or the cache's tmpfs.
func (l *lab) ctrRun(workspace, profile string, n int) (*exec.Cmd, error) {
	ref, err := l.ctrImage()
	if err != nil {
		return nil, err
	}
	args := []string{
		"--address", l.containerd, "--namespace", "cyberagent", "run", "--rm", "--read-only", "--user=65532:65532",
		"--seccomp", "--seccomp-profile=" + profile, "--memory-limit=2147483648", "--cpus=2", "--cwd=/workspace",
		"--mount=type=bind,src=" + workspace + ",dst=/workspace,options=bind:rw:nosuid:nodev",
		ref, fmt.Sprintf("bench-%d-%d", os.Getpid(), n), interpreter,
	}
	cmd := exec.Command(l.ctr, append(args, trivial...)...)
	cmd.Env = append(plain(), "CONTAINERD_SUPPRESS_DEPRECATION_WARNINGS=1")
	return cmd, nil
}

// ctrImage is the name under which the fixture image is in containerd.
func (l *lab) ctrImage() (string, error) {
	ctr := func(args ...string) (string, error) {
		cmd := exec.Command(l.ctr, append([]string{"--address", l.containerd, "--namespace", "cyberagent"}, args...)...)
		out, err := cmd.Output()
		return string(out), failed(cmd, err)
	}
	list, err := ctr("images", "list")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(list) {
		f := strings.Fields(line)
		if len(f) < 3 || !strings.Contains(f[0], "standard-code-fixture") {
			continue
		}
		manifest, err := ctr("content", "get", f[2])
		if err == nil && (f[2] == l.containerdImage || strings.Contains(manifest, l.containerdImage)) {
			return f[0], nil
		}
	}
	return "", fmt.Errorf("containerd has no image %s", l.containerdImage)
}

// phases reads from the ledger when each step was recorded.
type phases struct {
	names  []string
	sample map[string]*Sample
}

func newPhases() *phases { return &phases{sample: map[string]*Sample{}} }

// marks are the moments between phases, in order, and what ends at each.
var marks = []struct {
	what  string
	event lifecycle.Event
}{
	{"admission recorded", lifecycle.CreateIntent},
	{"container created and read back", lifecycle.CreateDone},
	{"files and authority checked again", lifecycle.StartIntent},
	{"engine's start", lifecycle.StartDone},
	{"runner, command, and the engine's word of the end", lifecycle.ExitDone},
	{"end recorded", lifecycle.RemoveIntent},
	{"container removed, absence proven", lifecycle.RemoveDone},
	{"Checkpoint, and the end's transaction", lifecycle.FinalizeDone},
}

func (p *phases) add(what string, from, to time.Time) {
	if p.sample[what] == nil {
		p.names, p.sample[what] = append(p.names, what), &Sample{}
	}
	*p.sample[what] = append(*p.sample[what], millis(to.Sub(from)))
}

// read adds one execution's phases.
func (p *phases) read(ctx context.Context, dir string, adm id.Admission, began, ended time.Time) error {
	l, err := ledger.Open(ctx, ledger.Config{Path: filepath.Join(dir, "ledger.db")})
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // read only
	return l.Read(ctx, func(rec ports.Records) error {
		a, err := rec.Admission(adm)
		if err != nil {
			return err
		}
		log, err := rec.Log(adm)
		if err != nil {
			return err
		}
		p.add("process start, ledger opened, all checks", began, a.CreatedAt)
		last := a.CreatedAt
		for _, m := range marks {
			for _, e := range log {
				if e.Event == m.event {
					p.add(m.what, last, e.At)
					last = e.At
				}
			}
		}
		p.add("ledger closed, answer, process end", last, ended)
		return nil
	})
}

func (p *phases) lines() []Line {
	var lines []Line
	for _, n := range p.names {
		lines = append(lines, Line{What: n, Ours: *p.sample[n]})
	}
	return lines
}
