package containerd

import (
	"context"
	"errors"
	"io/fs"

	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"google.golang.org/grpc/status"

	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
)

// translate turns an error of the client into a fault; what is the call in the
// infinitive. It is the only place that knows the client's errors.
//
// What the engine answered comes before the context's end: an answer that
// arrived at the last moment is still one. "Unavailable" is said of the engine's
// connection and, by the engine, of a shim's; the socket itself tells which.
func (e *Engine) translate(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	err = native(err)
	switch {
	case errdefs.IsNotFound(err):
		return fault.Wrap(fault.NotFound, err, "cannot %s", what)
	case ctx.Err() != nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		if cause := ctx.Err(); cause != nil {
			err = cause
		}
		return fault.Wrap(fault.EngineTimeout, err, "gave up to %s", what).
			Hint("check that the engine answers: ctr --address %s version", e.cfg.Address)
	case errdefs.IsUnavailable(err):
		return e.unavailable(what, err)
	}
	return fault.Wrap(fault.EngineFailure, err, "cannot %s", what)
}

// native makes the library's error kinds of a gRPC status. Errors of other
// origin stay as they are.
func native(err error) error {
	if _, ok := status.FromError(err); !ok {
		return err
	}
	return errgrpc.ToNative(err)
}

// unavailable asks the socket why nobody answered.
func (e *Engine) unavailable(what string, err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), limits.EngineProbeCall/10)
	defer cancel()
	conn, why := dial(ctx, e.cfg.Address)
	switch {
	case why == nil:
		_ = conn.Close()
		return fault.Wrap(fault.DaemonUnreachable, err, "cannot %s", what).Hint("try again")
	case errors.Is(why, fs.ErrPermission):
		return fault.Wrap(fault.DaemonPermission, why, "cannot %s", what).
			Hint("containerd needs root: run as root, or let this user use its socket")
	}
	return fault.Wrap(fault.DaemonUnreachable, why, "cannot %s", what).
		Hint("start containerd, or set containerd.address to its socket")
}

// refused says whether the engine answered with a refusal, also inside a fault:
// then nothing of the request is under way any more.
func refused(err error) bool {
	switch fault.CodeOf(err) {
	case fault.DaemonUnreachable, fault.DaemonPermission, fault.EngineTimeout:
		return false
	case fault.Internal: // not a fault
		err = native(err)
	default:
	}
	return err != nil && !errdefs.IsUnavailable(err) && !errdefs.IsCanceled(err) && !errdefs.IsDeadlineExceeded(err) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}
