package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"cyberagent/domain/limits"
)

// entry is one header of a layer with a name that was checked.
type entry struct {
	name  string // clean and relative
	typ   byte
	mode  int64
	mtime int64
	link  string
	data  *content
}

// entries reads a layer's headers in order, without their contents. It refuses
// what no honest builder makes: absolute names, names with "..", sparse files,
// unknown types, and trees without end. left is the number of entries that the
// base may still have.
func entries(ctx context.Context, b *blob, left *int64) ([]entry, error) {
	var all []entry
	r := b.section(0, b.size)
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("unreadable layer: %w", err)
		}
		if *left--; *left < 0 {
			return nil, fmt.Errorf("more than %d entries", limits.TreeEntries)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		e := entry{typ: h.Typeflag, mode: h.Mode & 0o777, mtime: h.ModTime.Unix(), link: h.Linkname}
		if e.name, err = cleanName(h.Name); err != nil {
			return nil, err
		}
		switch h.Typeflag {
		case tar.TypeReg:
			if sparse(h) {
				return nil, fmt.Errorf("%q is a sparse entry", h.Name)
			}
			// The reader consumes headers exactly, so its position is the content's.
			off, err := r.Seek(0, io.SeekCurrent)
			if err != nil {
				return nil, err
			}
			if off+h.Size > b.size {
				return nil, fmt.Errorf("%q is cut short", h.Name)
			}
			e.data = &content{b, off, h.Size}
		case tar.TypeLink:
			if e.link, err = cleanName(h.Linkname); err != nil {
				return nil, fmt.Errorf("%q is a hard link: %w", h.Name, err)
			}
		case tar.TypeSymlink:
			if h.Linkname == "" || strings.ContainsRune(h.Linkname, 0) || len(h.Linkname) > limits.TreeNameBytes {
				return nil, fmt.Errorf("%q is a link to nothing", h.Name)
			}
		case tar.TypeDir, tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		default:
			return nil, fmt.Errorf("%q has the unknown type %q", h.Name, h.Typeflag)
		}
		all = append(all, e)
	}
}

// cleanName accepts a name that stays inside the image; "." is the root.
func cleanName(name string) (string, error) {
	switch {
	case name == "" || strings.ContainsRune(name, 0) || len(name) > limits.TreeNameBytes:
		return "", fmt.Errorf("the name %.80q cannot be used", name)
	case strings.HasPrefix(name, "/"):
		return "", fmt.Errorf("the name %q is absolute", name)
	}
	parts := split(name)
	if len(parts) > limits.TreeDepth {
		return "", fmt.Errorf("the name %.80q is over %d levels deep", name, limits.TreeDepth)
	}
	for _, p := range parts {
		if p == ".." {
			return "", fmt.Errorf("the name %q leads out of the image", name)
		}
	}
	return path.Join(append([]string{"."}, parts...)...), nil
}

// sparse says whether a file's bytes do not lie in the tar as they are.
func sparse(h *tar.Header) bool {
	for k := range h.PAXRecords {
		if strings.HasPrefix(k, "GNU.sparse.") {
			return true
		}
	}
	return h.Typeflag == tar.TypeGNUSparse
}
