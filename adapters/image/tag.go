package image

import (
	"crypto/rand"
	"strings"
)

// tagPrefix is a name that only fixture builds use. Its domain does not exist,
// so no engine can ever pull it.
const tagPrefix = "cyberagent.local/standard-code-fixture:build-"

// NewTag returns a random tag (130 bits) that the caller owns.
func NewTag() string { return tagPrefix + strings.ToLower(rand.Text()) }
