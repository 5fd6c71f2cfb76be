package wiring

import (
	"context"
	"fmt"
	"maps"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"cyberagent/app/selftest"
	"cyberagent/config"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// dockerDecoys are containers of the fixture's image, created and never started,
// that are nearly but not quite the product's own.
type dockerDecoys struct {
	client *client.Client
	engine ports.Engine
	ids    ports.IDs
	digest string
	made   []decoy
}

type decoy struct {
	id, name string
	labels   map[string]string
}

var _ selftest.Decoys = (*dockerDecoys)(nil)

func newDockerDecoys(cfg config.Config, e ports.Engine, ids ports.IDs) (selftest.Decoys, error) {
	socket := cfg.Docker.Socket
	scheme := "unix://"
	if strings.HasPrefix(socket, "//./pipe/") {
		scheme = "npipe://"
	}
	c, err := client.NewClientWithOpts(client.WithHost(scheme+socket), client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, fault.Wrap(fault.ConfigInvalid, err, "%q is not an engine's socket", socket).At("docker.socket")
	}
	return &dockerDecoys{client: c, engine: e, ids: ids, digest: cfg.ImageDigest(isolation.Docker)}, nil
}

// Plant implements selftest.Decoys.
func (d *dockerDecoys) Plant(ctx context.Context, owned id.Installation) error {
	image, err := d.engine.InspectImage(ctx, d.digest)
	if err != nil {
		return err
	}
	if !image.Present {
		return fault.New(fault.ImageUnavailable, "the engine has no image %q", d.digest).At("image").
			Hint("run `cyberagent fixture build` and set CYBERAGENT_STANDARD_CODE_DOCKER_IMAGE_DIGEST")
	}
	adm := func() id.Admission { return id.Admission(d.ids.New(id.KindAdmission)) }
	stranger, unknown := adm(), adm()
	other := id.Installation(d.ids.New(id.KindInstallation))
	for _, x := range []decoy{
		{name: isolation.ContainerName(stranger), labels: isolation.Labels(stranger, other)},
		{name: isolation.ContainerName(unknown), labels: isolation.Labels(unknown, owned)},
		{name: isolation.ContainerName(adm()) + "-copy"},
	} {
		made, err := d.client.ContainerCreate(ctx, &container.Config{Image: image.ID, Labels: x.labels, NetworkDisabled: true},
			&container.HostConfig{NetworkMode: "none", LogConfig: container.LogConfig{Type: "none"}}, nil, nil, x.name)
		if err != nil {
			return fault.Wrap(fault.EngineFailure, err, "cannot create the decoy %s", x.name)
		}
		x.id = made.ID
		// The image's own labels come along.
		in, err := d.client.ContainerInspect(ctx, x.id)
		if err != nil {
			return fault.Wrap(fault.EngineFailure, err, "cannot inspect the decoy %s", x.name)
		}
		x.labels = in.Config.Labels
		d.made = append(d.made, x)
	}
	return nil
}

// Touched implements selftest.Decoys.
func (d *dockerDecoys) Touched(ctx context.Context) (touched []string, err error) {
	for _, x := range d.made {
		in, err := d.client.ContainerInspect(ctx, x.id)
		switch {
		case cerrdefs.IsNotFound(err):
			touched = append(touched, "container "+x.name+" is gone")
		case err != nil:
			return touched, fault.Wrap(fault.EngineFailure, err, "cannot inspect the decoy %s", x.name)
		case strings.TrimPrefix(in.Name, "/") != x.name || !maps.Equal(in.Config.Labels, x.labels) || in.State.Status != container.StateCreated:
			touched = append(touched, fmt.Sprintf("container %s is %s %s %v", x.name, in.Name, in.State.Status, in.Config.Labels))
		}
	}
	return touched, nil
}

// Remove implements selftest.Decoys.
func (d *dockerDecoys) Remove(ctx context.Context) (n int, err error) {
	for _, x := range d.made {
		e := d.client.ContainerRemove(ctx, x.id, container.RemoveOptions{RemoveVolumes: true})
		switch {
		case e == nil:
			n++
		case !cerrdefs.IsNotFound(e):
			err = fault.Wrap(fault.EngineFailure, e, "cannot remove the decoy %s (%s)", x.name, x.id)
		}
	}
	return n, err
}
