// Package imageref reads the two kinds of image names that engines are asked for, alike
// for every engine.
package imageref

import (
	"github.com/distribution/reference"

	"cyberagent/domain/fault"
)

// Pinned accepts "name@sha256:<64 hex>" without a tag (fixture_base_unpinned).
func Pinned(ref string) (reference.Canonical, error) {
	n, err := reference.ParseNormalizedNamed(ref)
	if err == nil {
		_, tagged := n.(reference.Tagged)
		if c, ok := n.(reference.Canonical); ok && !tagged && c.Digest().Algorithm() == "sha256" {
			return c, nil
		}
	}
	return nil, fault.New(fault.BaseUnpinned, "%q is not of the form name@sha256:<64 hex>", ref).
		Hint("name the base image by its digest")
}

// Repository accepts a name without tag and digest (invalid_argument).
func Repository(name string) (reference.Named, error) {
	n, err := reference.ParseNormalizedNamed(name)
	if err != nil || !reference.IsNameOnly(n) {
		return nil, fault.New(fault.InvalidArgument, "%q is not a repository's name", name).At("repository")
	}
	return n, nil
}
