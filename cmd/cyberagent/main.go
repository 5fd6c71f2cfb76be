// Command cyberagent runs one approved command of a coding agent at a time,
// offline, in a fixed container, on a worktree that the Run owns.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := invoke(ctx, os.Args, process{
		out: os.Stdout, err: os.Stderr, lookup: os.LookupEnv,
		outTerminal: isTerminal(os.Stdout), errTerminal: isTerminal(os.Stderr),
	})
	stop()
	os.Exit(code)
}
