package admission

import (
	"fmt"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/runnerproto"
)

// imageProtocol refuses an image whose runner speaks another version.
//
// Fields: Image.Labels. Allowed: the runner's protocol v2.
var imageProtocol = Check{ID: "image_protocol", Evaluate: func(e Evidence) []Verdict {
	f := present(e)
	if f == nil || f.Labels[isolation.LabelProtocol] == runnerproto.Protocol {
		return nil
	}
	return []Verdict{refuse(fault.RunnerOutdated, "backend_not_ready", RebuildImage,
		fmt.Sprintf("the image carries runner %q, this product speaks %q", f.Labels[isolation.LabelProtocol], runnerproto.Protocol))}
}}
