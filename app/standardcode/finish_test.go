//go:build linux

package standardcode_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cyberagent/app/standardcode"
	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/ports"
)

// checkpoints are the Drydock's, the oldest first.
func (l *lab) checkpoints() (all []drydock.Checkpoint) {
	l.t.Helper()
	l.must(l.ledger.Read(l.t.Context(), func(rec ports.Records) error {
		d, err := rec.DrydockOfRun(l.run)
		if err == nil {
			all, err = rec.ListCheckpoints(d.ID)
		}
		return err
	}))
	return all
}

// ofAdmission is the Checkpoint's id that follows from an admission's.
func ofAdmission(a id.Admission) id.Checkpoint {
	return id.Checkpoint("ckpt_" + strings.TrimPrefix(string(a), "adm_"))
}

func TestFinish_TheCheckpointsIDFollowsFromTheAdmission(t *testing.T) {
	t.Parallel()
	l := mustLab(t)
	r, err := l.execute()
	l.must(err)
	if r.Checkpoint.AfterID != ofAdmission(r.ExecutionID) || r.Checkpoint.Changed.Added != 1 {
		t.Errorf("%+v", r.Checkpoint)
	}
	l.nothingLeft()
}

func TestFinish_ACrashBetweenCaptureAndFinalizeMakesNoSecondCheckpoint(t *testing.T) {
	t.Parallel()
	for _, m := range []standardcode.Moment{standardcode.MomentCaptured, standardcode.Before(lifecycle.FinalizeDone), standardcode.MomentCapturing} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			l := mustLab(t)
			l.dies(m)
			if n := len(l.checkpoints()); n != 1 {
				t.Fatalf("%d Checkpoints before the recovery", n)
			}
			r := l.recovered()
			all := l.checkpoints()
			if len(all) != 2 || all[1].ID != ofAdmission(r.ExecutionID) || r.Checkpoint.AfterID != all[1].ID {
				t.Errorf("%+v, and the result has %+v", all, r.Checkpoint)
			}
			if r.Checkpoint.Changed.Added != 1 || l.runs != 1 {
				t.Errorf("%+v, ran %d times", r.Checkpoint.Changed, l.runs)
			}
			l.nothingLeft()
		})
	}
}

func TestFinish_FilesThatChangedAfterTheCaptureGetACheckpointOfTheirOwn(t *testing.T) {
	t.Parallel()
	l := mustLab(t)
	l.dies(standardcode.MomentCaptured)
	l.must(os.WriteFile(filepath.Join(l.root, "late"), []byte("by a process that outlived its owner\n"), 0o644))
	r := l.recovered()
	all := l.checkpoints()
	if len(all) != 2 || all[1].ID == ofAdmission(r.ExecutionID) || r.Checkpoint.AfterID != all[1].ID {
		t.Errorf("%+v, and the result has %+v", all, r.Checkpoint)
	}
	if r.Checkpoint.Changed.Added != 2 {
		t.Errorf("%+v", r.Checkpoint.Changed)
	}
}
