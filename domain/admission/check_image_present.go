package admission

import "cyberagent/domain/fault"

// imagePresent refuses an image that the engine does not have. It is never
// pulled.
//
// Fields: Image.Present. Allowed: true.
var imagePresent = Check{ID: "image_present", Evaluate: func(e Evidence) []Verdict {
	if reachable(e) == nil || e.Image == nil || !ValidDigest(e.Image.Configured) || e.Image.Present {
		return nil
	}
	return []Verdict{refuse(fault.ImageUnavailable, "image_unavailable", BuildImage,
		"the engine does not have the image "+e.Image.Configured)}
}}

// present gives a check the facts of an image that is there, or nil.
func present(e Evidence) *ImageFacts {
	if reachable(e) == nil || e.Image == nil || !e.Image.Present {
		return nil
	}
	return e.Image
}
