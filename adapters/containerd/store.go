package containerd

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/images/archive"
	"github.com/containerd/platforms"
	"github.com/distribution/reference"

	"cyberagent/domain/fault"
	"cyberagent/internal/imageref"
	"cyberagent/ports"
)

// ResolveBase implements ports.ImageStore. The digest may be the config's or
// the manifest's.
func (e *Engine) ResolveBase(ctx context.Context, ref string) (string, error) {
	want, err := imageref.Pinned(ref)
	if err != nil {
		return "", err
	}
	all, err := e.images(ctx)
	if err != nil {
		return "", err
	}
	var found []string
	for _, i := range all {
		n, err := reference.ParseNormalizedNamed(i.Name)
		if err != nil || n.Name() != want.Name() || slices.Contains(found, i.id) {
			continue
		}
		if d := want.Digest().String(); d == i.id || d == i.Target.Digest.String() {
			found = append(found, i.id)
		}
	}
	if len(found) != 1 {
		return "", fault.New(fault.BaseAbsent, "%d present images are %s", len(found), ref).
			Hint("load or pull exactly that image into the namespace %s yourself; nothing is pulled here", e.cfg.Namespace)
	}
	return found[0], nil
}

// Export implements ports.ImageStore. ctx bounds the whole stream: an image can
// be large, so there is no deadline of its own.
func (e *Engine) Export(ctx context.Context, imageID string) (io.ReadCloser, error) {
	img, present, err := e.imageBy(ctx, imageID)
	if err != nil {
		return nil, err
	}
	if !present {
		return nil, absent(imageID)
	}
	r, w := io.Pipe()
	go func() {
		err := e.client.Export(ctx, w, archive.WithPlatform(platforms.OnlyStrict(platforms.DefaultSpec())), archive.WithImages([]images.Image{img.Image}))
		_ = w.CloseWithError(e.translate(ctx, "export the image", err))
	}()
	return r, nil
}

// Load implements ports.ImageStore, and unpacks what it loaded, for a container
// must not wait for that. ctx bounds the whole transfer. A failure to read the
// archive is internal, not the engine's.
func (e *Engine) Load(ctx context.Context, stream io.Reader) error {
	src := &source{Reader: stream}
	loaded, err := e.client.Import(ctx, src, client.WithImportPlatform(platforms.OnlyStrict(platforms.DefaultSpec())))
	if failed := src.err.Load(); failed != nil {
		return fault.Wrap(fault.Internal, *failed, "cannot read the archive of the image")
	}
	if err != nil {
		return e.translate(ctx, "load the image", err)
	}
	// What follows the archive's end is part of the transfer.
	if _, err := io.Copy(io.Discard, src); err != nil {
		return fault.Wrap(fault.Internal, err, "cannot read the archive of the image")
	}
	for _, i := range loaded {
		img, err := e.read(ctx, i)
		if err == nil {
			err = client.NewImage(e.client, img.Image).Unpack(ctx, snapshotter)
		}
		if err != nil {
			return e.translate(ctx, "unpack image "+i.Name, err)
		}
	}
	return nil
}

// source remembers why the archive could not be read.
type source struct {
	io.Reader
	err atomic.Pointer[error]
}

// Read implements io.Reader.
func (s *source) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err.Store(&err)
	}
	return n, err
}

// Tagged implements ports.ImageStore.
func (e *Engine) Tagged(ctx context.Context, repository string) ([]ports.TaggedImage, error) {
	want, err := imageref.Repository(repository)
	if err != nil {
		return nil, err
	}
	all, err := e.images(ctx) // sorted by name
	if err != nil {
		return nil, err
	}
	var out []ports.TaggedImage
	for _, i := range all {
		n, err := reference.ParseNormalizedNamed(i.Name)
		if _, tagged := n.(reference.Tagged); err == nil && tagged && n.Name() == want.Name() {
			out = append(out, ports.TaggedImage{Tag: i.Name, ID: i.id})
		}
	}
	return out, nil
}

// Untag implements ports.ImageStore. It is idempotent, and refuses anything but
// a name with a tag. The engine knows a tag by the name that the archive gave it,
// which another tool may have written out in full.
func (e *Engine) Untag(ctx context.Context, tag string) error {
	ref, err := reference.ParseAnyReference(tag) // knows an id, which reads like name and tag
	named, tagged := ref.(reference.NamedTagged)
	if _, digested := ref.(reference.Digested); err != nil || !tagged || digested {
		return fault.New(fault.InvalidArgument, "%q is not a name with a tag", tag).At("tag")
	}
	for _, name := range slices.Compact([]string{tag, named.String()}) {
		err := do(ctx, e, "untag image "+name, func(ctx context.Context) error {
			return e.client.ImageService().Delete(ctx, name, images.SynchronousDelete())
		})
		if absentIsFine(err) != nil {
			return err
		}
	}
	return nil
}
