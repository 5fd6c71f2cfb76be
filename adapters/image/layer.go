package image

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"path"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// created is the time of everything in the image that has none from a base.
var created = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// layer is one uncompressed layer whose bytes are made anew at each reading from
// the spooled bases. It implements v1.Layer.
type layer struct {
	name    string
	members []layerMember
	adopted *blob // the whole tar, of an image that is extended
	size    int64
	hash    v1.Hash
}

type layerMember struct {
	path string
	node *node
}

// plan collects what a source contributes, sorted, with the directories above
// it: an engine that unpacks a layer by itself would otherwise make those up.
func plan(root *node, name string, from source) *layer {
	l := &layer{name: name}
	collect(root, "", from, &l.members)
	return l
}

func collect(n *node, p string, from source, out *[]layerMember) bool {
	mine := false
	for _, name := range n.names() {
		k, kp := n.kids[name], path.Join(p, name)
		mark := len(*out)
		*out = append(*out, layerMember{kp, k})
		has := k.owner == from
		if k.kind == dir && collect(k, kp, from, out) {
			has = true
		}
		if !has {
			*out = (*out)[:mark]
		}
		mine = mine || has
	}
	return mine
}

// seal computes digest and size by writing the layer to nowhere.
func (l *layer) seal(ctx context.Context) error {
	h := sha256.New()
	c := &counter{w: h}
	if err := l.write(ctx, c); err != nil {
		return err
	}
	l.size, l.hash = c.n, v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(h.Sum(nil))}
	return nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// write makes the layer's tar. Owners are root, modes lose everything but the
// owner's writing and everybody's reading and executing, and no extended
// attribute is written: set-user-id bits and file capabilities end here. Times
// of files stay those of the base, for byte code is checked against its source's.
func (l *layer) write(ctx context.Context, w io.Writer) error {
	if l.adopted != nil {
		_, err := io.CopyBuffer(struct{ io.Writer }{w}, &ctxReader{ctx, l.adopted.section(0, l.adopted.size)}, make([]byte, copyBuffer))
		return err
	}
	tw := tar.NewWriter(&ctxWriter{ctx, w})
	buf := make([]byte, copyBuffer)
	first := map[*content]string{}
	for _, m := range l.members {
		h := &tar.Header{Name: m.path, Mode: m.node.mode & 0o755, ModTime: created}
		var body io.Reader
		switch n := m.node; n.kind {
		case dir:
			h.Typeflag, h.Name = tar.TypeDir, m.path+"/"
		case symlink:
			h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, n.target, 0o777
		case file:
			h.ModTime = time.Unix(max(n.mtime, 0), 0)
			if earlier, ok := first[n.data]; ok {
				h.Typeflag, h.Linkname = tar.TypeLink, earlier
				break
			}
			first[n.data] = m.path
			h.Typeflag, h.Size, body = tar.TypeReg, n.data.size, n.data.reader()
		}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if body != nil {
			if _, err := io.CopyBuffer(struct{ io.Writer }{tw}, struct{ io.Reader }{body}, buf); err != nil {
				return err
			}
		}
	}
	return tw.Close()
}

// Digest returns the digest of the bytes, which are not compressed.
func (l *layer) Digest() (v1.Hash, error) { return l.hash, nil }

// DiffID is the same.
func (l *layer) DiffID() (v1.Hash, error) { return l.hash, nil }

// Size returns the bytes of the tar.
func (l *layer) Size() (int64, error) { return l.size, nil }

// MediaType says that the layer is not compressed.
func (l *layer) MediaType() (types.MediaType, error) { return types.OCIUncompressedLayer, nil }

// Compressed returns the same bytes as Uncompressed.
func (l *layer) Compressed() (io.ReadCloser, error) { return l.Uncompressed() }

// Uncompressed streams the tar. Closing the reader ends the writing.
func (l *layer) Uncompressed() (io.ReadCloser, error) {
	if l.hash.Hex == "" {
		return nil, errors.New("the layer is not sealed")
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(l.write(context.Background(), w)) }()
	return r, nil
}
