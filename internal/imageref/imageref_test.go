package imageref_test

import (
	"strings"
	"testing"

	"cyberagent/domain/fault"
	"cyberagent/internal/imageref"
)

func TestPinned_OnlyANameWithAWholeDigestAndNoTag(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("1", 64)
	for ref, ok := range map[string]bool{
		"golang@" + digest: true, "registry.example:5000/a/b@" + digest: true,
		"golang:1@" + digest: false, "golang": false, "golang:1": false, "golang@sha256:1": false, digest: false, "": false,
		"golang@sha512:" + strings.Repeat("1", 128): false, "Golang@" + digest: false,
	} {
		if _, err := imageref.Pinned(ref); (err == nil) != ok || err != nil && fault.CodeOf(err) != fault.BaseUnpinned {
			t.Errorf("%q: %v", ref, err)
		}
	}
}

func TestRepository_OnlyABareName(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"cyberagent.local/fixture": true, "a": true, "a:1": false, "a@sha256:" + strings.Repeat("1", 64): false, "": false, "A": false,
	} {
		if _, err := imageref.Repository(name); (err == nil) != ok || err != nil && fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%q: %v", name, err)
		}
	}
}
