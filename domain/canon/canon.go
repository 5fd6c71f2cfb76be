// Package canon gives the one encoding that is hashed: RFC 8785 canonical JSON
// and lower-case hexadecimal SHA-256 (contract section 1).
package canon

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"
)

// JSON returns v's canonical JSON. v must be a value that encoding/json
// accepts and whose integers a double can carry; the values of this domain are,
// so a failure is a programmer's.
func JSON(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if err := exact(b); err != nil {
		return nil, err
	}
	return jcs.Transform(b)
}

// exact refuses integers that canonical JSON would print as another number, for
// two values would then have one digest, and who decodes reads a third. A field
// that may be that large is encoded as text (json:",string").
func exact(b []byte) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	for {
		t, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		n, ok := t.(json.Number)
		if !ok || strings.ContainsAny(n.String(), ".eE") {
			continue
		}
		f, err := n.Float64()
		if err != nil {
			return err
		}
		if strconv.FormatFloat(f, 'f', -1, 64) != n.String() {
			return fmt.Errorf("canonical JSON cannot carry the integer %s", n)
		}
	}
}

// SHA256 returns the lower-case hexadecimal digest of bytes.
func SHA256(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// Digest returns the digest of v's canonical JSON. It panics on a value that
// has none (a channel, a NaN, an integer above 2^53): no value of this domain can be one.
func Digest(v any) string {
	b, err := JSON(v)
	if err != nil {
		panic("canon: " + err.Error())
	}
	return SHA256(b)
}

// IsSHA256 says whether s is 64 lower-case hexadecimal characters.
func IsSHA256(s string) bool {
	if len(s) != 64 {
		return false
	}
	for _, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
