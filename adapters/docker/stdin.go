package docker

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"

	"cyberagent/domain/fault"
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
	in, _, err := e.inspect(ctx, string(c))
	switch {
	case err != nil:
		return nil, err
	case !in.Config.OpenStdin || !in.Config.StdinOnce:
		return nil, fault.New(fault.EngineFailure, "container %s was made without a stdin pipe", c)
	case !in.State.Running:
		return nil, fault.New(fault.EngineFailure, "container %s does not run", c)
	}
	if !e.attached.firstStdin(c) {
		return nil, fault.New(fault.RecoveryRequired, "stdin of container %s was attached before", c)
	}
	conn, err := e.attachThawed(ctx, c)
	if err != nil {
		return nil, err
	}
	a := &attachment{
		conn:    conn.Conn,
		abandon: func() { _ = conn.Conn.Close() },
		stalled: func(time.Duration) bool { return false }, // the engine waits for nothing here
	}
	e.attached.add(c, a)
	go func() {
		// The engine sends nothing here; it closes when the stream is over.
		_, _ = io.Copy(io.Discard, conn.Reader)
		a.close()
		e.attached.drop(c, a)
	}()
	return &stdinPipe{conn: conn}, nil
}

// attachThawed asks for the one attachment. The engine refuses a container that is
// frozen, as one is while its growth is measured, and has done nothing then: it is
// asked again as long as the command runs.
func (e *Engine) attachThawed(ctx context.Context, c ports.ContainerID) (types.HijackedResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, limits.EngineCall)
	defer cancel()
	for pause := backoff.New(); ; {
		conn, err := e.hijack(ctx, c, "attach to the stdin of", container.AttachOptions{Stream: true, Stdin: true})
		// The library has no type for this.
		if err == nil || !strings.HasSuffix(err.Error(), "received 409") || !pause.Sleep(ctx) {
			return conn, err
		}
		if in, _, gone := e.glance(ctx, c); gone != nil || !in.State.Running {
			return conn, err
		}
	}
}

// stdinPipe is the writing half of the attachment.
type stdinPipe struct {
	conn types.HijackedResponse
	once sync.Once
	err  error
}

func (p *stdinPipe) Write(b []byte) (int, error) {
	n, err := p.conn.Conn.Write(b)
	return n, over(err)
}

// Close gives the command its EOF after everything that was written. If only one
// direction cannot be closed the whole connection is, which has the same effect
// on the command.
func (p *stdinPipe) Close() error {
	p.once.Do(func() {
		// A Write that the command does not take is not woken by a shutdown.
		_ = p.conn.Conn.SetWriteDeadline(time.Unix(1, 0))
		half, ok := p.conn.Conn.(types.CloseWriter)
		if ok && half.CloseWrite() == nil {
			return
		}
		if err := p.conn.Conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			p.err = fault.Wrap(fault.EngineFailure, err, "cannot close stdin")
		}
	})
	return p.err
}

// over turns every way to say that the other side is gone into one.
func over(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET), errors.Is(err, net.ErrClosed),
		errors.Is(err, os.ErrDeadlineExceeded): // by Close
		return io.ErrClosedPipe
	}
	return fault.Wrap(fault.EngineFailure, err, "cannot write to stdin")
}
