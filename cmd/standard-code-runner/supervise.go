//go:build linux

package main

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/cmd/standard-code-runner/internal/measure"
	"cyberagent/cmd/standard-code-runner/internal/stream"
	"cyberagent/cmd/standard-code-runner/internal/supervise"
	"cyberagent/domain/isolation"
	"cyberagent/domain/runnerproto"
)

const (
	// afterKill is how long a killed process may stay in the kernel before the
	// runner gives up and ends without a report, which ends the container.
	afterKill = 10 * time.Second
	// drain bounds how long the pipes may stay open when no process is left: a
	// descriptor in flight on a socket goes away late.
	drain = 2 * time.Second
	// flush bounds how long the host may take to read what is left of the output.
	flush = 10 * time.Second
)

var errStuck = errors.New("the command could not be killed")

// supervise waits for the command's end, ends it if it must, and reports.
func (s *session) supervise(p *supervise.Process, w *supervise.Watcher, out *os.File, start time.Time) error {
	reaper := supervise.Reap(p.PID)
	go w.Run()
	frames := stream.NewFrames(out)
	pumps := []*stream.Pump{
		stream.NewPump(runnerproto.Stdout, p.Stdout, frames),
		stream.NewPump(runnerproto.Stderr, p.Stderr, frames),
	}
	var pumping sync.WaitGroup
	for _, pump := range pumps {
		pumping.Go(pump.Run)
	}
	ended, err := s.await(reaper, w)
	if err != nil {
		return err
	}
	s.report.Usage.WallMillis = time.Since(start).Milliseconds()
	if !supervise.KillUntilGone(reaper, afterKill) {
		return errStuck
	}
	w.Stop()
	s.verdict(w)
	now := time.Now()
	frames.Deadline(now.Add(flush))
	_ = p.Stdout.SetReadDeadline(now.Add(flush + drain))
	_ = p.Stderr.SetReadDeadline(now.Add(flush + drain))

	s.report.Outcome, s.report.ExitCode = runnerproto.OutcomeExited, ended.Code
	if ended.Signal != 0 {
		s.report.Outcome, s.report.ExitCode, s.report.Signal = runnerproto.OutcomeSignaled, 0, unix.SignalName(ended.Signal)
	}
	s.finish(w, ended)
	pumping.Wait()
	for _, pump := range pumps {
		s.report.Streams = append(s.report.Streams, pump.Report())
	}
	return nil
}

// await returns when the command itself has ended.
func (s *session) await(reaper *supervise.Reaper, w *supervise.Watcher) (supervise.Ended, error) {
	timeout := time.NewTimer(time.Duration(s.binding.TimeoutMillis) * time.Millisecond)
	defer timeout.Stop()
	var grace, stuck <-chan time.Time
	stop := func(why runnerproto.Stop) {
		if s.report.Stop == runnerproto.StopNone {
			s.report.Stop = why
			supervise.Terminate()
			grace = time.After(time.Duration(s.binding.GraceMillis) * time.Millisecond)
		}
	}
	for {
		select {
		case e := <-reaper.Ended():
			return e, nil
		case <-timeout.C:
			stop(runnerproto.StopTimeout)
		case <-s.runner.Term():
			stop(runnerproto.StopTerm)
		case v := <-w.Verdict():
			s.stopped(v)
			stuck = time.After(afterKill)
		case <-grace:
			supervise.Kill()
			stuck = time.After(afterKill)
		case <-stuck:
			return supervise.Ended{}, errStuck
		}
	}
}

// verdict takes one that came together with the command's end.
func (s *session) verdict(w *supervise.Watcher) {
	select {
	case v := <-w.Verdict():
		s.stopped(v)
	default:
	}
}

// stopped records a quota's verdict. It goes before a time limit or a TERM that
// came earlier: the workspace is past its quota whatever ended the command.
func (s *session) stopped(v supervise.Verdict) {
	s.report.Stop = v.Stop
	s.note(v.Detail)
}

// finish measures what the command left, when nothing runs any more.
func (s *session) finish(w *supervise.Watcher, ended supervise.Ended) {
	r := w.Finish()
	s.report.Growth = r.Growth
	quota := s.report.Stop != runnerproto.StopNone && s.report.Stop != runnerproto.StopTimeout && s.report.Stop != runnerproto.StopTerm
	if r.Verdict.Stop != runnerproto.StopNone && !quota {
		s.stopped(r.Verdict)
	}
	s.usage(r)
	s.events(r, ended)
	if r.Restore {
		s.restore()
	}
	s.again()
}

func (s *session) usage(r supervise.Result) {
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &ru) == nil {
		s.report.Usage.CPUMillis = (ru.Utime.Nano() + ru.Stime.Nano()) / int64(time.Millisecond)
		s.report.Usage.MaxRSSBytes = ru.Maxrss * 1024 // the kernel counts KiB
	}
	s.report.Usage.CachePeakBytes = r.CachePeak
}

// events reads the kernel's counters and looks for a file at the ceiling.
func (s *session) events(r supervise.Result, ended supervise.Ended) {
	e := &s.report.Events
	if mounts, err := measure.Mounts(); err == nil {
		if g, err := measure.Group(mounts); err == nil {
			c := g.Counters()
			e.OOMKills, e.PidsDenied = c.OOMKills, c.PidsDenied
			s.report.Usage.PeakMemoryBytes, s.report.Usage.PeakPids = c.PeakMemory, c.PeakPids
		}
	}
	e.CacheFull = r.CacheFull
	e.FileSizeHit = ended.Signal == unix.SIGXFSZ
	if r.Exact != "" {
		e.FileSizeHit, e.FileSizePath = true, isolation.Workspace+"/"+r.Exact
		return
	}
	if ended.Code == 0 && ended.Signal == 0 {
		return // the cache is only searched for a reason to have failed
	}
	if found, err := s.cache.Scan(); err == nil {
		for _, path := range found.Exact {
			if full := isolation.CacheDir + "/" + path; e.FileSizePath == "" || full < e.FileSizePath {
				e.FileSizeHit, e.FileSizePath = true, full
			}
		}
	}
}
