package image

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxLayer bounds one unpacked layer, so that a small archive cannot fill the
// temporary directory.
const maxLayer = 16 << 30

// blob is the uncompressed tar of one layer, readable at any offset.
type blob struct {
	r    io.ReaderAt
	size int64
}

func (b *blob) section(off, size int64) *io.SectionReader { return io.NewSectionReader(b.r, off, size) }

// reader reads the whole of a file's content.
func (c *content) reader() *io.SectionReader { return c.blob.section(c.off, c.size) }

// same says whether two files hold the same bytes.
func same(a, b *content) (bool, error) {
	if a == b || a.size == b.size && (a.size == 0 || a.blob == b.blob && a.off == b.off) {
		return true, nil
	}
	if a.size != b.size {
		return false, nil
	}
	ra, rb := a.reader(), b.reader()
	const chunk = 128 << 10
	pa, pb := make([]byte, min(chunk, a.size)), make([]byte, min(chunk, a.size))
	for left := a.size; left > 0; left -= int64(len(pa)) {
		pa, pb = pa[:min(int64(cap(pa)), left)], pb[:min(int64(cap(pb)), left)]
		if _, err := io.ReadFull(ra, pa); err != nil {
			return false, err
		}
		if _, err := io.ReadFull(rb, pb); err != nil {
			return false, err
		}
		if !bytes.Equal(pa, pb) {
			return false, nil
		}
	}
	return true, nil
}

// openBlob makes a layer of an archive readable. A compressed one (engines with
// the containerd store export layers as they were pulled) is unpacked into a
// temporary file; the second result is then the file to close.
func openBlob(ctx context.Context, scratch *scratch, raw *io.SectionReader) (*blob, io.Closer, error) {
	head := make([]byte, 4)
	if _, err := raw.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	var plain io.Reader
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(bufio.NewReaderSize(raw, copyBuffer))
		if err != nil {
			return nil, nil, err
		}
		plain = z
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(raw)
		if err != nil {
			return nil, nil, err
		}
		defer z.Close()
		plain = z
	default:
		return &blob{raw, raw.Size()}, nil, nil
	}
	f, n, err := scratch.spool(ctx, io.LimitReader(plain, maxLayer+1))
	if err != nil {
		return nil, nil, err
	}
	if n > maxLayer {
		_ = f.Close()
		return nil, nil, errors.New("a layer unpacks to more than 16 GiB")
	}
	return &blob{f, n}, f, nil
}

// digest hashes the whole blob.
func (b *blob) digest(ctx context.Context) (string, error) {
	h := sha256.New()
	if _, err := io.CopyBuffer(h, &ctxReader{ctx, b.section(0, b.size)}, make([]byte, copyBuffer)); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
