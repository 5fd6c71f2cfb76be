// Command cyberagent runs one approved command of a coding agent at a time,
// offline, in a fixed container, on a worktree that the Run owns.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

func main() {
	// One verb makes some 20 MiB of garbage and ends: collecting it four times took a
	// tenth of execute's own processor time.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	// A reader that leaves must not kill the owner of a running command: with a
	// handler a write to its pipe fails instead.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), ends()...)
	code := invoke(ctx, os.Args, process{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, lookup: os.LookupEnv,
		outTerminal: isTerminal(os.Stdout), errTerminal: isTerminal(os.Stderr),
		errColumns: columns(os.Stderr),
	})
	stop()
	os.Exit(code)
}

const gcPercent = 400

// ends are the signals that cancel: Ctrl-C, a polite kill, and a terminal that is
// closed unless the process was started to outlive it.
func ends() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}
