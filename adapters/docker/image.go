package docker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"

	"cyberagent/domain/admission"
	"cyberagent/domain/canon"
	"cyberagent/domain/fault"
)

// InspectImage implements ports.Images. The engine's image id is the config's
// digest in its own store and the manifest's in containerd's; the digest of a
// manifest is also known where the image came from a registry.
func (e *Engine) InspectImage(ctx context.Context, digest string) (admission.ImageFacts, error) {
	facts := admission.ImageFacts{Configured: digest}
	if hex, ok := strings.CutPrefix(digest, "sha256:"); !ok || !canon.IsSHA256(hex) {
		return facts, nil
	}
	img, present, err := e.imageByID(ctx, digest)
	if err == nil && !present {
		img, present, err = e.imageByManifest(ctx, digest)
	}
	if err != nil || !present {
		return facts, err
	}
	return imageFacts(facts, img), nil
}

// imageByID asks for the image with that exact id.
func (e *Engine) imageByID(ctx context.Context, id string) (image.InspectResponse, bool, error) {
	img, err := call(ctx, e, "inspect image "+id, func(ctx context.Context, c *client.Client) (image.InspectResponse, error) {
		return c.ImageInspect(ctx, id)
	})
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return img, false, nil
	case err != nil:
		return img, false, err
	}
	return img, img.ID == id, nil
}

// imageByManifest looks for the one image that is known by a manifest's digest.
func (e *Engine) imageByManifest(ctx context.Context, digest string) (image.InspectResponse, bool, error) {
	list, err := e.images(ctx)
	if err != nil {
		return image.InspectResponse{}, false, err
	}
	ids := map[string]bool{}
	for _, s := range list {
		if s.Descriptor != nil && s.Descriptor.Digest.String() == digest {
			ids[s.ID] = true
		}
		for _, d := range s.RepoDigests {
			if strings.HasSuffix(d, "@"+digest) {
				ids[s.ID] = true
			}
		}
	}
	switch len(ids) {
	case 0:
		return image.InspectResponse{}, false, nil
	case 1:
		return e.imageByID(ctx, slices.Collect(maps.Keys(ids))[0])
	}
	return image.InspectResponse{}, false, fault.New(fault.ImageUnavailable, "%d images have the digest %s", len(ids), digest).
		Hint("remove all but one")
}

func (e *Engine) images(ctx context.Context) ([]image.Summary, error) {
	return call(ctx, e, "list images", func(ctx context.Context, c *client.Client) ([]image.Summary, error) {
		return c.ImageList(ctx, image.ListOptions{})
	})
}

func imageFacts(f admission.ImageFacts, img image.InspectResponse) admission.ImageFacts {
	f.Present, f.ID, f.OS, f.Arch, f.SizeBytes = true, img.ID, img.Os, img.Architecture, img.Size
	c := img.Config
	if c == nil {
		return f
	}
	f.Entrypoint, f.Cmd, f.Env, f.OnBuild, f.Labels = c.Entrypoint, c.Cmd, c.Env, c.OnBuild, c.Labels
	f.Volumes = slices.Sorted(maps.Keys(c.Volumes))
	for p := range c.ExposedPorts {
		f.Ports = append(f.Ports, fmt.Sprint(p))
	}
	slices.Sort(f.Ports)
	f.Healthcheck = c.Healthcheck != nil && len(c.Healthcheck.Test) > 0 && c.Healthcheck.Test[0] != noHealth
	return f
}

func imageEnv(img image.InspectResponse) []string {
	if img.Config == nil {
		return nil
	}
	return img.Config.Env
}

// indelible is what a container inherits of its image whatever the request says.
func indelible(img image.InspectResponse) []string {
	if img.Config == nil {
		return nil
	}
	var what []string
	for v := range img.Config.Volumes {
		what = append(what, "volume "+v)
	}
	for p := range img.Config.ExposedPorts {
		what = append(what, "port "+fmt.Sprint(p))
	}
	for l := range labels(img.Config.Labels) {
		what = append(what, "label "+l)
	}
	slices.Sort(what)
	return what
}
