package pruning_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"cyberagent/app/pruning"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
	"cyberagent/domain/retention"
	"cyberagent/ports"
)

// world is a ledger with some histories, and what a prune did to it. The rules of
// the real one are tested with it (adapters/ledger, cmd/cyberagent).
type world struct {
	ports.Records
	found     []retention.History
	open      int
	alive     id.Owner
	space     ports.Space
	pruned    []retention.Receipt
	compacted bool
}

var now = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func (w *world) Read(_ context.Context, fn func(ports.Records) error) error  { return fn(records{w}) }
func (w *world) Write(_ context.Context, fn func(ports.Records) error) error { return fn(records{w}) }
func (w *world) Prune(_ context.Context, fn func(ports.Records) error) error { return fn(records{w}) }
func (w *world) Installation() id.Installation                               { return "" }
func (w *world) Space(context.Context) (ports.Space, error)                  { return w.space, nil }
func (w *world) Compact(context.Context) error                               { w.compacted = true; return nil }
func (w *world) Now() time.Time                                              { return now }
func (w *world) Boot() lifecycle.Boot                                        { return lifecycle.Boot{} }
func (w *world) Hold(id.Owner) (func(), error)                               { return func() {}, nil }
func (w *world) Dead(o id.Owner) bool                                        { return o != w.alive }
func (w *world) Sweep() error                                                { return nil }

// records are world as a transaction sees it: Prune has another form there.
type records struct{ *world }

func (r records) Prune(all []retention.Receipt) error { r.pruned = all; return nil }

func (w *world) Histories(time.Time) ([]retention.History, error) { return w.found, nil }
func (w *world) OpenAdmissions(id.Run) ([]lifecycle.Admission, error) {
	return make([]lifecycle.Admission, w.open), nil
}
func (w *world) AddEvent(ports.Event) error         { return nil }
func (w *world) AddOperation(ports.Operation) error { return nil }
func (w *world) FindOperation(id.Run, string, string, string) (*ports.Operation, error) {
	return nil, nil
}

func (w *world) service() *pruning.Service {
	return &pruning.Service{Ledger: w, Retention: w, Locks: w, Clock: w}
}

func old(n string, admissions int64) retention.History {
	return retention.History{Run: id.Run("run_" + n), Admissions: admissions, Records: 10 * admissions, Bytes: 100, Oldest: now.AddDate(-1, 0, 0), Newest: now.AddDate(0, -6, 0)}
}

// confirmed looks, then does what was shown.
func (w *world) confirmed(t *testing.T) (pruning.View, error) {
	t.Helper()
	in := pruning.Input{OlderThan: limits.PruneAge, OperationKey: "k"}
	v, err := w.service().Prune(t.Context(), in)
	if err != nil || !v.DryRun || w.pruned != nil {
		t.Fatalf("%+v, %v", v, err)
	}
	in.Confirm = v.Digest
	return w.service().Prune(t.Context(), in)
}

func TestPrune_LeavesWhatIsYoungOrHeldAndSaysWhy(t *testing.T) {
	t.Parallel()
	young, held, stale := old("B", 1), old("C", 1), old("D", 1)
	young.Newest = now.Add(-time.Hour)
	held.Drydocks = 1
	stale.Owners = []id.Owner{"own_STALE"}
	w := &world{found: []retention.History{old("A", 2), young, held, stale}, alive: "own_STALE"}
	v, err := w.confirmed(t)
	if err != nil || len(v.Runs) != 1 || v.Runs[0].RunID != "run_A" || len(v.Kept) != 2 || v.Records != 20 || v.DryRun {
		t.Errorf("%+v, %v", v, err)
	}
	if len(w.pruned) != 1 || w.pruned[0].Run != "run_A" || w.pruned[0].Key != "k" || !w.pruned[0].At.Equal(now) {
		t.Errorf("%+v", w.pruned)
	}
	w.alive = "" // it died since
	if v, err := w.service().Prune(t.Context(), pruning.Input{OlderThan: limits.PruneAge}); err != nil || len(v.Runs) != 2 {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestPrune_KeepsNoCommandAtWorkWaiting(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		admissions  int64
		open        int
		space       ports.Space
		code        fault.Code
		compacted   bool
		saysWhyLess bool
	}{
		{"nothing at work", limits.PruneBeside + 1, 0, ports.Space{Bytes: 9, Reusable: 5}, "", true, false},
		{"a command beside little", limits.PruneBeside, 1, ports.Space{Bytes: 9, Reusable: 5}, "", false, true},
		{"a command beside much", limits.PruneBeside + 1, 1, ports.Space{}, fault.InProgress, false, false},
		{"what stays is large", 1, 0, ports.Space{Bytes: limits.CompactBytes + 9, Reusable: 8}, "", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := &world{found: []retention.History{old("A", c.admissions)}, open: c.open, space: c.space}
			v, err := w.confirmed(t)
			if c.code != "" {
				if !errors.Is(err, c.code) || w.pruned != nil || w.compacted {
					t.Fatalf("%v, pruned %v", err, w.pruned)
				}
				return
			}
			if err != nil || len(w.pruned) != 1 || w.compacted != c.compacted || (v.File.Why != "") != c.saysWhyLess || v.File.ReusableBytes != c.space.Reusable {
				t.Errorf("%+v, file %+v, %v", v, v.File, err)
			}
		})
	}
}

func TestPrune_OnlyWhatWasShownGoes(t *testing.T) {
	t.Parallel()
	w := &world{found: []retention.History{old("A", 2)}}
	v, err := w.service().Prune(t.Context(), pruning.Input{OlderThan: limits.PruneAge})
	if err != nil {
		t.Fatal(err)
	}
	w.found = append(w.found, old("B", 1))
	_, err = w.service().Prune(t.Context(), pruning.Input{OlderThan: limits.PruneAge, Confirm: v.Digest, OperationKey: "k"})
	if !errors.Is(err, fault.TrustMismatch) || w.pruned != nil {
		t.Errorf("%v, %v", err, w.pruned)
	}
	_, err = w.service().Prune(t.Context(), pruning.Input{OlderThan: -1})
	if !errors.Is(err, fault.InvalidArgument) {
		t.Error(err)
	}
}
