package docker

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"syscall"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/client"

	"cyberagent/domain/fault"
)

// translate turns an error of the client into a fault; what is the call in the
// infinitive. It is the only place that knows the client's errors.
//
// What the engine answered comes before the context's end: an answer that
// arrived at the last moment is still one.
func translate(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	switch {
	case cerrdefs.IsNotFound(err):
		return fault.Wrap(fault.NotFound, err, "cannot %s", what)
	case answered(err):
		return fault.Wrap(fault.EngineFailure, err, "cannot %s", what)
	case ctx.Err() != nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		if cause := ctx.Err(); cause != nil {
			err = cause
		}
		return fault.Wrap(fault.EngineTimeout, err, "gave up to %s", what).
			Hint("check that the engine answers: docker version")
	case errors.Is(err, fs.ErrPermission):
		return fault.Wrap(fault.DaemonPermission, err, "cannot %s", what).
			Hint("let this user use the engine's socket")
	case client.IsErrConnectionFailed(err), cut(err):
		return fault.Wrap(fault.DaemonUnreachable, err, "cannot %s", what).
			Hint("start Docker Engine, or set docker.socket to its socket")
	}
	return fault.Wrap(fault.EngineFailure, err, "cannot %s", what)
}

// answered says whether err is a status with which the engine answered.
func answered(err error) bool {
	for _, is := range []func(error) bool{
		cerrdefs.IsInvalidArgument, cerrdefs.IsUnauthorized, cerrdefs.IsPermissionDenied, cerrdefs.IsNotFound,
		cerrdefs.IsConflict, cerrdefs.IsNotModified, cerrdefs.IsInternal, cerrdefs.IsNotImplemented,
		cerrdefs.IsUnavailable, cerrdefs.IsUnknown, cerrdefs.IsFailedPrecondition, cerrdefs.IsAlreadyExists,
		cerrdefs.IsResourceExhausted, cerrdefs.IsOutOfRange, cerrdefs.IsAborted,
	} {
		if is(err) {
			return true
		}
	}
	return false
}

// cut says whether the connection could not be made or ended in the middle.
func cut(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// conflict says whether the engine refused because of the object's state, also
// inside a fault.
func conflict(err error) bool { return cerrdefs.IsConflict(err) }

// clientError says whether the engine refused the request as such (a 4xx)
// before it acted on it.
func clientError(err error) bool {
	return cerrdefs.IsNotFound(err) || cerrdefs.IsConflict(err) || cerrdefs.IsInvalidArgument(err) ||
		cerrdefs.IsPermissionDenied(err) || cerrdefs.IsUnauthorized(err)
}
