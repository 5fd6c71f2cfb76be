package jobs_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cyberagent/adapters/host"
	"cyberagent/adapters/ledger"
	"cyberagent/adapters/ledger/ledgertest"
	"cyberagent/app/jobs"
	"cyberagent/app/standardcode"
	"cyberagent/domain/admission"
	"cyberagent/domain/approval"
	"cyberagent/domain/canon"
	"cyberagent/domain/command"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/job"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/manifest"
	"cyberagent/domain/result"
	"cyberagent/domain/run"
	"cyberagent/internal/cleantext"
	"cyberagent/ports"
)

// clock is the host's, and can be moved on.
type clock struct {
	host.Clock
	ahead atomic.Int64
}

func (c *clock) Boot() lifecycle.Boot {
	b := c.Clock.Boot()
	b.Since += time.Duration(c.ahead.Load())
	return b
}

// lab is a real ledger with Runs, and commands whose bodies the test writes.
type lab struct {
	*ledger.Ledger
	ids   host.IDs
	clock *clock
	locks *host.Locks
	svc   *jobs.Service
	runs  []id.Run
	// body is what an admitted command does; its result's status is returned.
	body func(ctx context.Context, in standardcode.ExecuteInput) (result.Status, []result.LogReceipt)
	// refuse is returned before an admission.
	refuse   error
	executed atomic.Int64
	prepared atomic.Int64
}

func newLab(t testing.TB, runs int) *lab {
	t.Helper()
	l := &lab{
		Ledger: ledgertest.Open(t), clock: new(clock), locks: host.NewLocks(filepath.Join(t.TempDir(), "owners")),
		body: func(context.Context, standardcode.ExecuteInput) (result.Status, []result.LogReceipt) {
			return result.Succeeded, nil
		},
	}
	l.svc = &jobs.Service{
		Commands: l, Ledger: l.Ledger, Clock: l.clock, IDs: l.ids, Locks: l.locks,
		Cleaner: func() jobs.Cleaner { return new(cleantext.Cleaner) },
	}
	for n := range runs {
		l.write(t, func(rec ports.Records) error { return l.addRun(rec, n) })
	}
	return l
}

