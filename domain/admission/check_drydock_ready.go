package admission

import (
	"fmt"
	"strings"
	"time"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
)

// drydockReady refuses a Drydock that is not exactly what the caller believes:
// present and ready, at the named generation and Checkpoint, with files equal to
// that Checkpoint.
//
// Fields: Drydock, Requested. Allowed: ready, equal, equal, not drifted.
var drydockReady = Check{ID: "drydock_ready", Evaluate: func(e Evidence) []Verdict {
	if e.Drydock == nil || e.Requested == nil {
		return nil
	}
	d := e.Drydock
	if !d.Present {
		detail := "the Run has no Drydock"
		if d.Drydock.Status == drydock.Cleaned {
			detail = fmt.Sprintf("the Run's Drydock %s was cleaned at %s", d.Drydock.ID, d.Drydock.UpdatedAt.UTC().Format(time.DateTime+"Z"))
		}
		return []Verdict{refuse(fault.DrydockNotReady, "drydock_not_ready", CreateDrydock, detail)}
	}
	var out []Verdict
	if d.Drydock.Status != drydock.Ready {
		detail := fmt.Sprintf("the Drydock is %s", d.Drydock.Status)
		if d.Drydock.Reason != "" {
			detail += ": " + d.Drydock.Reason
		}
		out = append(out, refuse(fault.DrydockNotReady, "drydock_not_ready", CreateDrydock, detail))
	}
	if d.Drydock.Generation != e.Requested.Generation {
		out = append(out, refuse(fault.GenerationStale, "generation_stale", UseCurrentGeneration,
			fmt.Sprintf("the Drydock is at generation %d, not %d", d.Drydock.Generation, e.Requested.Generation)))
	}
	if d.Drydock.Checkpoint != e.Requested.Checkpoint {
		out = append(out, refuse(fault.CheckpointStale, "checkpoint_stale", UseCurrentCheckpoint,
			fmt.Sprintf("the Drydock's Checkpoint is %s, not %s", d.Drydock.Checkpoint, e.Requested.Checkpoint)))
	}
	if d.Drifted {
		out = append(out, refuse(fault.DrydockDrifted, "drydock_drifted", CheckpointOrRewind,
			"files differ from the Checkpoint: "+strings.Join(d.Drift, ", ")))
	}
	return out
}}
