//go:build linux

package standardcode_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cyberagent/adapters/memory"
	"cyberagent/app/standardcode"
	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/result"
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

func TestFinish_AFailureThatSpeaksOfAFileThatIsTooLargeNamesItAndTheCeiling(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, out, err string
		exit           int
		file           string
	}{
		{"on the standard error", "ok\n", "compile: write $WORK/b1/_pkg_.a: file too large\n", 1, "$WORK/b1/_pkg_.a"},
		{"on the standard output", "write /workspace/x.a: file too large\n", "", 1, "/workspace/x.a"},
		{"long before the end", "", "write /workspace/x.a: file too large\n" + strings.Repeat("more\n", 1<<17), 1, "/workspace/x.a"},
		{"without a name", "", "File too large\n", 1, "(without a name)"},
		{"a success", "", "write out/x.a: file too large\n", 0, ""},
		{"another failure", "no\n", "no\n", 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := mustLab(t)
			l.runner.Command = func(cmd *memory.Command) int {
				_, _ = io.WriteString(cmd.Stdout, c.out)
				_, _ = io.WriteString(cmd.Stderr, c.err)
				return c.exit
			}
			r, err := l.execute()
			l.must(err)
			if r.ReasonCode != result.Exited || r.Details["file_size_said"] != c.file || strings.Contains(r.Remediation, "16 MiB") != (c.file != "") {
				t.Errorf("%s, %v, %q", r.ReasonCode, r.Details, r.Remediation)
			}
		})
	}
}
