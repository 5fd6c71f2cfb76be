//go:build linux

package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/cmd/standard-code-runner/internal/measure"
	"cyberagent/cmd/standard-code-runner/internal/supervise"
	"cyberagent/cmd/standard-code-runner/internal/tree"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/domain/runnerproto"
)

// session is one run of the runner.
type session struct {
	begin   time.Time
	runner  *supervise.Runner
	binding runnerproto.Binding
	report  runnerproto.Report

	workspace *tree.Tree
	cache     *tree.Tree
}

// do fills the report. An error means that there can be none.
func (s *session) do() error {
	s.report.Facts = measure.Collect(s.binding.Host)
	expected, fileBytes := isolation.Expected(), limits.FileBytes
	if s.binding.Mode == runnerproto.ModeBake {
		expected, fileBytes = isolation.ExpectedInOven(), limits.ProjectFileBytes
	}
	if d := isolation.Mismatches(s.report.Facts, expected); len(d) > 0 {
		s.report.Outcome, s.report.Mismatches = runnerproto.OutcomeRefused, d
		return nil
	}
	if err := s.open(fileBytes); err != nil {
		return s.notStarted(runnerproto.StopNone, err.Error())
	}
	if s.binding.Mode == runnerproto.ModeRepair {
		s.restore()
		s.again()
		s.report.Outcome = runnerproto.OutcomeRepaired
		return nil
	}
	return s.command()
}

// notStarted reports that the command was not started, and why.
func (s *session) notStarted(stop runnerproto.Stop, detail string) error {
	s.report.Outcome, s.report.Stop, s.report.Detail = runnerproto.OutcomeNotStarted, stop, detail
	s.again()
	return nil
}

// open opens the two writable trees, in which a file may have fileBytes.
func (s *session) open(fileBytes int64) error {
	var err error
	s.workspace, err = tree.Open(isolation.Workspace, ".git", limits.UID, fileBytes)
	if err != nil {
		return err
	}
	s.cache, err = tree.Open(isolation.CacheDir, "", limits.UID, fileBytes)
	return err
}

// workdir opens the command's directory and proves that it is inside the
// workspace: no component may be a link or lead out.
func (s *session) workdir() (int, error) {
	how := &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	}
	fd, err := unix.Openat2(s.workspace.FD(), s.binding.Workdir, how)
	if err != nil {
		return -1, fmt.Errorf("working directory %q: %w", s.binding.Workdir, err)
	}
	return fd, nil
}

// restore gives access back to what the command's user owns.
func (s *session) restore() {
	lost, err := s.workspace.Restore()
	if err != nil {
		s.note(err.Error())
	}
	s.report.Unreadable = append(s.report.Unreadable, lost...)
}

// again measures the two projections once more.
func (s *session) again() {
	s.report.WorkspaceIntact, s.report.MaskIntact = measure.Intact(s.binding.Host)
}

// note adds a sentence to the report's detail.
func (s *session) note(text string) {
	if s.report.Detail != "" {
		text = "; " + text
	}
	s.report.Detail += text
}
