package gitdrydock

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// cacheMagic begins a stat cache. Any other version is ignored.
const cacheMagic = "cyberagent-statcache 1\n"

var errCache = errors.New("not a stat cache of this version")

// encodeCache writes a manifest with its stats: the magic, the body, and the
// SHA-256 of both. Numbers are little-endian; strings carry their length.
func encodeCache(m *manifest) []byte {
	e := encoder{b: make([]byte, 0, 64<<10)}
	e.b = append(e.b, cacheMagic...)
	e.str(string(m.format))
	e.str(string(m.commit))
	e.str(m.index.sha256)
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
		e.str(f.path)
		e.num(uint64(len(f.entries)))
		for i := range f.entries {
			e.entry(&f.entries[i])
		}
	}
	sum := sha256.Sum256(e.b)
	return append(e.b, sum[:]...)
}

type encoder struct{ b []byte }

func (e *encoder) num(n uint64) { e.b = binary.LittleEndian.AppendUint64(e.b, n) }

func (e *encoder) str(s string) {
	e.b = binary.LittleEndian.AppendUint32(e.b, uint32(len(s)))
	e.b = append(e.b, s...)
}

func (e *encoder) entry(x *entry) {
	e.str(x.name)
	e.str(string(x.oid))
	e.str(x.guard)
	trusted := uint64(0)
	if x.trusted {
		trusted = 1
	}
	for _, n := range [...]uint64{
		uint64(x.mode), trusted, uint64(x.st.size), uint64(x.st.mtime), uint64(x.st.ctime),
		x.st.ino, x.st.dev, uint64(x.st.mode),
	} {
		e.num(n)
	}
}

// decodeCache reads what encodeCache wrote. Anything else, a torn or damaged
// file above all, is errCache: the cache is never needed for truth.
func decodeCache(b []byte) (*manifest, error) {
	body := len(b) - sha256.Size
	if body < len(cacheMagic) || string(b[:len(cacheMagic)]) != cacheMagic {
		return nil, errCache
	}
	if sum := sha256.Sum256(b[:body]); !bytes.Equal(sum[:], b[body:]) {
		return nil, errCache
	}
	// One string for everything: the names below are parts of it.
	d := decoder{s: string(b[len(cacheMagic):body])}
	f, err := parseFormat(d.str())
	if err != nil {
		return nil, errCache
	}
	m := newManifest(f)
	m.commit, m.index.sha256 = oid(d.str()), d.str()
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
	m.folders = make(map[string]*folder, n)
	for range n {
		x := &folder{path: d.str()}
		n := d.count()
		x.entries = make([]entry, 0, n)
		for range n {
			x.entries = append(x.entries, d.entry())
			if d.bad {
				return nil, errCache
			}
		}
		m.folders[x.path] = x
	}
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

func (d *decoder) entry() entry {
	x := entry{name: d.str(), oid: oid(d.str()), guard: d.str()}
	x.mode, x.trusted = uint32(d.num()), d.num() == 1
	x.st.size, x.st.mtime, x.st.ctime = int64(d.num()), int64(d.num()), int64(d.num())
	x.st.ino, x.st.dev, x.st.mode = d.num(), d.num(), uint32(d.num())
	return x
}
