package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"cyberagent/adapters/host"
	"cyberagent/adapters/ledger"
	"cyberagent/domain/id"
	"cyberagent/domain/run"
	"cyberagent/ports"
)

// manyRuns is how many Runs the listed ledger has.
const manyRuns = 10_000

// starting measures the command line's own start. The peer is a Go program that
// does nothing: what this machine takes to start any.
func starting(ctx context.Context, l *lab) ([]Table, error) {
	empty, err := l.emptyProgram()
	if err != nil {
		return nil, err
	}
	h := l.home("start", "docker")
	if err := runsIn(ctx, h.dir, l.size(manyRuns, 100)); err != nil {
		return nil, err
	}
	var version, list, nothing struct{ wall, cpu Sample }
	for range 2 * l.rounds {
		for _, x := range []struct {
			cmd *exec.Cmd
			to  *struct{ wall, cpu Sample }
		}{
			{h.command("version"), &version},
			{exec.Command(empty), &nothing},
			{h.command("run", "list"), &list},
		} {
			if _, err := spent(x.cmd, &x.to.wall, &x.to.cpu); err != nil {
				return nil, err
			}
		}
	}
	const peer = "an empty Go program"
	return []Table{{Title: "The command line's start", Unit: "ms", Lines: []Line{
		{What: "`version`", Ours: version.wall, Peer: nothing.wall, PeerName: peer, Most: 10},
		{What: "`version`, processor time", Ours: version.cpu, Peer: nothing.cpu, PeerName: peer},
		{What: "`run list` of " + strconv.Itoa(manyRuns) + " Runs", Ours: list.wall, Peer: nothing.wall, PeerName: peer, Most: 60},
		{What: "`run list`, processor time", Ours: list.cpu, Peer: nothing.cpu, PeerName: peer},
	}}}, nil
}

// size is a number of things, or a small one for a test of the harness itself.
func (l *lab) size(all, small int) int {
	if l.small {
		return small
	}
	return all
}

func (l *lab) emptyProgram() (string, error) {
	source, program := filepath.Join(l.dir, "empty.go"), filepath.Join(l.dir, "empty")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", program, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GO111MODULE=off")
	_, err := cmd.Output()
	return program, failed(cmd, err)
}

// runsIn makes a ledger with n Runs.
func runsIn(ctx context.Context, dir string, n int) error {
	l, err := ledger.Open(ctx, ledger.Config{Path: filepath.Join(dir, "ledger.db")})
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // everything is committed
	ids := host.IDs{}
	return l.Write(ctx, func(rec ports.Records) error {
		for i := range n {
			r, err := run.New(id.Run(ids.New(id.KindRun)), "Run number "+strconv.Itoa(i), "/srv/source", time.Now())
			if err != nil {
				return err
			}
			if err := rec.AddRun(r); err != nil {
				return err
			}
		}
		return nil
	})
}
