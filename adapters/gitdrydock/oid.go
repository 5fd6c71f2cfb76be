package gitdrydock

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
)

// oid is the raw bytes of a git object's name: 20 or 32 of them, none when
// unknown.
type oid string

func (o oid) String() string { return hex.EncodeToString([]byte(o)) }

// format is a repository's object format.
type format string

const (
	formatSHA1   format = "sha1"
	formatSHA256 format = "sha256"
)

func parseFormat(s string) (format, error) {
	switch f := format(s); f {
	case formatSHA1, formatSHA256:
		return f, nil
	}
	return "", fmt.Errorf("unknown object format %q", s)
}

func (f format) size() int {
	if f == formatSHA256 {
		return sha256.Size
	}
	return sha1.Size
}

func (f format) new() hash.Hash {
	if f == formatSHA256 {
		return sha256.New()
	}
	return sha1.New()
}

// parse reads a hexadecimal name of this format.
func (f format) parse(s string) (oid, error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != f.size() {
		return "", fmt.Errorf("%q is not a %s object name", s, f)
	}
	return oid(b), nil
}

// object starts the hash of an object of a kind ("blob", "tree") with its size
// in bytes.
func (f format) object(kind string, size int64) hash.Hash {
	h := f.new()
	var b [40]byte
	h.Write(append(strconv.AppendInt(append(append(b[:0], kind...), ' '), size, 10), 0))
	return h
}

func (f format) blob(content []byte) oid {
	h := f.object("blob", int64(len(content)))
	h.Write(content)
	return oid(h.Sum(nil))
}

// emptyTree is known to git without being stored.
func (f format) emptyTree() oid { return oid(f.object("tree", 0).Sum(nil)) }

// guardSize is how much of a content's SHA-256 the cache keeps beside a SHA-1
// name: two contents that share the SHA-1 by design do not share it too.
const guardSize = 16

// guard starts the second hash of a content; nil where the name is strong
// enough by itself.
func (f format) guard() hash.Hash {
	if f == formatSHA256 {
		return nil
	}
	return sha256.New()
}
