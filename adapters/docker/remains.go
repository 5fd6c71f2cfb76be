package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/docker/docker/api/types/container"

	"cyberagent/domain/fault"
	"cyberagent/internal/backoff"
	"cyberagent/ports"
)

// longID is how many characters an engine's id of a container has.
const longID = 64

// atRest says whether the first process of a container ended by itself, as the
// engine saw it: then the kernel has ended every other. 137 and 255 are also what
// an engine says that lost sight of it (pitfall A9).
func atRest(in container.InspectResponse) bool {
	return ended(in) && in.State.ExitCode != 137 && in.State.ExitCode != 255
}

// endRemains ends what lives of a container that the engine does not know any
// more, and proves that nothing does. It returns cleanup_pending for a process that
// this user may not end, or that does not end, and names it.
func endRemains(ctx context.Context, c ports.ContainerID) error {
	for pause := backoff.New(); ; {
		pids, err := remains(c)
		if err == nil && len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			err = errors.Join(err, endRemain(pid, c))
		}
		if errors.Is(err, fs.ErrPermission) || !pause.Sleep(ctx) {
			if err == nil {
				err = ctx.Err()
			}
			return fault.Wrap(fault.CleanupPending, err, "the engine forgot container %s, but its processes live: %s", c[:min(12, len(c))], fmt.Sprint(pids)).
				Hint("end them as root, or wait until the command's time is over, and run `cyberagent run standard-code recover --all` again")
		}
	}
}
