package containerd

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/containerd/containerd/api/types/task"

	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
	"cyberagent/internal/backoff"
	"cyberagent/ports"
)

// Attach implements ports.Containers. It opens both FIFOs for reading; Start
// opens their other ends. ctx bounds the attaching only; Close, Remove, or the
// end of the container ends the attachment.
func (e *Engine) Attach(ctx context.Context, c ports.ContainerID) (ports.Output, error) {
	v, err := e.ours(ctx, c)
	if err != nil {
		return ports.Output{}, err
	}
	if v.asked {
		return ports.Output{}, startedBefore(string(c))
	}
	a := &attachment{}
	for _, name := range []string{stdoutFIFO, stderrFIFO} {
		r, err := readFIFO(v.run.Dir.file(name))
		if err != nil {
			a.close()
			return ports.Output{}, fault.Wrap(fault.EngineFailure, err, "cannot attach to the output of container %s", c)
		}
		a.closers = append(a.closers, r)
	}
	e.attached.add(c, a)
	stream := func(r io.Closer) io.Reader { return &stream{e: e, c: c, a: a, r: r.(io.Reader)} } //nolint:errcheck,forcetypeassert // made above
	return ports.Output{Stdout: stream(a.closers[0]), Stderr: stream(a.closers[1]), Close: func() error {
		e.attached.drop(c, a)
		a.close()
		return nil
	}}, nil
}

var errAbandoned = errors.New("the attachment was closed")

// stream reads one FIFO to its end.
type stream struct {
	e *Engine
	c ports.ContainerID
	a *attachment
	r io.Reader
}

// Read implements io.Reader. The end of a FIFO says that its writer is gone, be
// it that all was delivered or that the shim was killed; the engine tells which.
func (s *stream) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	switch {
	case err == nil:
		return n, nil
	case s.a.closed():
		return n, errAbandoned
	case errors.Is(err, io.EOF):
		if lost := s.e.delivered(s.c, s.a); lost != nil {
			return n, lost
		}
		return n, io.EOF
	}
	return n, fault.Wrap(fault.EngineFailure, err, "cannot read the output of container %s", s.c)
}

// delivered returns nil when the container's shim is alive: it closes its end
// only when everything was passed on. A shim that was killed is noticed by the
// engine within moments, so an answer that knows no end yet is asked again, and so
// is an engine that is away.
func (e *Engine) delivered(c ports.ContainerID, a *attachment) error {
	ctx, cancel := context.WithTimeout(context.Background(), limits.EngineCall)
	defer cancel()
	for pause := backoff.New(); ; {
		t, err := e.taskOf(ctx, string(c))
		switch {
		case a.closed():
			return errAbandoned
		case err == nil && t == nil:
			return fault.New(fault.EngineFailure, "the output of container %s ended with its shim", c)
		case err == nil && t.GetStatus() == task.Status_STOPPED:
			return nil
		case err == nil && t.GetStatus() != task.Status_UNKNOWN && pause.Total > time.Second:
			return nil // it closed its streams and goes on
		}
		if !pause.Sleep(ctx) {
			if err == nil {
				err = fault.New(fault.EngineFailure, "the shim of container %s does not answer", c)
			}
			return err
		}
	}
}
