package admission

import (
	"strings"

	"cyberagent/domain/fault"
)

// gates refuses a process that was not started with all three gates.
//
// Fields: Gates. Allowed: all true.
var gates = Check{ID: "process_gates", Evaluate: func(e Evidence) []Verdict {
	missing := e.Gates.Missing()
	if len(missing) == 0 {
		return nil
	}
	return []Verdict{refuse(fault.FeatureDisabled, "startup_gate_closed", RestartWithGate,
		"this process was started without "+strings.Join(missing, ", "))}
}}
