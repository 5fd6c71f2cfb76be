package docker

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

// Attach implements ports.Containers. ctx bounds the attaching only; Close,
// Remove, or the end of the container ends the attachment. Both readers must be
// read at the same time, for they share one connection.
func (e *Engine) Attach(ctx context.Context, c ports.ContainerID) (ports.Output, error) {
	conn, err := e.hijack(ctx, c, "attach to the output of", container.AttachOptions{Stream: true, Stdout: true, Stderr: true})
	if err != nil {
		return ports.Output{}, err
	}
	out, outW := io.Pipe()
	errs, errsW := io.Pipe()
	toOut, toErrs := &passing{w: outW}, &passing{w: errsW}
	a := &attachment{
		conn: conn.Conn,
		abandon: func() {
			_ = out.CloseWithError(errAbandoned)
			_ = errs.CloseWithError(errAbandoned)
		},
		stalled: func(d time.Duration) bool { return toOut.stalled(d) || toErrs.stalled(d) },
	}
	e.attached.add(c, a)
	go func() {
		defer e.attached.drop(c, a)
		err := demux(toOut, toErrs, conn.Reader)
		if err == nil {
			err = e.delivered(c)
		}
		a.close()
		_ = outW.CloseWithError(err) // nil is EOF
		_ = errsW.CloseWithError(err)
	}()
	return ports.Output{Stdout: out, Stderr: errs, Close: func() error {
		a.close()
		a.abandon()
		return nil
	}}, nil
}

var errAbandoned = errors.New("the attachment was closed")

// delivered tells the end of a container's output from the end of an engine: a
// killed one closes the connection just as well, but then does not answer.
func (e *Engine) delivered(c ports.ContainerID) error {
	ctx, cancel := context.WithTimeout(context.Background(), limits.EngineProbeCall)
	defer cancel()
	return do(ctx, e, "confirm the end of the output of container "+string(c), func(ctx context.Context, cl *client.Client) error {
		_, err := cl.Ping(ctx)
		return err
	})
}

// hijack makes one attachment. The library looks at neither the context nor the
// status of the answer there, so the connection is closed when the context ends,
// and a refusal is explained by a look at the container.
func (e *Engine) hijack(ctx context.Context, c ports.ContainerID, what string, opts container.AttachOptions) (types.HijackedResponse, error) {
	what += " container " + string(c)
	ctx, cancel := context.WithTimeout(ctx, limits.EngineCall)
	defer cancel()
	cl, err := e.api(ctx)
	if err != nil {
		return types.HijackedResponse{}, err
	}
	w := &wire{}
	stop := context.AfterFunc(ctx, w.close)
	conn, err := cl.ContainerAttach(watched(ctx, w), string(c), opts)
	if !stop() && err == nil {
		conn.Close()
		err = ctx.Err()
	}
	if err == nil {
		return conn, nil
	}
	err = translate(ctx, what, err)
	if fault.CodeOf(err) == fault.EngineFailure {
		if _, _, gone := e.inspect(ctx, string(c)); fault.CodeOf(gone) == fault.NotFound {
			err = gone
		}
	}
	return types.HijackedResponse{}, err
}
