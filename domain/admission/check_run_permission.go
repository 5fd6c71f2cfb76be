package admission

import (
	"fmt"

	"cyberagent/domain/fault"
	"cyberagent/domain/run"
)

// runPermission refuses every permission but workspace_access, the wider ones
// included (seed: schema v128).
//
// Fields: Run.Permission. Allowed: workspace_access.
var runPermission = Check{ID: "run_permission", Evaluate: func(e Evidence) []Verdict {
	if e.Run == nil || e.Run.Permission.Permission == run.WorkspaceAccess {
		return nil
	}
	return []Verdict{refuse(fault.PermissionMismatch, "permission_mismatch", GrantWorkspace,
		fmt.Sprintf("the Run's permission is %s, not workspace_access", e.Run.Permission.Permission))}
}}
