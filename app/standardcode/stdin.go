package standardcode

import (
	"context"
	"io"

	"cyberagent/domain/isolation"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
)

// Feed writes a command's input into the pipe of its one attachment. The pipe is
// closed when Feed returns, and when ctx ends: the command has ended or is being
// ended. Then a write that the command does not take fails.
type Feed func(ctx context.Context, pipe io.WriteCloser)

// input is the attachment of a running command's stdin, made beside its
// supervision so that an engine which hangs there delays nothing.
type input struct {
	failed chan error // at most one, when it could not be attached
	cancel context.CancelFunc
	done   chan struct{}
}

// close ends the pipe without waiting.
func (i *input) close() { i.cancel() }

// wait returns when nothing of it is under way any more.
func (i *input) wait() {
	i.cancel()
	<-i.done
}

// attachStdin attaches the stdin of a command that has a pipe, once, and feeds
// it; without a Feed the input ends at once.
func (a *attempt) attachStdin(ctx context.Context) *input {
	ctx, cancel := context.WithCancel(ctx)
	in := &input{failed: make(chan error, 1), cancel: cancel, done: make(chan struct{})}
	if a.adm.Stdin != isolation.StdinPipe {
		close(in.done)
		return in
	}
	go func() {
		defer close(in.done)
		pipe, err := a.openStdin(ctx)
		if err != nil {
			in.failed <- err
			return
		}
		stop := context.AfterFunc(ctx, func() { _ = pipe.Close() })
		defer stop()
		defer func() { _ = pipe.Close() }() // EOF; that it is gone already is normal
		if a.feed != nil {
			a.feed(ctx, pipe)
		}
	}()
	return in
}

// openStdin writes the intent ahead, attaches, and records that it did.
func (a *attempt) openStdin(ctx context.Context) (io.WriteCloser, error) {
	if err := a.append(ctx, lifecycle.StdinIntent, nil); err != nil {
		return nil, err
	}
	if err := a.own(); err != nil {
		return nil, err
	}
	call, cancel := context.WithTimeout(ctx, limits.EngineCall)
	defer cancel()
	a.s.hit(Executor, MomentAttaching)
	pipe, err := a.engine.AttachStdin(call, a.container)
	a.s.hit(Executor, MomentAttached)
	if err != nil {
		return nil, err
	}
	if err := a.append(ctx, lifecycle.StdinDone, nil); err != nil {
		_ = pipe.Close()
		return nil, err
	}
	return pipe, nil
}
