package isolation_test

import (
	"testing"

	"cyberagent/domain/isolation"
)

func TestTheUsersOwnGroupIsNoSupplementaryGroup(t *testing.T) {
	for want, gids := range map[string][]int{isolation.None: {65532}, "0": {0}, "999 27": {999, 65532, 27}} {
		if got := isolation.Groups(gids); got != want {
			t.Errorf("%v: %q", gids, got)
		}
	}
	if got := isolation.Groups(nil); got != isolation.None {
		t.Errorf("%q", got)
	}
}

func TestOnlyTheEnginesOwnVariablesAreLeftOut(t *testing.T) {
	for want, names := range map[string][]string{
		isolation.None: {"PATH", "HOSTNAME", "HOME"}, "LD_PRELOAD TOKEN": {"TOKEN", "PATH", "LD_PRELOAD"},
		"HOME2": {"HOME2"}, "path": {"path"},
	} {
		if got := isolation.Environment(names); got != want {
			t.Errorf("%v: %q", names, got)
		}
	}
}
