package admission

import (
	"cyberagent/domain/fault"
)

// engineHost refuses hosts on which the contract cannot be measured or kept:
// an engine behind a VM, remapped or rootless user ids, SELinux without
// relabelling, no seccomp, no swap accounting.
//
// Fields: Engine.Desktop, Seccomp, Rootless, UsernsRemap, SELinux, SwapLimit.
// Allowed: false, true, false, false, false, true; Desktop by AllowDesktop.
var engineHost = Check{ID: "engine_host", Evaluate: func(e Evidence) []Verdict {
	f := reachable(e)
	if f == nil {
		return nil
	}
	var out []Verdict
	for _, r := range []struct {
		bad    bool
		code   fault.Code
		detail string
	}{
		{f.Desktop && !e.AllowDesktop, fault.HostOSUnsupported, "the engine runs behind a virtual machine (" + f.OperatingName + ")"},
		{!f.Seccomp, fault.HostOSUnsupported, "the engine has no seccomp"},
		{f.Rootless, fault.UsernsUnsupported, "the engine is rootless, so the Drydock's owner cannot be the container's user"},
		{f.UsernsRemap, fault.UsernsUnsupported, "the engine remaps user ids, so the Drydock's owner cannot be the container's user"},
		{f.SELinux, fault.SELinuxUnsupported, "SELinux is enforcing and the Drydock is not relabelled"},
		{!f.SwapLimit, fault.SwapUnavailable, "the engine cannot limit swap"},
	} {
		if r.bad {
			out = append(out, refuse(r.code, "backend_not_ready", UseSupportedHost, r.detail))
		}
	}
	return out
}}
