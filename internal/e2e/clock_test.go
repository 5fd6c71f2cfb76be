package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Processes of one ledger that live in different time zones agree on who is alive
// and write the same times.
func TestClock_ProcessesInDifferentTimeZonesReapNoLiveLease(t *testing.T) {
	t.Parallel()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	must(t, err)
	zones := filepath.Join(strings.TrimSpace(string(goroot)), "lib", "time", "zoneinfo.zip")
	_, err = os.Stat(zones)
	must(t, err)
	h := MustHome(t)
	source := h.MustScripts(t, "abuse.py")
	in := func(zone string) *home { return h.with("TZ="+zone, "ZONEINFO="+zones) }
	f := in("Pacific/Kiritimati").MustFlow(t, source) // 14 hours ahead
	o := f.MustStart(t, f.MustApprove(t, python("abuse.py", "wait").within(600)))
	for _, zone := range []string{"America/Los_Angeles", "Asia/Kolkata", "Pacific/Kiritimati"} {
		other := in(zone)
		v := MustAnswer[recoveryView](t, other.call(t, "run", "standard-code", "recover", "--all"), 8)
		if len(v.Items) != 1 || v.Items[0].Outcome != "owned" || v.Items[0].ExecutionID != o.execution {
			t.Errorf("%s: recovered %+v", zone, v)
		}
		a := other.call(t, "run", "standard-code", "status", f.run)
		s := MustAnswer[statusView](t, a, 0)
		if len(s.Executions) != 1 || !s.Executions[0].OwnerLives {
			t.Errorf("%s: %+v", zone, s)
		}
		if strings.Contains(string(a.stdout), `+14:00"`) || s.Executions[0].CreatedAt.Location() != time.UTC {
			t.Errorf("%s: times are not UTC: %s", zone, a.stdout)
		}
	}
	f.MustHaveOneContainer(t)
	r := MustAnswer[resultView](t, in("America/Los_Angeles").call(t, "run", "standard-code", "cancel", "--admission", o.execution), 0)
	if r.ended() != "cancelled/cancelled" {
		t.Errorf("cancelled: %+v", r)
	}
	f.MustFollow(t, MustAnswer[resultView](t, o.Wait(t), 7))
}
