package containerd

import (
	"slices"
	"strings"
	"testing"

	"cyberagent/domain/isolation"
)

func TestCreate_ReadsBackWhatWasAsked(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		for _, stdin := range []isolation.Stdin{isolation.StdinClosed, isolation.StdinPipe} {
			j := newJob(t, l, "exit 0", stdin)
			j.create()
			if diffs := isolation.Compare(j.spec, j.props); len(diffs) > 0 {
				t.Errorf("%s: %+v", stdin, diffs)
			}
		}
	})
}

func TestRun_DeliversOutputAndExit(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		j := newJob(t, l, "out 3000000 100", isolation.StdinClosed)
		stdout, stderr, exit := j.run()
		if len(stdout) != 3000000 || len(stderr) != 100 || exit.Code != 0 || exit.Interrupted {
			t.Errorf("%d %d %+v", len(stdout), len(stderr), exit)
		}
		j = newJob(t, l, "exit 7", isolation.StdinClosed)
		if _, _, exit := j.run(); exit.Code != 7 || exit.Interrupted || exit.OOMKilled {
			t.Errorf("%+v", exit)
		}
	})
}

func TestRun_LooksAsTheContractWants(t *testing.T) {
	each(t, func(t *testing.T, l *lab) {
		stdout, _, _ := newJob(t, l, "look", isolation.StdinClosed).run()
		t.Log(stdout)
		lines := strings.Split(stdout, "\n")
		if !slices.Contains(lines, "hostname standard-code") {
			t.Error("hostname")
		}
	})
}
