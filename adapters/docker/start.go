package docker

import (
	"context"

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
// made, or the engine refused, or it reports that the runtime failed and that no
// process ever was. Everything else leaves the question open.
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

// refused says whether the engine's refusal means that nothing ran. A server
// error alone does not: the engine must have recorded the runtime's failure.
func (e *Engine) refused(ctx context.Context, c ports.ContainerID, answer error) bool {
	in, _, err := e.inspect(ctx, string(c))
	if fault.CodeOf(err) == fault.NotFound {
		return clientError(answer)
	}
	return err == nil && neverStarted(in) && (clientError(answer) || in.State.Error != "")
}
