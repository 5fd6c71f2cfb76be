package containerd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/defaults"
	"github.com/containerd/errdefs"
	"github.com/containerd/platforms"
	"github.com/opencontainers/image-spec/identity"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"cyberagent/domain/admission"
	"cyberagent/domain/canon"
	"cyberagent/domain/fault"
)

// snapshotter holds unpacked images and root filesystems.
const snapshotter = defaults.DefaultSnapshotter

// image is one image of this platform that is there completely. Its id is the
// digest of its config: the only one that every engine computes alike.
type image struct {
	images.Image // one of its names

	id       string
	manifest ocispec.Manifest
	config   imageConfig
}

// imageConfig has two fields of Docker's that OCI's does not.
type imageConfig struct {
	ocispec.Platform

	Config struct {
		ocispec.ImageConfig

		OnBuild     []string
		Healthcheck *struct{ Test []string }
	} `json:"config"`
	RootFS ocispec.RootFS `json:"rootfs"`
}

func (i image) chainID() string { return identity.ChainID(i.config.RootFS.DiffIDs).String() }

// InspectImage implements ports.Images. The digest may be the config's, the
// manifest's, or that of an index with one manifest of this platform.
func (e *Engine) InspectImage(ctx context.Context, digest string) (admission.ImageFacts, error) {
	facts := admission.ImageFacts{Configured: digest}
	if hex, ok := strings.CutPrefix(digest, "sha256:"); !ok || !canon.IsSHA256(hex) {
		return facts, nil
	}
	img, present, err := e.imageBy(ctx, digest)
	if err != nil || !present {
		return facts, err
	}
	return imageFacts(facts, img), nil
}

// imageBy finds the one image that has the digest, under whatever names. What this
// process found before is asked for by its name: the name must lead to the same
// content still. Then those are read that the engine's own labels lead to, and all only
// when these do not have it.
func (e *Engine) imageBy(ctx context.Context, digest string) (image, bool, error) {
	e.mu.Lock()
	before, known := e.seen[digest]
	e.mu.Unlock()
	if known {
		now, present, err := e.imageNamed(ctx, before.Name)
		if err != nil || present && now.Target.Digest == before.Target.Digest {
			return now, present, err
		}
	}
	img, present, err := e.labelled(ctx, digest)
	if err == nil && !present {
		img, present, err = e.search(ctx, digest)
	}
	if present {
		e.mu.Lock()
		e.seen[digest] = img.Image
		e.mu.Unlock()
	}
	return img, present, err
}

// imageNamed reads the image that has that name now.
func (e *Engine) imageNamed(ctx context.Context, name string) (image, bool, error) {
	img, err := call(ctx, e, "read image "+name, func(ctx context.Context) (image, error) {
		i, err := e.client.ImageService().Get(ctx, name)
		if err != nil {
			return image{}, err
		}
		return e.read(ctx, i)
	})
	if fault.CodeOf(err) == fault.NotFound { // or not complete
		return image{}, false, nil
	}
	return img, err == nil, err
}

// configLabel is what the engine writes on a manifest so that its config is kept as long
// as it (images.ChildGCLabels).
const configLabel = "containerd.io/gc.ref.content.config"

// labelled reads the images whose target is the digest, or a manifest that is labelled
// with it as its config. A label is only where to look: what was read decides. It does
// not find an image whose target is an index by its config's digest.
func (e *Engine) labelled(ctx context.Context, digest string) (image, bool, error) {
	list, err := call(ctx, e, "list images of "+digest, func(ctx context.Context) ([]images.Image, error) {
		targets := []string{fmt.Sprintf("target.digest==%q", digest)}
		err := e.client.ContentStore().Walk(ctx, func(i content.Info) error {
			targets = append(targets, fmt.Sprintf("target.digest==%q", i.Digest))
			return nil
		}, fmt.Sprintf("labels.%q==%q", configLabel, digest))
		if err != nil {
			return nil, err
		}
		return e.client.ImageService().List(ctx, targets...)
	})
	if err != nil {
		return image{}, false, err
	}
	all, err := e.readAll(ctx, list)
	if err != nil {
		return image{}, false, err
	}
	return only(all, digest)
}

// search reads every image.
func (e *Engine) search(ctx context.Context, digest string) (image, bool, error) {
	all, err := e.images(ctx)
	if err != nil {
		return image{}, false, err
	}
	return only(all, digest)
}

// only is the one image that has the digest; all are sorted by name.
func only(all []image, digest string) (image, bool, error) {
	found := map[string]image{}
	for _, i := range all {
		if i.id == digest || i.Target.Digest.String() == digest {
			if _, known := found[i.id]; !known {
				found[i.id] = i
			}
		}
	}
	switch len(found) {
	case 0:
		return image{}, false, nil
	case 1:
		return found[slices.Collect(maps.Keys(found))[0]], true, nil
	}
	return image{}, false, fault.New(fault.ImageUnavailable, "%d images have the digest %s", len(found), digest).
		Hint("remove all but one")
}

// images are those of this platform whose manifest and config are there, sorted
// by name.
func (e *Engine) images(ctx context.Context) ([]image, error) {
	list, err := call(ctx, e, "list images", func(ctx context.Context) ([]images.Image, error) {
		return e.client.ImageService().List(ctx)
	})
	if err != nil {
		return nil, err
	}
	return e.readAll(ctx, list)
}

// readAll leaves out what is of another platform or not complete, and sorts by name.
func (e *Engine) readAll(ctx context.Context, list []images.Image) ([]image, error) {
	slices.SortFunc(list, func(a, b images.Image) int { return strings.Compare(a.Name, b.Name) })
	var all []image
	for _, i := range list {
		img, err := call(ctx, e, "read image "+i.Name, func(ctx context.Context) (image, error) { return e.read(ctx, i) })
		switch fault.CodeOf(err) {
		case fault.NotFound: // of another platform, or not complete
		case "":
			all = append(all, img)
		default:
			return nil, err
		}
	}
	return all, nil
}

func (e *Engine) read(ctx context.Context, i images.Image) (image, error) {
	store := e.client.ContentStore()
	m, err := images.Manifest(ctx, store, i.Target, platforms.OnlyStrict(platforms.DefaultSpec()))
	if err != nil {
		return image{}, err
	}
	raw, err := content.ReadBlob(ctx, store, m.Config)
	if err != nil {
		return image{}, err
	}
	img := image{Image: i, id: m.Config.Digest.String(), manifest: m}
	if err := json.Unmarshal(raw, &img.config); err != nil {
		return img, errdefs.ErrNotFound // not an image that a container can be made of
	}
	return img, nil
}

func imageFacts(f admission.ImageFacts, img image) admission.ImageFacts {
	c := img.config.Config
	f.Present, f.ID, f.OS, f.Arch = true, img.id, img.config.OS, img.config.Architecture
	f.Entrypoint, f.Cmd, f.Env, f.OnBuild, f.Labels = c.Entrypoint, c.Cmd, c.Env, c.OnBuild, c.Labels
	f.Volumes, f.Ports = slices.Sorted(maps.Keys(c.Volumes)), slices.Sorted(maps.Keys(c.ExposedPorts))
	f.Healthcheck = c.Healthcheck != nil && len(c.Healthcheck.Test) > 0 && c.Healthcheck.Test[0] != "NONE"
	f.SizeBytes = img.manifest.Config.Size
	for _, l := range img.manifest.Layers {
		f.SizeBytes += l.Size
	}
	return f
}

func absent(imageID string) error {
	return fault.New(fault.ImageUnavailable, "the engine has no image %s", imageID).
		Hint("build or load the fixture image")
}
