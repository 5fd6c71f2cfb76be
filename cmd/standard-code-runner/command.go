//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/cmd/standard-code-runner/internal/supervise"
	"cyberagent/domain/command"
	"cyberagent/domain/isolation"
	"cyberagent/domain/runnerproto"
	"cyberagent/domain/toolchain"
)

// command proves the working directory and the headroom, takes the baseline,
// runs the command and reports about it.
func (s *session) command() error {
	dir, err := s.workdir()
	if err != nil {
		return s.notStarted(runnerproto.StopNone, err.Error())
	}
	defer unix.Close(dir)
	free, err := supervise.FreeSpace(s.workspace.FD())
	if err != nil {
		return s.notStarted(runnerproto.StopAccounting, err.Error())
	}
	if v := supervise.Headroom(free, s.binding.Quota); v.Stop != runnerproto.StopNone {
		return s.notStarted(v.Stop, v.Detail)
	}
	names := s.workspace.WatchNames() // the baseline's scan finds the directories
	base, err := s.workspace.Scan()
	if err != nil {
		return s.notStarted(runnerproto.StopAccounting, "baseline: "+err.Error())
	}
	spec, err := s.spec(dir)
	if err != nil {
		return s.notStarted(runnerproto.StopNone, err.Error())
	}
	out, err := channel(1)
	if err != nil {
		return err
	}
	select {
	case <-s.runner.Term():
		return s.notStarted(runnerproto.StopTerm, "TERM came before the start")
	default:
	}
	w, err := supervise.NewWatcher(s.workspace, names, s.cache.FD(), s.binding.Quota, base, free)
	if err != nil {
		return s.notStarted(runnerproto.StopNone, err.Error())
	}
	start := time.Now()
	p, err := s.runner.Start(spec)
	if err != nil {
		s.report.Outcome, s.report.Detail = runnerproto.OutcomeStartFailed, fmt.Sprintf("%s: %v", spec.Path, err)
		s.again()
		return nil
	}
	s.report.Usage.SetupMillis = start.Sub(s.begin).Milliseconds()
	return s.supervise(p, w, out, start)
}

// spec makes the fixed program and environment of the toolchain, and the
// directories that the environment names.
func (s *session) spec(dir int) (supervise.Command, error) {
	tc, err := command.ParseToolchain(s.binding.Toolchain)
	if err != nil {
		return supervise.Command{}, err
	}
	place := func(p string) string { return p }
	if s.binding.Mode == runnerproto.ModeBake {
		place = toolchain.Baking
	}
	for _, d := range toolchain.Dirs(tc) {
		if err := os.MkdirAll(place(d), 0o700); err != nil {
			return supervise.Command{}, err
		}
	}
	if err := carried(tc, place); err != nil {
		return supervise.Command{}, err
	}
	stdin, err := s.stdin()
	if err != nil {
		return supervise.Command{}, err
	}
	path, args := toolchain.Program(tc, s.binding.Arguments)
	env := toolchain.Environment(tc, toolchain.Carried{ModCache: exists(toolchain.ModCache), SitePkgs: exists(toolchain.SitePkgs)})
	for i := range env {
		env[i] = place(env[i])
	}
	return supervise.Command{Path: path, Args: args, Env: env, Dir: dir, Stdin: stdin}, nil
}

// carried makes what the image carries for the toolchain visible in its empty
// cache.
func carried(tc command.Toolchain, place func(string) string) error {
	switch tc {
	case command.Go:
		for _, from := range []string{toolchain.WarmGo, toolchain.WarmStd, toolchain.WarmDeps} {
			if err := warm(from, place(toolchain.GoCache)); err != nil {
				return err
			}
		}
	case command.Rust:
		if exists(toolchain.CargoConfig) {
			err := os.Symlink(toolchain.CargoConfig, place(toolchain.CargoHome)+"/config.toml")
			if err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	default:
	}
	return nil
}

func exists(p string) bool {
	_, err := os.Stat(p)
	return err == nil
}

// stdin is what the command reads: the container's own pipe, or nothing. The
// runner keeps no copy of the pipe, so that the host notices when nobody reads.
func (s *session) stdin() (*os.File, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if err != nil || s.binding.Stdin != isolation.StdinPipe {
		return null, err
	}
	defer null.Close()
	fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("stdin: %w", err)
	}
	if err := unix.Dup3(int(null.Fd()), 0, 0); err != nil {
		return nil, fmt.Errorf("stdin: %w", err)
	}
	return os.NewFile(uintptr(fd), "stdin"), nil
}
