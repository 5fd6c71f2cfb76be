package image

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// maxMeta bounds a JSON file of an archive, in bytes.
const maxMeta = 4 << 20

// archive is one spooled docker-archive: its config and where its layers lie.
type archive struct {
	config *v1.ConfigFile
	layers []*io.SectionReader // lowest first
}

type member struct {
	off, size int64
	link      string // another member's name
}

// openArchive reads the index of a docker-archive and proves that the image in
// it is imageID: its config has that digest, or a manifest of that digest in the
// archive names its config (engines with the containerd store).
func openArchive(r io.ReaderAt, size int64, imageID string) (*archive, error) {
	members, err := index(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, err
	}
	get := func(name string) (*io.SectionReader, error) {
		// Old engines write a layer that repeats as a link to the first one.
		for range 8 {
			m, ok := members[path.Clean(name)]
			if !ok {
				return nil, fmt.Errorf("the archive has no %q", name)
			}
			if m.link == "" {
				return io.NewSectionReader(r, m.off, m.size), nil
			}
			name = m.link
		}
		return nil, fmt.Errorf("%q is a loop of links", name)
	}
	var list []struct {
		Config string
		Layers []string
	}
	raw, err := meta(get("manifest.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, fmt.Errorf("the archive holds %d images", len(list))
	}
	rawConfig, err := meta(get(list[0].Config))
	if err != nil {
		return nil, err
	}
	if err := identify(rawConfig, imageID, get); err != nil {
		return nil, err
	}
	a := &archive{config: &v1.ConfigFile{}}
	if err := json.Unmarshal(rawConfig, a.config); err != nil {
		return nil, err
	}
	if len(a.config.RootFS.DiffIDs) != len(list[0].Layers) {
		return nil, errors.New("the archive's layers are not those of its config")
	}
	for _, name := range list[0].Layers {
		l, err := get(name)
		if err != nil {
			return nil, err
		}
		a.layers = append(a.layers, l)
	}
	return a, nil
}

// identify compares digests. An id of the second kind may also be an index of
// several platforms, of which the archive holds one.
func identify(rawConfig []byte, imageID string, get func(string) (*io.SectionReader, error)) error {
	config := sum(rawConfig)
	if config == imageID {
		return nil
	}
	wrong := fmt.Errorf("the exported image is %s, not %s", config, imageID)
	want, err := v1.NewHash(imageID)
	if err != nil {
		return err
	}
	queue := []v1.Hash{want}
	for n := 0; len(queue) > 0 && n < 64; n++ {
		raw, err := meta(get("blobs/sha256/" + queue[0].Hex))
		ok := err == nil && sum(raw) == queue[0].String()
		queue = queue[1:]
		if !ok {
			continue // another platform's manifest
		}
		var doc struct {
			Config    *v1.Descriptor
			Manifests []v1.Descriptor
		}
		if json.Unmarshal(raw, &doc) != nil {
			return wrong
		}
		if doc.Config != nil && doc.Config.Digest.String() == config {
			return nil
		}
		for _, m := range doc.Manifests {
			queue = append(queue, m.Digest)
		}
	}
	return wrong
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(s[:])
}

func meta(r *io.SectionReader, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	if r.Size() > maxMeta {
		return nil, errors.New("a description in the archive is over 4 MiB")
	}
	return io.ReadAll(r)
}

// index finds every member without reading contents.
func index(r *io.SectionReader) (map[string]member, error) {
	members := map[string]member{}
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return members, nil
		}
		if err != nil {
			return nil, fmt.Errorf("not a docker-archive: %w", err)
		}
		name := path.Clean(h.Name)
		switch h.Typeflag {
		case tar.TypeReg:
			// The reader consumes headers exactly, so its position is the content's.
			off, err := r.Seek(0, io.SeekCurrent)
			if err != nil {
				return nil, err
			}
			members[name] = member{off: off, size: h.Size}
		case tar.TypeSymlink:
			members[name] = member{link: path.Join(path.Dir(name), h.Linkname)}
		case tar.TypeLink:
			members[name] = member{link: h.Linkname}
		}
	}
}