func (l *lab) write(t testing.TB, fn func(ports.Records) error) {
	t.Helper()
	if err := l.Write(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

func hex64(c string) string { return strings.Repeat(c, 64) }

func (l *lab) addRun(rec ports.Records, n int) error {
	now := l.clock.Now()
	r, err := run.New(id.Run(l.ids.New(id.KindRun)), "a test", "/src", now)
	if err != nil {
		return err
	}
	if err := rec.AddRun(r); err != nil {
		return err
	}
	l.runs = append(l.runs, r.ID)
	d := drydock.Drydock{
		ID: id.Drydock(l.ids.New(id.KindDrydock)), Run: r.ID, Status: drydock.Ready, Generation: 1,
		Checkpoint: id.Checkpoint(l.ids.New(id.KindCheckpoint)),
		Source:     drydock.Source{TopLevel: "/src", CommonDir: "/src/.git", ObjectFormat: "sha1", HeadCommit: strings.Repeat("a", 40)},
		Place: drydock.Place{
			Root: fmt.Sprintf("/d/%d", n), Shadow: "/d/shadow", CommonDir: "/src/.git", Branch: "b",
			ControlSHA256: hex64("c"), Access: drydock.AccessOwner,
		},
		CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(time.Hour),
	}
	if err := rec.AddDrydock(d); err != nil {
		return err
	}
	return rec.AddCheckpoint(drydock.Checkpoint{
		ID: d.Checkpoint, Drydock: d.ID, Run: r.ID, Generation: 1, Origin: drydock.OriginCreate, Receipt: id.Receipt(l.ids.New(id.KindReceipt)),
		Capture: drydock.Capture{Commit: strings.Repeat("1", 40), Tree: strings.Repeat("2", 40), IndexSHA256: hex64("3")}, CreatedAt: now,
	})
}

// Prepare proposes as the real one does, without an engine.
func (l *lab) Prepare(ctx context.Context, r standardcode.Request, _ string) (standardcode.Preparation, error) {
	l.prepared.Add(1)
	c, err := command.New(r.Command)
	if err != nil {
		return standardcode.Preparation{}, err
	}
	var p approval.Preparation
	err = l.Write(ctx, func(rec ports.Records) error {
		d, err := rec.DrydockOfRun(r.Run)
		if err != nil {
			return err
		}
		auth := manifest.Authority{
			Drydock: d.ID, Generation: d.Generation, Checkpoint: d.Checkpoint, BindingSHA256: d.BindingDigest(),
			ProfileRevision: 1, PermissionRevision: 1, Engine: isolation.Docker, ImageDigest: "sha256:" + hex64("d"),
		}
		m := manifest.Compile(r.Run, c, r.Stdin, auth)
		enc, err := m.Encode()
		if err != nil {
			return err
		}
		p = approval.Preparation{
			ID: id.Preparation(l.ids.New(id.KindPreparation)), Run: r.Run, ManifestSHA256: canon.SHA256(enc), Manifest: enc,
			CommandSHA256: c.Fingerprint(), Authority: auth, CreatedAt: l.clock.Now(),
		}
		if err := rec.AddPreparation(p); err != nil {
			return err
		}
		return rec.AddApproval(approval.Propose(id.Approval(l.ids.New(id.KindApproval)), p, c, r.Stdin, l.clock.Now()))
	})
	return standardcode.Preparation{PreparationID: p.ID}, err
}

// Execute admits as the real one does, then runs the body.
func (l *lab) Execute(ctx context.Context, in standardcode.ExecuteInput) (standardcode.Result, *standardcode.Output, error) {
	l.executed.Add(1)
	if l.refuse != nil || ctx.Err() != nil {
		return standardcode.Result{}, nil, fault.Wrap(fault.GenerationStale, l.refuse, "refused")
	}
	adm := id.Admission(l.ids.New(id.KindAdmission))
	if err := l.Write(ctx, func(rec ports.Records) error {
		p, err := rec.Preparation(in.Preparation)
		if err != nil {
			return err
		}
		return rec.AddAdmission(lifecycle.Admission{
			ID: adm, Run: in.Run, Preparation: in.Preparation, Approval: in.Approval, Permission: run.WorkspaceAccess,
			ManifestSHA256: p.ManifestSHA256, CommandSHA256: p.CommandSHA256, Authority: p.Authority, ImageID: "sha256:" + hex64("e"),
			Stdin: in.Stdin, OperationKey: in.OperationKey, CreatedAt: l.clock.Now(),
		})
	}); err != nil {
		return standardcode.Result{}, nil, err
	}
	in.Admitted(adm)
	status, logs := l.body(ctx, in)
	return standardcode.Result{ExecutionID: adm, Status: status, ReasonCode: result.Exited, Artifacts: logs}, nil, nil
}

// approve decides a preparation.
func (l *lab) approve(t testing.TB, p id.Preparation) {
	t.Helper()
	l.write(t, func(rec ports.Records) error {
		a, err := rec.ApprovalOfPreparation(p)
		if err != nil {
			return err
		}
		if a, err = a.Review(approval.Approve, "ann", "fine", 0, l.clock.Now()); err != nil {
			return err
		}
		return rec.AddDecision(a)
	})
}

func (l *lab) open(t testing.TB, n int) *jobs.Manager {
	t.Helper()
	m, err := l.svc.Open(t.Context(), l.runs[n], admission.AllGates())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return m
}

func launch(purpose string) job.Launch {
	return job.Launch{Command: command.Input{Toolchain: "python", Args: []string{"-c", "pass"}, Purpose: purpose}, Stdin: isolation.StdinPipe}
}

// approved takes a launch through its approval.
func (l *lab) approved(t testing.TB, m *jobs.Manager, key string, in job.Launch) job.Launch {
	t.Helper()
	a, err := m.Start(t.Context(), key, in)
	if err != nil || a.Status != jobs.StatusApproval || a.Approval.Status != approval.Pending {
		t.Fatalf("%+v, %v", a, err)
	}
	l.approve(t, a.Approval.Preparation)
	in.Preparation, in.Approval = a.Approval.Preparation, a.Approval.Approval
	return in
}

// start takes a launch all the way to its Job.
func (l *lab) start(t testing.TB, m *jobs.Manager, key string, in job.Launch) *jobs.JobView {
	t.Helper()
	a, err := m.Start(t.Context(), key, l.approved(t, m, key, in))
	if err != nil || a.Job == nil {
		t.Fatalf("%+v, %v", a, err)
	}
	return a.Job
}

func wait(t testing.TB, m *jobs.Manager, j id.Job) *jobs.JobView {
	t.Helper()
	a, err := m.Wait(t.Context(), j, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return a.Job
}
