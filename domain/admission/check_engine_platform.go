package admission

import (
	"fmt"

	"cyberagent/domain/fault"
)

// enginePlatform refuses anything but Linux containers of this architecture.
//
// Fields: Engine.OSType, Architecture, HostArch. Allowed: linux, equal.
var enginePlatform = Check{ID: "engine_platform", Evaluate: func(e Evidence) []Verdict {
	f := reachable(e)
	if f == nil || (f.OSType == "linux" && f.Architecture == f.HostArch) {
		return nil
	}
	return []Verdict{refuse(fault.PlatformBlocked, "backend_not_ready", UseLinuxContainers,
		fmt.Sprintf("the engine runs %s/%s containers, this process is for linux/%s", f.OSType, f.Architecture, f.HostArch))}
}}
