package docker

import (
	"context"
	"strings"

	"github.com/docker/docker/api/types/container"

	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

// Start implements ports.Containers. It sends one request, and none to a
// container that ran before (recovery_required): the engine would run its
// command a second time.
//
// start_failed is returned only when nothing can have run: no connection was
// made, or the engine refused the request as such, or it recorded that the runtime
// could not create the container. Everything else leaves the question open.
func (e *Engine) Start(ctx context.Context, c ports.ContainerID) error {
	ctx, cancel := context.WithTimeout(ctx, limits.EngineCall)
	defer cancel()
	in, _, err := e.inspect(ctx, string(c))
	if err != nil {
		return err
	}
	if !neverStarted(in) {
		return fault.New(fault.RecoveryRequired, "container %s was started before", c).Hint("recover the admission")
	}
	cl, err := e.api(ctx)
	if err != nil {
		return err
	}
	w := &wire{}
	raw := cl.ContainerStart(watched(ctx, w), string(c), container.StartOptions{})
	if raw == nil {
		return nil
	}
	err = translate(ctx, "start container "+string(c), raw)
	if w.dialErr() != nil || (answered(raw) && e.refused(ctx, c, raw)) {
		return fault.Wrap(fault.StartFailed, err, "container %s did not start", c)
	}
	return err
}

// createFailed is how every engine since 20.10 records that the runtime failed
// before the command could run. There is no status or type for it; should the
// words change, the question stays open, which is safe.
const createFailed = "OCI runtime create failed"

// refused says whether the engine's refusal means that nothing ran. A server
// error does not by itself, for it may be about a start that went through.
func (e *Engine) refused(ctx context.Context, c ports.ContainerID, answer error) bool {
	in, _, err := e.inspect(ctx, string(c))
	if fault.CodeOf(err) == fault.NotFound {
		return clientError(answer)
	}
	return err == nil && neverStarted(in) && (clientError(answer) || strings.Contains(in.State.Error, createFailed))
}
