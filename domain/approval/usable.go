package approval

import (
	"strings"
	"time"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/run"
)

// Usable refuses a preparation that no execution can follow any more, as its Run and
// its Drydock are now: a closed Run (run_not_eligible), a Drydock that was cleaned
// (drydock_not_ready), another generation (generation_stale) or another revision of
// the Run's authority (authority_drift). None of them ever comes back. A paused Run
// does.
func (p Preparation) Usable(r run.Run, d drydock.Drydock) error {
	if r.Status == run.Closed {
		return r.Eligible()
	}
	if d.Status == drydock.Cleaned {
		return fault.New(fault.DrydockNotReady, "the Drydock %s that it was prepared for was cleaned at %s", d.ID, d.UpdatedAt.UTC().Format(time.DateTime+"Z")).
			At("preparation").Hint("make another Drydock (`cyberagent drydock create %s`) and prepare the command again", r.ID)
	}
	now := p.Authority
	now.Drydock, now.Generation, now.Checkpoint, now.BindingSHA256 = d.ID, d.Generation, d.Checkpoint, d.BindingDigest()
	now.ProfileRevision, now.PermissionRevision = r.Profile.Revision, r.Permission.Revision
	if p.Authority.Generation != now.Generation {
		return fault.New(fault.GenerationStale, "prepared at generation %d, the Drydock is at %d", p.Authority.Generation, now.Generation).
			At("preparation").Hint("prepare the command again for the present generation; `cyberagent drydock status %s` shows it", r.ID)
	}
	if diff := p.Authority.Differences(now); len(diff) > 0 {
		e := fault.New(fault.AuthorityDrift, "changed since the command was prepared: %s", strings.Join(diff, ", ")).At("preparation").
			Hint("prepare the command again")
		for _, f := range diff {
			e = e.With(f, "changed")
		}
		return e
	}
	return nil
}
