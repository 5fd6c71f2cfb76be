package runs_test

import (
	"fmt"
	"testing"
	"time"

	"cyberagent/adapters/ledger/ledgertest"
	"cyberagent/app/runs"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/run"
	"cyberagent/ports"
)

// clock moves a second at each look.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time       { c.now = c.now.Add(time.Second); return c.now }
func (c *clock) Boot() lifecycle.Boot { return lifecycle.Boot{} }

type ids struct{ n int }

func (i *ids) New(k id.Kind) string { i.n++; return id.Format(k, fmt.Sprintf("%026d", i.n)) }

func TestChange_TheSameValueAgainChangesNothingAndKeepsItsKey(t *testing.T) {
	t.Parallel()
	l := ledgertest.Open(t)
	s := &runs.Service{Ledger: l, Clock: &clock{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}, IDs: &ids{}}
	rid := id.Run(s.IDs.New(id.KindRun))
	r, err := run.New(rid, "a test", "/src", s.Clock.Now())
	if err == nil {
		err = l.Write(t.Context(), func(rec ports.Records) error { return rec.AddRun(r) })
	}
	if err != nil {
		t.Fatal(err)
	}
	for verb, set := range map[string]func(key string) (runs.View, error){
		"profile": func(key string) (runs.View, error) { return s.SetProfile(t.Context(), rid, run.ProfileDocker, key) },
		"permission": func(key string) (runs.View, error) {
			return s.SetPermission(t.Context(), rid, run.WorkspaceAccess, key)
		},
		"status": func(key string) (runs.View, error) { return s.SetStatus(t.Context(), rid, run.Paused, key) },
	} {
		first, err := set(verb + "-1")
		if err != nil {
			t.Fatal(err)
		}
		before, _ := s.History(t.Context(), rid)
		again, err := set(verb + "-2")
		if err != nil || again != first {
			t.Errorf("%s again: %v\n%+v\n%+v", verb, err, again, first)
		}
		if after, _ := s.History(t.Context(), rid); len(after) != len(before) {
			t.Errorf("%s again is an event: %+v", verb, after)
		}
		first.Replayed = true
		if replay, err := set(verb + "-2"); err != nil || replay != first {
			t.Errorf("the key of a %s that changed nothing is not kept: %v\n%+v", verb, err, replay)
		}
	}
	v, err := s.SetProfile(t.Context(), rid, run.ProfileNone, "other")
	if err != nil || v.ProfileRevision != 3 || v.PermissionRevision != 2 {
		t.Errorf("another value: %v, %+v", err, v)
	}
}
