package admission

import (
	"strings"

	"cyberagent/domain/canon"
	"cyberagent/domain/fault"
)

// ValidDigest says whether s is "sha256:" and 64 lower-case hexadecimal
// characters: no tag, no name, nothing shorter.
func ValidDigest(s string) bool {
	hexDigest, ok := strings.CutPrefix(s, "sha256:")
	return ok && canon.IsSHA256(hexDigest)
}

// imageConfigured refuses a digest that is missing or not exact.
//
// Fields: Image.Configured. Allowed: sha256:<64 lower-case hex>.
var imageConfigured = Check{ID: "image_configured", Evaluate: func(e Evidence) []Verdict {
	if e.Image == nil || ValidDigest(e.Image.Configured) {
		return nil
	}
	detail := "no image digest is configured"
	if e.Image.Configured != "" {
		detail = "the configured image is not sha256: and 64 lower-case hexadecimal characters"
	}
	return []Verdict{refuse(fault.ImageUnconfigured, "image_unavailable", ConfigureImage, detail)}
}}
