package gitdrydock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// indexEntry is one entry of a git index, with the stat that git keeps to know
// an unchanged file without reading it.
type indexEntry struct {
	path  string
	mode  uint32
	oid   oid
	stage int
	skip  bool // skip-worktree: the file is not expected to be there

	// As git stores them: seconds and nanoseconds, lower 32 bits of numbers.
	ctime, ctimeNano, mtime, mtimeNano uint32
	ino, size                          uint32
}

var errIndex = errors.New("an index that cannot be read here")

// parseIndex reads a git index of version 2 to 4. Split and sparse indexes are
// refused (errIndex): their entries are elsewhere. The file is the operator's
// and may be damaged.
func parseIndex(b []byte, f format) ([]indexEntry, error) {
	if len(b) < 12+f.size() || string(b[:4]) != "DIRC" {
		return nil, errIndex
	}
	version, count := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	if version < 2 || version > 4 || int64(count)*62 > int64(len(b))*8 {
		return nil, fmt.Errorf("%w: version %d", errIndex, version)
	}
	rest := b[12 : len(b)-f.size()]
	out := make([]indexEntry, 0, min(int(count), len(b)/40))
	prev := ""
	for range count {
		e, n, err := parseIndexEntry(rest, f, version, prev)
		if err != nil {
			return nil, err
		}
		out, rest, prev = append(out, e), rest[n:], e.path
	}
	for len(rest) >= 8 {
		name, size := string(rest[:4]), int64(binary.BigEndian.Uint32(rest[4:]))
		// An extension whose name begins in lower case must be understood.
		if name[0] >= 'a' && name[0] <= 'z' {
			return nil, fmt.Errorf("%w: extension %q", errIndex, name)
		}
		if size > int64(len(rest))-8 {
			return nil, errIndex
		}
		rest = rest[8+size:]
	}
	return out, nil
}

const (
	indexExtended     = 1 << 14 // in flags
	indexSkipWorktree = 1 << 14 // in the extended flags
)

func parseIndexEntry(b []byte, f format, version uint32, prev string) (indexEntry, int, error) {
	fixed := 40 + f.size() + 2
	if len(b) < fixed+2 {
		return indexEntry{}, 0, errIndex
	}
	u32 := func(at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }
	e := indexEntry{
		ctime: u32(0), ctimeNano: u32(4), mtime: u32(8), mtimeNano: u32(12),
		ino: u32(20), mode: u32(24), size: u32(36),
		oid: oid(b[40 : 40+f.size()]),
	}
	flags := binary.BigEndian.Uint16(b[fixed-2:])
	e.stage = int(flags >> 12 & 3)
	if flags&indexExtended != 0 {
		e.skip = binary.BigEndian.Uint16(b[fixed:])&indexSkipWorktree != 0
		fixed += 2
	}
	name := b[fixed:]
	strip := 0
	if version == 4 {
		n, used := indexVarint(name)
		if used == 0 || n > len(prev) {
			return indexEntry{}, 0, errIndex
		}
		strip, name, fixed = n, name[used:], fixed+used
	}
	end := bytes.IndexByte(name, 0)
	if end < 0 {
		return indexEntry{}, 0, errIndex
	}
	e.path = string(name[:end])
	size := fixed + end + 1
	if version == 4 {
		e.path = prev[:len(prev)-strip] + e.path
	} else {
		size = (fixed + end + 8) &^ 7 // one to eight NULs to a multiple of eight
	}
	if size > len(b) {
		return indexEntry{}, 0, errIndex
	}
	return e, size, nil
}

// indexVarint reads git's offset encoding; used is 0 for a damaged one.
func indexVarint(b []byte) (n, used int) {
	for i, c := range b {
		if i == 5 {
			return 0, 0
		}
		if i > 0 {
			n++
		}
		n = n<<7 | int(c&0x7f)
		if c < 0x80 {
			return n, i + 1
		}
	}
	return 0, 0
}
