package drydocks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cyberagent/adapters/ledger/ledgertest"
	"cyberagent/app/drydocks"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/run"
	"cyberagent/ports"
)

type clock struct{}

func (clock) Now() time.Time       { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
func (clock) Boot() lifecycle.Boot { return lifecycle.Boot{} }

type ids struct {
	mu sync.Mutex
	n  int
}

func (i *ids) New(k id.Kind) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.n++
	return id.Format(k, fmt.Sprintf("%026d", i.n))
}

var source = drydock.Source{
	TopLevel: "/src", CommonDir: "/src/.git", ObjectFormat: "sha1", HeadCommit: strings.Repeat("a", 40),
	Dirty: drydock.Dirty{Paths: []string{}}, Notices: []string{},
}

// world is one source and a place for its Drydock. It makes it for each caller when
// all of them are there.
type world struct {
	ports.Worktrees
	all *sync.WaitGroup
}

func (w world) Inspect(context.Context, string) (drydock.Source, error) { return source, nil }

func (w world) Create(_ context.Context, d id.Drydock, _ id.Checkpoint, _ drydock.Source) (drydock.Place, drydock.Capture, error) {
	w.all.Done()
	w.all.Wait()
	return drydock.Place{
			Root: "/home/drydocks/" + string(d) + "/tree", Shadow: "/home/shadow", CommonDir: "/src/.git", Branch: "b",
			RootID: isolation.FileID{Dev: 1, Inode: 2}, ControlID: isolation.FileID{Dev: 1, Inode: 3},
			ControlSHA256: strings.Repeat("c", 64), Access: drydock.AccessOwner,
		}, drydock.Capture{
			Commit: strings.Repeat("d", 40), Tree: strings.Repeat("e", 40), IndexSHA256: strings.Repeat("f", 64), Entries: 1, Bytes: 1, Excluded: []drydock.Excluded{},
		}, nil
}

func service(t *testing.T, callers int) (*drydocks.Service, id.Run) {
	t.Helper()
	w := world{all: new(sync.WaitGroup)}
	w.all.Add(callers)
	s := &drydocks.Service{Ledger: ledgertest.Open(t), Sources: w, Worktrees: w, Clock: clock{}, IDs: &ids{}}
	rid := id.Run(s.IDs.New(id.KindRun))
	r, err := run.New(rid, "a test", "/src", s.Clock.Now())
	if err == nil {
		err = s.Ledger.Write(t.Context(), func(rec ports.Records) error { return rec.AddRun(r) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, rid
}

func TestCreate_CallsAtTheSameTimeGetTheOneDrydock(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]func(n int) string{
		"with keys of their own": func(n int) string { return fmt.Sprint("create-", n) },
		"with the same key":      func(int) string { return "create" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const callers = 3
			s, rid := service(t, callers)
			views, errs := make([]drydocks.View, callers), make([]error, callers)
			var all sync.WaitGroup
			for n := range callers {
				all.Go(func() {
					views[n], errs[n] = s.Create(t.Context(), drydocks.CreateInput{Run: rid, TrustDigest: source.TrustDigest(), OperationKey: key(n)})
				})
			}
			all.Wait()
			for n, v := range views {
				if errs[n] != nil || v.DrydockID != views[0].DrydockID || v.Status != drydock.Ready || v.Generation != 1 {
					t.Errorf("caller %d: %v, %+v", n, errs[n], v)
				}
			}
			// Each key answers from now on.
			for n := range callers {
				v, err := s.Create(t.Context(), drydocks.CreateInput{Run: rid, TrustDigest: source.TrustDigest(), OperationKey: key(n)})
				if err != nil || !v.Replayed || v.DrydockID != views[0].DrydockID {
					t.Errorf("key %d again: %v, %+v", n, err, v)
				}
			}
		})
	}
}

func TestARunWithoutADrydockIsToldHowToGetOne(t *testing.T) {
	t.Parallel()
	s, rid := service(t, 0)
	want := "cyberagent drydock create " + string(rid)
	for name, call := range map[string]func() error{
		"status": func() error { _, err := s.Status(t.Context(), rid); return err },
		"use":    func() error { _, err := s.Use(t.Context(), rid); return err },
		"log":    func() error { _, err := s.Log(t.Context(), rid); return err },
		"checkpoint": func() error {
			_, err := s.Checkpoint(t.Context(), drydocks.CheckpointInput{Run: rid, OperationKey: "k"})
			return err
		},
		"diff": func() error { _, err := s.Diff(t.Context(), drydocks.DiffInput{Run: rid}, nil); return err },
	} {
		err := call()
		if e := fault.From(err); !errors.Is(err, fault.NotFound) || !strings.Contains(e.Remedy, want) {
			t.Errorf("%s: %v, what to do: %s", name, err, e.Remedy)
		}
	}
}
