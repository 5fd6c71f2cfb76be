package admission

import (
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
)

// blockerOf is the engine's own word for "not there".
func blockerOf(e isolation.Engine) (Blocker, Remediation) {
	if e == isolation.Containerd {
		return "containerd_unavailable", StartContainerd
	}
	return "docker_unavailable", StartDocker
}

// reachable gives a check the facts of an engine that answered, or nil.
func reachable(e Evidence) *EngineFacts {
	if e.Engine == nil || e.Engine.Reachability != Reachable {
		return nil
	}
	return e.Engine
}

// engineReachable refuses an engine that did not answer.
//
// Fields: Engine.Reachability. Allowed: reachable.
var engineReachable = Check{ID: "engine_reachable", Evaluate: func(e Evidence) []Verdict {
	if e.Engine == nil || e.Engine.Reachability == Reachable {
		return nil
	}
	by, start := blockerOf(e.Engine.Engine)
	if e.Engine.Reachability == PermissionDenied {
		return []Verdict{refuse(fault.DaemonPermission, by, GrantSocket, "no right to use the engine's socket: "+e.Engine.Detail)}
	}
	return []Verdict{refuse(fault.DaemonUnreachable, by, start, "the engine does not answer: "+e.Engine.Detail)}
}}
