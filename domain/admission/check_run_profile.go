package admission

import (
	"fmt"

	"cyberagent/domain/fault"
	"cyberagent/domain/run"
)

// runProfile refuses every execution profile but docker; local is a known word
// that is always blocked.
//
// Fields: Run.Profile. Allowed: docker.
var runProfile = Check{ID: "run_profile", Evaluate: func(e Evidence) []Verdict {
	if e.Run == nil || e.Run.Profile.Profile == run.ProfileDocker {
		return nil
	}
	return []Verdict{refuse(fault.ProfileMismatch, "profile_mismatch", SelectDocker,
		fmt.Sprintf("the Run's execution profile is %s, not docker", e.Run.Profile.Profile))}
}}
