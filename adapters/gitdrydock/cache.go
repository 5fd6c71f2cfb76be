package gitdrydock

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"strings"
)

// cacheMagic begins a stat cache. Any other version is ignored.
const cacheMagic = "cyberagent-statcache 3\n"

var errCache = errors.New("not a stat cache of this version")

// encodeCache writes a manifest with its stats. Numbers are little-endian;
// strings carry their length. Folders that came from a cache are copied as they
// are. The commit comes last, with sealCache, for it is known last.
func encodeCache(m *manifest) []byte {
	size := 64 << 10
	for _, f := range m.folders {
		size += max(len(f.raw), 200*(len(f.entries)+1))
	}
	e := encoder{b: make([]byte, 0, size)}
	e.b = append(e.b, cacheMagic...)
	e.str(string(m.format))
	e.str(m.index.sha256)
	e.stat(m.index.st, m.index.trusted)
	e.num(uint64(len(m.dirs)))
	for _, d := range m.dirs {
		e.str(d)
	}
	e.num(uint64(len(m.excluded)))
	for _, x := range m.excluded {
		e.str(x.path)
		e.str(x.reason)
	}
	e.str(string(encodeModules(m.modules)))
	e.num(uint64(len(m.kept)))
	for p := range m.kept {
		e.str(p)
	}
	e.num(uint64(len(m.folders)))
	for _, f := range m.folders {
		e.folder(f)
	}
	return e.b
}

// sealCache adds the commit and the SHA-256 of everything.
func sealCache(b []byte, commit oid) []byte {
	e := encoder{b: b}
	e.str(string(commit))
	sum := sha256.Sum256(e.b)
	return append(e.b, sum[:]...)
}

type encoder struct{ b []byte }

func (e *encoder) num(n uint64) { e.b = binary.LittleEndian.AppendUint64(e.b, n) }

func (e *encoder) str(s string) {
	e.b = binary.LittleEndian.AppendUint32(e.b, uint32(len(s)))
	e.b = append(e.b, s...)
}

func (e *encoder) folder(f *folder) {
	if f.raw != "" {
		e.b = append(e.b, f.raw...)
		return
	}
	e.str(f.path)
	e.stat(f.st, f.listed)
	e.num(uint64(len(f.others)))
	for _, o := range f.others {
		e.str(o.name)
		e.num(uint64(o.typ))
	}
	e.num(uint64(len(f.entries)))
	for i := range f.entries {
		x := &f.entries[i]
		e.str(x.name)
		e.str(string(x.oid))
		e.str(x.guard)
		e.num(uint64(x.mode))
		e.stat(x.st, x.trusted)
	}
}

func (e *encoder) stat(s stat, trusted bool) {
	flag := uint64(0)
	if trusted {
		flag = 1
	}
	for _, n := range [...]uint64{flag, uint64(s.size), uint64(s.mtime), uint64(s.ctime), s.ino, s.dev, uint64(s.mode)} {
		e.num(n)
	}
}

// decodeCache reads what sealCache made, of size bytes. Anything else, a
// torn or damaged file above all, is errCache: the cache is never needed for
// truth.
func decodeCache(r io.Reader, size int64) (*manifest, error) {
	body := size - sha256.Size
	if body < int64(len(cacheMagic)) || body > cacheMost {
		return nil, errCache
	}
	// One string for everything: the names below are parts of it.
	var s strings.Builder
	s.Grow(int(body))
	h := sha256.New()
	var sum [sha256.Size]byte
	if _, err := io.CopyN(io.MultiWriter(&s, h), r, body); err != nil {
		return nil, errCache
	}
	if _, err := io.ReadFull(r, sum[:]); err != nil || !bytes.Equal(h.Sum(nil), sum[:]) {
		return nil, errCache
	}
	rest, ok := strings.CutPrefix(s.String(), cacheMagic)
	if !ok {
		return nil, errCache
	}
	return decodeBody(rest)
}

// cacheMost bounds the cache that is read: the largest tree there may be.
const cacheMost = 1 << 30

// decodeBody reads what is between the magic and the checksum. Every name of
// the manifest is a part of s.
func decodeBody(s string) (*manifest, error) {
	d := decoder{s: s}
	f, err := parseFormat(d.str())
	if err != nil {
		return nil, errCache
	}
	m := newManifest(f)
	m.index.sha256 = d.str()
	m.index.st, m.index.trusted = d.stat()
	for range d.count() {
		m.dirs = append(m.dirs, d.str())
	}
	for range d.count() {
		m.excluded = append(m.excluded, excluded{path: d.str(), reason: d.str()})
	}
	if m.modules, err = decodeModules(f, []byte(d.str())); err != nil {
		return nil, errCache
	}
	for range d.count() {
		m.kept[d.str()] = true
	}
	n := d.count()
	m.folders = make(map[string]*folder, min(n, 1<<16))
	for range n {
		x := d.folder()
		if d.bad {
			return nil, errCache
		}
		m.folders[x.path] = x
	}
	m.commit = oid(d.str())
	if d.bad || d.s != "" {
		return nil, errCache
	}
	return m, nil
}

// decoder reads from s; bad says that there was not enough of it.
type decoder struct {
	s   string
	bad bool
}

func (d *decoder) take(n int) string {
	if n < 0 || n > len(d.s) {
		d.bad, d.s = true, ""
		return ""
	}
	t := d.s[:n]
	d.s = d.s[n:]
	return t
}

func (d *decoder) str() string {
	t := d.take(4)
	if d.bad {
		return ""
	}
	return d.take(int(uint32(t[0]) | uint32(t[1])<<8 | uint32(t[2])<<16 | uint32(t[3])<<24))
}

func (d *decoder) num() uint64 {
	t := d.take(8)
	if d.bad {
		return 0
	}
	return uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 |
		uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56
}

// count is a number of things that follow; no more than bytes are left.
func (d *decoder) count() int {
	n := d.num()
	if n > uint64(len(d.s)) {
		d.bad, d.s = true, ""
		return 0
	}
	return int(n)
}

func (d *decoder) folder() *folder {
	begin := d.s
	f := &folder{path: d.str()}
	f.st, f.listed = d.stat()
	for range d.count() {
		f.others = append(f.others, dirent{name: d.str(), typ: byte(d.num())})
	}
	n := d.count()
	f.entries = make([]entry, 0, min(n, len(d.s)/64+1))
	for range n {
		x := entry{name: d.str(), oid: oid(d.str()), guard: d.str(), mode: uint32(d.num())}
		x.st, x.trusted = d.stat()
		if d.bad {
			return f
		}
		f.entries = append(f.entries, x)
	}
	f.raw = begin[:len(begin)-len(d.s)]
	return f
}

func (d *decoder) stat() (s stat, trusted bool) {
	trusted = d.num() == 1
	s.size, s.mtime, s.ctime = int64(d.num()), int64(d.num()), int64(d.num())
	s.ino, s.dev, s.mode = d.num(), d.num(), uint32(d.num())
	return s, trusted
}
