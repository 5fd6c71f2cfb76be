package isolation_test

import (
	"strings"
	"testing"

	"cyberagent/domain/isolation"
)

func TestTmpfs_OptionsComeBackAndNothingElseIsAccepted(t *testing.T) {
	for _, want := range isolation.Tmpfses() {
		got, err := isolation.ParseTmpfs(want.Target, want.Options())
		if err != nil || got != want {
			t.Errorf("%+v %v", got, err)
		}
	}
	good := strings.Join(isolation.Tmpfses()[0].Options(), ",")
	for _, o := range []string{
		"", good + ",", good + ",suid", good + ",exec", good + ",size=1", strings.Replace(good, "nosuid,", "", 1), strings.Replace(good, "rw", "ro", 1),
		strings.Replace(good, "size=134217728", "size=128m", 1), strings.Replace(good, "mode=0700", "mode=0900", 1), strings.Replace(good, "nr_inodes=16384,", "", 1),
		strings.Replace(good, "exec", "exec=1", 1),
	} {
		if _, err := isolation.ParseTmpfs("/x", strings.Split(o, ",")); err == nil {
			t.Errorf("%q is accepted", o)
		}
	}
}
