package docker

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/internal/backoff"
	"cyberagent/ports"
)

// afterwards is how long a call may go on when its context has ended: port
// invariant 7 gives it a second.
const afterwards = 800 * time.Millisecond

// Create implements ports.Containers. It refuses an image that is not there
// (image_unavailable), and one that brings along what no request can take away
// (image_profile_unsafe): a volume would be made at once, and labels of others
// would make the container a stranger to Remove.
//
// On any failure it looks for the container by its name, for a request that the
// engine carried out can still end in an error. One with exactly our labels that
// never ran is ours; the caller compares its properties all the same. When the
// context has ended the id is returned together with the error, if known.
func (e *Engine) Create(ctx context.Context, spec isolation.Spec) (ports.ContainerID, isolation.Properties, error) {
	img, present, err := e.imageByID(ctx, spec.ImageID())
	if err != nil {
		return "", isolation.Properties{}, err
	}
	if !present {
		return "", isolation.Properties{}, absent(spec.ImageID())
	}
	if what := indelible(img); len(what) > 0 {
		return "", isolation.Properties{}, fault.New(fault.ImageUnsafe, "image %s brings along %s", spec.ImageID(), strings.Join(what, ", ")).
			Hint("rebuild the fixture image")
	}
	if err := e.layHosts(); err != nil {
		return "", isolation.Properties{}, err
	}
	cfg, host := request(spec, imageEnv(img), e.hosts())
	made, err := call(ctx, e, "create container "+spec.Name(), func(ctx context.Context, c *client.Client) (container.CreateResponse, error) {
		return c.ContainerCreate(ctx, cfg, host, nil, nil, spec.Name())
	})
	if err != nil {
		return e.adopt(ctx, spec, err)
	}
	id := ports.ContainerID(made.ID)
	p, err := e.ReadBack(ctx, id)
	if err != nil {
		return id, isolation.Properties{}, err
	}
	p.Warnings = made.Warnings
	return id, p, nil
}

// adopt returns the container that a failed create left behind, or cause when
// there is none.
func (e *Engine) adopt(ctx context.Context, spec isolation.Spec, cause error) (ports.ContainerID, isolation.Properties, error) {
	given := ctx.Err() != nil || fault.CodeOf(cause) == fault.EngineTimeout
	if given {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), afterwards)
		defer cancel()
	}
	in, raw, err := e.settled(ctx, spec.Name(), given || conflict(cause))
	if err != nil {
		if fault.CodeOf(cause) == fault.NotFound {
			cause = absent(spec.ImageID())
		}
		return "", isolation.Properties{}, cause
	}
	if !maps.Equal(labels(in.Config.Labels), spec.Labels()) {
		return "", isolation.Properties{}, foreign(spec.Name())
	}
	if !neverStarted(in) {
		return "", isolation.Properties{}, fault.New(fault.RecoveryRequired, "container %s exists and has run already", spec.Name()).
			Hint("recover the admission")
	}
	id := ports.ContainerID(in.ID)
	if given {
		return id, isolation.Properties{}, cause
	}
	return id, properties(in, raw, e.hosts()), nil
}

// settled inspects by name, again and again when wait is set: the engine
// reserves a name before the container can be inspected.
func (e *Engine) settled(ctx context.Context, name string, wait bool) (container.InspectResponse, []byte, error) {
	for pause := backoff.New(); ; {
		in, raw, err := e.inspect(ctx, name)
		if err == nil || !wait || fault.CodeOf(err) != fault.NotFound || pause.Total > 2*time.Second || !pause.Sleep(ctx) {
			return in, raw, err
		}
	}
}

// foreign is the refusal to touch a container that is not ours.
func foreign(name string) error {
	return fault.New(fault.RecoveryRequired, "container %s exists with other labels and is left alone", name).
		Hint("look at it with: docker inspect %s; remove or rename it yourself", name)
}

func absent(imageID string) error {
	return fault.New(fault.ImageUnavailable, "the engine has no image %s", imageID).
		Hint("build or load the fixture image")
}
