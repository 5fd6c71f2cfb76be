package memory

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"cyberagent/domain/admission"
	"cyberagent/domain/canon"
	"cyberagent/domain/fault"
	"cyberagent/ports"
)

// AddImage makes an image present under its id.
func (h *Host) AddImage(f admission.ImageFacts) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f.Present = true
	h.images[f.ID] = f
}

// InspectImage implements ports.Images.
func (e *Engine) InspectImage(ctx context.Context, digest string) (f admission.ImageFacts, err error) {
	err = e.call(ctx, "InspectImage", func() error {
		f = e.host.images[digest]
		f.Configured = digest
		return nil
	})
	return f, err
}

// ResolveBase implements ports.ImageStore; there are none.
func (e *Engine) ResolveBase(_ context.Context, ref string) (string, error) {
	return "", fault.New(fault.BaseAbsent, "no image is %s", ref)
}

// Export implements ports.ImageStore; layers are not kept.
func (e *Engine) Export(_ context.Context, imageID string) (io.ReadCloser, error) {
	return nil, fault.New(fault.Unsupported, "image %s has no files here", imageID)
}

// Load implements ports.ImageStore. It keeps the config and drops the layers.
func (e *Engine) Load(ctx context.Context, archive io.Reader) error {
	files := map[string][]byte{}
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fault.Wrap(fault.Internal, err, "cannot read the archive of the image")
		}
		if h.Size > 1<<20 {
			continue
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			return fault.Wrap(fault.Internal, err, "cannot read the archive of the image")
		}
	}
	var manifest []struct {
		Config   string
		RepoTags []string
	}
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil || len(manifest) != 1 {
		return fault.Wrap(fault.EngineFailure, err, "the archive has %d images", len(manifest))
	}
	f, err := parse(files[manifest[0].Config])
	if err != nil {
		return err
	}
	return e.call(ctx, "Load", func() error {
		e.host.images[f.ID] = f
		for _, t := range manifest[0].RepoTags {
			e.host.tags[t] = f.ID
		}
		return nil
	})
}

// parse reads an image's config, of which the digest is the image's id.
func parse(config []byte) (admission.ImageFacts, error) {
	var c struct {
		OS           string
		Architecture string
		Config       struct {
			Entrypoint, Cmd, Env, OnBuild []string
			Labels                        map[string]string
			Volumes, ExposedPorts         map[string]any
			Healthcheck                   any
		}
	}
	if err := json.Unmarshal(config, &c); err != nil {
		return admission.ImageFacts{}, fault.Wrap(fault.EngineFailure, err, "the image's config")
	}
	return admission.ImageFacts{
		Present: true, ID: "sha256:" + canon.SHA256(config), OS: c.OS, Arch: c.Architecture, Entrypoint: c.Config.Entrypoint,
		Cmd: c.Config.Cmd, Env: c.Config.Env, OnBuild: c.Config.OnBuild, Labels: c.Config.Labels, Healthcheck: c.Config.Healthcheck != nil,
		Volumes: slices.Sorted(maps.Keys(c.Config.Volumes)), Ports: slices.Sorted(maps.Keys(c.Config.ExposedPorts)),
	}, nil
}

// Tagged implements ports.ImageStore.
func (e *Engine) Tagged(ctx context.Context, repository string) (out []ports.TaggedImage, err error) {
	err = e.call(ctx, "Tagged", func() error {
		out = nil
		for _, tag := range slices.Sorted(maps.Keys(e.host.tags)) {
			if name, _, ok := strings.Cut(tag, ":"); ok && name == repository {
				out = append(out, ports.TaggedImage{Tag: tag, ID: e.host.tags[tag]})
			}
		}
		return nil
	})
	return out, err
}

// Untag implements ports.ImageStore. An image without a name is removed.
func (e *Engine) Untag(ctx context.Context, tag string) error {
	return e.call(ctx, "Untag", func() error {
		id := e.host.tags[tag]
		delete(e.host.tags, tag)
		if !slices.Contains(slices.Collect(maps.Values(e.host.tags)), id) {
			delete(e.host.images, id)
		}
		return nil
	})
}
