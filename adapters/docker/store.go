package docker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"

	"cyberagent/domain/fault"
	"cyberagent/internal/imageref"
	"cyberagent/ports"
)

// ResolveBase implements ports.ImageStore.
func (e *Engine) ResolveBase(ctx context.Context, ref string) (string, error) {
	want, err := imageref.Pinned(ref)
	if err != nil {
		return "", err
	}
	list, err := e.images(ctx)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, s := range list {
		if named(s, want) && !slices.Contains(ids, s.ID) {
			ids = append(ids, s.ID)
		}
	}
	if len(ids) != 1 {
		return "", fault.New(fault.BaseAbsent, "%d present images are %s", len(ids), ref).
			Hint("load or pull exactly that image into the engine yourself; nothing is pulled here")
	}
	return ids[0], nil
}

// named says whether the engine knows an image by that name and digest: by both
// at once, or by the digest as its id and the name with any tag.
func named(s image.Summary, want reference.Canonical) bool {
	for _, d := range s.RepoDigests {
		n, err := reference.ParseNormalizedNamed(d)
		if c, ok := n.(reference.Canonical); err == nil && ok && c.Name() == want.Name() && c.Digest() == want.Digest() {
			return true
		}
	}
	if s.ID != want.Digest().String() {
		return false
	}
	for _, t := range s.RepoTags {
		if n, err := reference.ParseNormalizedNamed(t); err == nil && n.Name() == want.Name() {
			return true
		}
	}
	return false
}

// Export implements ports.ImageStore. ctx bounds the whole stream: an image can
// be large, so there is no deadline of its own.
func (e *Engine) Export(ctx context.Context, imageID string) (io.ReadCloser, error) {
	c, err := e.api(ctx)
	if err != nil {
		return nil, err
	}
	r, err := c.ImageSave(ctx, []string{imageID})
	if err != nil {
		return nil, translate(ctx, "export image "+imageID, err)
	}
	return &exportStream{ReadCloser: r, ctx: ctx}, nil
}

// exportStream translates the errors of the stream.
type exportStream struct {
	io.ReadCloser
	ctx context.Context
}

// Read implements io.Reader.
func (x *exportStream) Read(b []byte) (int, error) {
	n, err := x.ReadCloser.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = translate(x.ctx, "export the image", err)
	}
	return n, err
}

// Load implements ports.ImageStore. ctx bounds the whole transfer. A failure to
// read the archive is internal, not the engine's.
func (e *Engine) Load(ctx context.Context, archive io.Reader) error {
	src := &source{Reader: archive}
	err := e.load(ctx, src)
	if failed := src.err.Load(); failed != nil {
		return fault.Wrap(fault.Internal, *failed, "cannot read the archive of the image")
	}
	return err
}

// load sends the archive. The engine answers 200 before it has read everything,
// so the stream of messages decides.
func (e *Engine) load(ctx context.Context, archive io.Reader) error {
	c, err := e.api(ctx)
	if err != nil {
		return err
	}
	resp, err := c.ImageLoad(ctx, archive, client.ImageLoadWithQuiet(true))
	if err != nil {
		return translate(ctx, "load the image", err)
	}
	defer func() { _ = resp.Body.Close() }()
	for dec := json.NewDecoder(resp.Body); ; {
		var m struct {
			Error string `json:"error"`
		}
		switch err := dec.Decode(&m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return translate(ctx, "load the image", err)
		case m.Error != "":
			return fault.New(fault.EngineFailure, "cannot load the image: %s", m.Error)
		}
	}
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
	list, err := e.images(ctx)
	if err != nil {
		return nil, err
	}
	var out []ports.TaggedImage
	for _, s := range list {
		for _, t := range s.RepoTags {
			if n, err := reference.ParseNormalizedNamed(t); err == nil && n.Name() == want.Name() {
				out = append(out, ports.TaggedImage{Tag: t, ID: s.ID})
			}
		}
	}
	slices.SortFunc(out, func(a, b ports.TaggedImage) int { return strings.Compare(a.Tag, b.Tag) })
	return out, nil
}

// Untag implements ports.ImageStore. It is idempotent, and refuses anything but
// a name with a tag: given an id the engine would delete the image.
func (e *Engine) Untag(ctx context.Context, tag string) error {
	ref, err := reference.ParseAnyReference(tag) // knows an id, which reads like name and tag
	_, tagged := ref.(reference.NamedTagged)
	if _, pinned := ref.(reference.Digested); err != nil || !tagged || pinned {
		return fault.New(fault.InvalidArgument, "%q is not a name with a tag", tag).At("tag")
	}
	err = do(ctx, e, "untag image "+tag, func(ctx context.Context, c *client.Client) error {
		_, err := c.ImageRemove(ctx, tag, image.RemoveOptions{})
		return err
	})
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	return err
}
