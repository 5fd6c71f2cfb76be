package image

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
)

// graftRoot is where layers of the product may be grafted; a base has nothing
// below it.
const graftRoot = "/standard-code/"

// Graft puts the files of one more tar, as a layer of its own, at a new place
// below /standard-code: caches that were made with the image, a project's
// dependencies. It is called between Finish and a second Finish. The tar is
// judged like a base's layer; times are made fixed, so that equal files give
// equal digests.
//
// It returns invalid_argument for a place that is not new or not below
// /standard-code, and for a tar that a base would be refused for.
func (a *Assembly) Graft(ctx context.Context, name, at string, r io.Reader) error {
	if a.image == nil {
		return fault.New(fault.Internal, "a graft before the image is finished")
	}
	if path.Clean(at) != at || !strings.HasPrefix(at, graftRoot) {
		return fault.New(fault.InvalidArgument, "%q is not a place below %s", at, graftRoot).At("graft")
	}
	if n, _ := resolve(a.root, at, false, false); n != nil {
		return fault.New(fault.InvalidArgument, "the image has something at %q", at).At("graft")
	}
	raw, size, err := a.scratch.spool(ctx, r)
	if err != nil {
		return err
	}
	a.grafts = append(a.grafts, raw)
	tree, err := a.graftTree(ctx, raw, size)
	if err != nil {
		return fault.Wrap(fault.InvalidArgument, err, "the files of %s cannot be used", name).At("graft")
	}
	owner := firstGraft + source(len(a.layers))
	if err := own(tree, at, owner); err != nil {
		return fault.Wrap(fault.InvalidArgument, err, "the files of %s cannot be used", name).At("graft")
	}
	if err := lay(a.root, at, tree); err != nil {
		return err
	}
	tree.owner = owner
	a.layers = append(a.layers, plan(a.root, name, owner))
	return nil
}

func (a *Assembly) graftTree(ctx context.Context, raw *os.File, size int64) (*node, error) {
	b, closer, err := openBlob(ctx, &a.scratch, io.NewSectionReader(raw, 0, size))
	if err != nil {
		return nil, err
	}
	if closer != nil {
		a.grafts = append(a.grafts, closer)
	}
	left := limits.TreeEntries
	list, err := entries(ctx, b, &left)
	if err != nil {
		return nil, err
	}
	tree := newDir(0o755)
	return tree, apply(tree, list)
}

// own marks a tree as the graft's and refuses links that lead out of the image.
func own(n *node, p string, owner source) error {
	n.owner, n.mtime = owner, created.Unix()
	if n.kind == symlink && escapes(p, n.target) {
		return fmt.Errorf("the link %q leads out of the image (%q)", p, n.target)
	}
	for _, name := range n.names() {
		if err := own(n.kids[name], path.Join(p, name), owner); err != nil {
			return err
		}
	}
	return nil
}
