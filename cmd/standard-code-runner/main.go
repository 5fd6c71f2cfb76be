//go:build linux

// The runner decides itself how many threads it has, and must never make more
// while the command runs; the runtime need not read the cgroup for that.
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/cmd/standard-code-runner/internal/supervise"
	"cyberagent/domain/limits"
	"cyberagent/domain/runnerproto"
)

func main() {
	begin := time.Now()
	if err := serve(begin, os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "standard-code-runner:", err)
		os.Exit(1)
	}
}

// reportWrite bounds how long the host may take to read the report.
const reportWrite = 10 * time.Second

// serve does everything and returns nil when the report was written.
func serve(begin time.Time, args []string) error {
	runner, err := supervise.Harden()
	if err != nil {
		return err
	}
	b, err := binding(args)
	if err != nil {
		return err
	}
	s := &session{begin: begin, runner: runner, binding: b, report: runnerproto.NewReport(b)}
	if err := s.do(); err != nil {
		return err
	}
	line, err := s.report.Encode()
	if err != nil {
		return err
	}
	out, err := channel(2)
	if err != nil {
		return err
	}
	_ = out.SetWriteDeadline(time.Now().Add(reportWrite))
	_, err = out.Write(line)
	return err
}

func binding(args []string) (runnerproto.Binding, error) {
	if len(args) != 3 {
		return runnerproto.Binding{}, fmt.Errorf("usage: %s %s BINDING", "runner", runnerproto.Protocol)
	}
	if args[1] != runnerproto.Protocol {
		return runnerproto.Binding{}, fmt.Errorf("protocol %q, this is %q", args[1], runnerproto.Protocol)
	}
	if int64(len(args[2])) > limits.RunnerBindingBytes {
		return runnerproto.Binding{}, errors.New("the binding is too long")
	}
	return runnerproto.DecodeBinding([]byte(args[2]))
}

// channel takes one of the standard descriptors for non-blocking writes. It is a
// copy with another number, because the os package ends the program when the
// reader of descriptor 1 or 2 is gone.
func channel(fd int) (*os.File, error) {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d: %w", fd, err)
	}
	if err := unix.SetNonblock(dup, true); err != nil {
		return nil, fmt.Errorf("descriptor %d: %w", fd, err)
	}
	return os.NewFile(uintptr(dup), "channel"), nil
}
