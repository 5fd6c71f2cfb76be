package image

import (
	"context"
	"errors"
	"io"
	"strings"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/toolchain"
)

// Extend begins with a finished image of this package instead of bases: its layers
// stay as they are, and grafts come on top of them. It is called once, on an empty
// assembly. archive is the image in docker-archive form, imageID what the engine
// calls it.
//
// It returns image_profile_unsafe for an archive that is not of that image, or of
// one that has something where grafts go.
func (a *Assembly) Extend(ctx context.Context, imageID string, archive io.Reader) error {
	if a.root != nil || len(a.bases) > 0 {
		return fault.New(fault.Internal, "an image is extended in an empty assembly")
	}
	f, size, err := a.scratch.spool(ctx, archive)
	if err != nil {
		return err
	}
	a.grafts = append(a.grafts, f)
	if err := a.adopt(ctx, imageID, f, size); err != nil {
		if fault.CodeOf(diskError(err)) == fault.DiskFull || ctx.Err() != nil {
			return diskError(err)
		}
		return fault.Wrap(fault.ImageUnsafe, err, "the image %s cannot be extended", imageID).
			Hint("build it anew with `cyberagent fixture build` and the four bases")
	}
	return nil
}

func (a *Assembly) adopt(ctx context.Context, imageID string, f io.ReaderAt, size int64) error {
	arc, err := openArchive(f, size, imageID)
	if err != nil {
		return err
	}
	if _, taken := arc.config.Config.Labels[isolation.LabelProject]; taken {
		return errors.New("it is a project's image already")
	}
	a.arch = arc.config.Architecture
	// A layer of the product goes to places that the image has as directories. What
	// is in these does not matter: grafts come to new ones.
	a.root = newDir(0o755)
	if err := lay(a.root, graftRoot, newDir(0o755)); err != nil {
		return err
	}
	// That a layer's bytes are those of its digest, which the image's id pins, is proven
	// by the engine that takes them back.
	for i, raw := range arc.layers {
		b, closer, err := openBlob(ctx, &a.scratch, raw)
		if err != nil {
			return err
		}
		if closer != nil {
			a.grafts = append(a.grafts, closer)
		}
		name := "fixture"
		if len(arc.config.History) == len(arc.layers) {
			name = strings.TrimPrefix(arc.config.History[i].CreatedBy, createdBy)
		}
		a.layers = append(a.layers, &layer{name: name, adopted: b, size: b.size, hash: arc.config.RootFS.DiffIDs[i]})
	}
	_, _, err = a.seal(ctx)
	return err
}

// Label gives the image one more label. It counts from the next Finish on.
func (a *Assembly) Label(name, value string) {
	if a.labels == nil {
		a.labels = map[string]string{}
	}
	a.labels[name] = value
}

// LinkNode makes a project's node packages visible where node looks for them.
func (a *Assembly) LinkNode() error {
	owner := firstGraft + source(len(a.layers))
	n := &node{kind: symlink, target: toolchain.NodeModules}
	if err := lay(a.root, toolchain.NodeLink, n); err != nil {
		return err
	}
	n.owner = owner
	a.layers = append(a.layers, plan(a.root, "link to node packages", owner))
	return nil
}
