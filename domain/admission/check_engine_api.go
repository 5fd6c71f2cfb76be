package admission

import (
	"fmt"

	"cyberagent/domain/fault"
)

// engineAPI refuses an engine that is too old or too new to talk to.
//
// Fields: Engine.APISupported. Allowed: true.
var engineAPI = Check{ID: "engine_api", Evaluate: func(e Evidence) []Verdict {
	f := reachable(e)
	if f == nil || f.APISupported {
		return nil
	}
	return []Verdict{refuse(fault.APIUnsupported, "backend_not_ready", UpgradeEngine,
		fmt.Sprintf("engine version %s with API %s is not supported", f.Version, f.APIVersion))}
}}
