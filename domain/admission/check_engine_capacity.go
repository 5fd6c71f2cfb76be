package admission

import (
	"fmt"

	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
)

// engineCapacity refuses an engine that cannot enforce or provide the
// contract's resources.
//
// Fields: Engine.PidsLimit, MemoryLimit, CPUs, MemoryBytes. Allowed: true, true,
// at least 2, at least 2 GiB.
var engineCapacity = Check{ID: "engine_capacity", Evaluate: func(e Evidence) []Verdict {
	f := reachable(e)
	if f == nil {
		return nil
	}
	var out []Verdict
	if !f.PidsLimit {
		out = append(out, refuse(fault.PidsUnavailable, "backend_not_ready", RetryReadiness, "the engine cannot limit processes"))
	}
	switch {
	case !f.MemoryLimit:
		out = append(out, refuse(fault.CapacityTooSmall, "backend_not_ready", RetryReadiness, "the engine cannot limit memory"))
	case f.CPUs < limits.CPUs || f.MemoryBytes < limits.MemoryBytes:
		out = append(out, refuse(fault.CapacityTooSmall, "backend_not_ready", RetryReadiness,
			fmt.Sprintf("the engine has %d CPUs and %d MiB of memory; the contract needs %d and %d MiB",
				f.CPUs, f.MemoryBytes/limits.MiB, limits.CPUs, limits.MemoryBytes/limits.MiB)))
	}
	return out
}}
