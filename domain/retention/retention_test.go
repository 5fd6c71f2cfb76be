package retention_test

import (
	"strings"
	"testing"
	"time"

	"cyberagent/domain/id"
	"cyberagent/domain/retention"
)

var day = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func TestHold_OnlyWhatNothingComesBackToMayGo(t *testing.T) {
	t.Parallel()
	lives := func(o id.Owner) bool { return o == "own_LIVES" }
	for _, c := range []struct {
		name string
		h    retention.History
		why  string // a word of it; empty means that it may go
	}{
		{"nothing is open", retention.History{Admissions: 3}, ""},
		{"its owners are dead", retention.History{Owners: []id.Owner{"own_DEAD", "own_GONE"}}, ""},
		{"a command is open", retention.History{OpenAdmissions: 1}, "command"},
		{"a Job is open", retention.History{OpenJobs: 1}, "Job"},
		{"a Drydock is there", retention.History{Drydocks: 1}, "Drydock"},
		{"a stale owner lives", retention.History{Owners: []id.Owner{"own_DEAD", "own_LIVES"}}, "process"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			why := c.h.Hold(lives)
			if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
				t.Errorf("%q", why)
			}
		})
	}
}

func TestOver_IsOlderByTheNewestThing(t *testing.T) {
	t.Parallel()
	h := retention.History{Oldest: day.AddDate(-1, 0, 0), Newest: day}
	if h.Over(day) || !h.Over(day.Add(time.Microsecond)) {
		t.Error("the newest thing decides, and what is as old as the limit stays")
	}
}

func TestTotal_SumsAndSpans(t *testing.T) {
	t.Parallel()
	got := retention.Total([]retention.History{
		{Run: "run_A", Admissions: 1, Records: 10, Bytes: 100, Oldest: day, Newest: day.AddDate(0, 0, 1)},
		{Run: "run_B", Admissions: 2, Records: 20, Bytes: 200, Oldest: day.AddDate(0, 0, -1), Newest: day},
	})
	if got.Admissions != 3 || got.Records != 30 || got.Bytes != 300 || !got.Oldest.Equal(day.AddDate(0, 0, -1)) || !got.Newest.Equal(day.AddDate(0, 0, 1)) {
		t.Errorf("%+v", got)
	}
	if none := retention.Total(nil); none.Records != 0 || !none.Oldest.IsZero() {
		t.Errorf("%+v", none)
	}
}
