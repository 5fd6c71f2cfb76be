package admission

import (
	"fmt"

	"cyberagent/domain/fault"
	"cyberagent/domain/run"
)

// runEligible refuses a Run that is not for code or not active.
//
// Fields: Run.Kind, Status. Allowed: code, active.
var runEligible = Check{ID: "run_eligible", Evaluate: func(e Evidence) []Verdict {
	if e.Run == nil || (e.Run.Kind == run.KindCode && e.Run.Status == run.Active) {
		return nil
	}
	return []Verdict{refuse(fault.RunNotEligible, "run_not_eligible", UseActiveRun,
		fmt.Sprintf("the Run is of kind %s and %s", e.Run.Kind, e.Run.Status))}
}}
