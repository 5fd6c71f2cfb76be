package image

import (
	"crypto/rand"
	"strings"
)

// tagPrefix is a name that only fixture builds use. Its domain does not exist,
// so no engine can ever pull it.
const tagPrefix = "cyberagent.local/standard-code-fixture:build-"

// Repository is the name that every tag of a fixture build has.
func Repository() string {
	name, _, _ := strings.Cut(tagPrefix, ":")
	return name
}

// NewTag returns a random tag (130 bits) that the caller owns.
func NewTag() string { return tagPrefix + strings.ToLower(rand.Text()) }
