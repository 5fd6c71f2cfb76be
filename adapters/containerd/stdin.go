package containerd

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/errdefs"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/internal/backoff"
	"cyberagent/ports"
)

// AttachStdin implements ports.Containers. ctx bounds the attaching only. A
// second attachment of the same container is recovery_required, for the first
// one's end closed the command's stdin for good.
//
// Write blocks while the command does not read, and Close may be called
// meanwhile. When the command has ended Write returns io.ErrClosedPipe, which is
// normal.
func (e *Engine) AttachStdin(ctx context.Context, c ports.ContainerID) (io.WriteCloser, error) {
	v, err := e.ours(ctx, c)
	switch {
	case err != nil:
		return nil, err
	case v.run.Stdin != isolation.StdinPipe:
		return nil, fault.New(fault.EngineFailure, "container %s was made without a stdin pipe", c)
	case v.state() != ports.StateRunning && v.state() != ports.StatePaused: // frozen while its growth is measured
		return nil, fault.New(fault.EngineFailure, "container %s does not run", c)
	}
	if !e.attached.firstStdin(c) {
		return nil, fault.New(fault.RecoveryRequired, "stdin of container %s was attached before", c)
	}
	for pause := backoff.New(); ; {
		f, err := writeFIFO(v.run.Dir.file(stdinFIFO))
		if err == nil {
			p := &stdinPipe{e: e, c: c, f: f}
			watching, cancel := context.WithTimeout(context.WithoutCancel(ctx), limits.MaxTimeout)
			p.cancel = cancel
			p.a = &attachment{closers: []io.Closer{f}}
			e.attached.add(c, p.a)
			go p.untilTheEnd(watching)
			return p, nil
		}
		// The shim opens its end beside the start.
		if !noReader(err) || !pause.Sleep(ctx) || pause.Total > limits.EngineProbeCall {
			return nil, fault.Wrap(fault.EngineFailure, err, "cannot attach to the stdin of container %s", c)
		}
	}
}

// stdinPipe is our end of the FIFO.
type stdinPipe struct {
	e    *Engine
	c    ports.ContainerID
	f    *os.File
	a    *attachment
	once sync.Once

	cancel context.CancelFunc // of untilTheEnd
}

// untilTheEnd lets go when the command ended: the shim keeps its end open and
// passes on what nobody will read.
func (p *stdinPipe) untilTheEnd(ctx context.Context) {
	defer p.cancel()
	_, _ = p.e.Wait(ctx, p.c)
	p.a.close() // also when Close ended the wait
}

func (p *stdinPipe) Write(b []byte) (int, error) {
	n, err := p.f.Write(b)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, syscall.EPIPE), errors.Is(err, os.ErrClosed), errors.Is(err, os.ErrDeadlineExceeded):
		return n, io.ErrClosedPipe
	}
	return n, fault.Wrap(fault.EngineFailure, err, "cannot write to stdin")
}

// Close gives the command its EOF after everything that was written. The shim
// has the FIFO open for writing as well, so it is told to close that end, again
// and again until it says that it did or that there is no such task (pitfall B1);
// not while the caller waits, who may be about to end a command that hangs.
func (p *stdinPipe) Close() error {
	p.once.Do(func() {
		_ = p.f.SetWriteDeadline(time.Unix(1, 0)) // wakes a Write that the command does not take
		p.e.attached.drop(p.c, p.a)
		p.a.close()
		p.cancel()
		go p.e.closeStdin(p.c)
	})
	return nil
}

func (e *Engine) closeStdin(c ports.ContainerID) {
	ctx, cancel := context.WithTimeout(context.Background(), limits.MaxTimeout)
	defer cancel()
	for pause := backoff.New(); ; {
		err := do(ctx, e, "close the stdin of container "+string(c), func(ctx context.Context) error {
			_, err := e.client.TaskService().CloseIO(ctx, &tasks.CloseIORequest{ContainerID: string(c), Stdin: true})
			return err
		})
		if err == nil || fault.CodeOf(err) == fault.NotFound || errdefs.IsFailedPrecondition(err) || !pause.Sleep(ctx) {
			return
		}
	}
}
