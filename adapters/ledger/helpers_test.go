package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cyberagent/domain/approval"
	"cyberagent/domain/canon"
	"cyberagent/domain/command"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/manifest"
	"cyberagent/domain/run"
	"cyberagent/ports"
)

// t0 is where the tests' clock stands.
var t0 = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// boot is a reading of the tests' boot clock.
func boot(since time.Duration) lifecycle.Boot {
	return lifecycle.Boot{ID: "b0b0b0b0-0000-4000-8000-000000000001", Since: since}
}

// name makes the n-th id of a kind.
func name[T ~string](k id.Kind, n int) T { return T(id.Format(k, fmt.Sprintf("%026d", n))) }

func hex64(c string) string  { return strings.Repeat(c, 64) }
func digest(c string) string { return "sha256:" + hex64(c) }

func open(t testing.TB, path string) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

// template makes a ledger's file once; copies of it are opened without
// migrations, and are one installation.
type template struct {
	sync.Once
	file []byte
}

func (m *template) open(t testing.TB, fill func(*Ledger)) *Ledger {
	t.Helper()
	m.Do(func() {
		path := filepath.Join(t.TempDir(), "ledger.db")
		l, err := Open(t.Context(), Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		fill(l)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if m.file, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	})
	path := filepath.Join(t.TempDir(), "ledger.db")
	if err := os.WriteFile(path, m.file, 0o600); err != nil {
		t.Fatal(err)
	}
	return open(t, path)
}

var empty, filled template

// fresh opens a new ledger of the newest schema.
func fresh(t testing.TB) *Ledger {
	t.Helper()
	return empty.open(t, func(*Ledger) {})
}

// write runs fn in a transaction and fails the test when it fails.
func write(t testing.TB, l *Ledger, fn func(ports.Records) error) {
	t.Helper()
	if err := l.Write(context.Background(), fn); err != nil {
		t.Fatalf("write: %v", err)
	}
}

// refused runs fn in a transaction and wants it to fail with code.
func refused(t testing.TB, l *Ledger, code fault.Code, fn func(ports.Records) error) {
	t.Helper()
	if err := l.Write(context.Background(), fn); !errors.Is(err, code) {
		t.Fatalf("got %v (%s), want %s", err, fault.CodeOf(err), code)
	}
}

// read returns what fn reads.
func read[T any](t testing.TB, l *Ledger, fn func(ports.Records) (T, error)) T {
	t.Helper()
	var v T
	err := l.Read(context.Background(), func(r ports.Records) error {
		var err error
		v, err = fn(r)
		return err
	})
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return v
}

// chain is one whole story, from a Run to an admission, with ids of number n.
type chain struct {
	run         run.Run
	drydock     drydock.Drydock
	checkpoint  drydock.Checkpoint
	preparation approval.Preparation
	approval    approval.Approval
	admission   lifecycle.Admission
	owner       id.Owner
}

func chainOf(t testing.TB, n int) chain {
	t.Helper()
	var c chain
	var err error
	at := t0.Add(time.Duration(n) * time.Second)
	if c.run, err = run.New(name[id.Run](id.KindRun, n), "fix the build", "/src/project", at); err != nil {
		t.Fatal(err)
	}
	c.drydock = drydock.Drydock{
		ID: name[id.Drydock](id.KindDrydock, n), Run: c.run.ID, Status: drydock.Ready, Generation: 1,
		Checkpoint: name[id.Checkpoint](id.KindCheckpoint, n),
		Source: drydock.Source{
			TopLevel: "/src/project", CommonDir: "/src/project/.git", ObjectFormat: "sha1",
			HeadCommit: strings.Repeat("a", 40), HeadBranch: "main", Entries: 3, Bytes: 99,
			Dirty: drydock.Dirty{Modified: 1, Paths: []string{"it's"}}, Notices: []string{"a submodule stays empty"},
		},
		Place: drydock.Place{
			Root: fmt.Sprintf("/home/op/.cyberagent/drydocks/d%d/tree", n), Shadow: "/home/op/.cyberagent/shadow.git",
			CommonDir: "/src/project/.git", Branch: "cyberagent/drydock/d",
			RootID:    isolation.FileID{Dev: 2049, Inode: 1<<63 + 5},
			ControlID: isolation.FileID{Dev: 1<<64 - 1, Inode: 7}, ControlSHA256: hex64("c"), Access: drydock.AccessOwner,
		},
		CreatedAt: at, UpdatedAt: at, ExpiresAt: at.Add(7 * 24 * time.Hour),
	}
	c.checkpoint = drydock.Checkpoint{
		ID: c.drydock.Checkpoint, Drydock: c.drydock.ID, Run: c.run.ID, Generation: 1, Origin: drydock.OriginCreate,
		Receipt: name[id.Receipt](id.KindReceipt, n),
		Capture: drydock.Capture{
			Commit: strings.Repeat("1", 40), Tree: strings.Repeat("2", 40), IndexSHA256: hex64("3"), Entries: 3, Bytes: 99,
			Changed:  drydock.Counts{Added: 3},
			Excluded: []drydock.Excluded{{Path: `"a\x00b"`, Reason: "fifo"}},
		},
		CreatedAt: at,
	}
	cmd, err := command.New(command.Input{Toolchain: "go", Args: []string{"test", "./..."}, Purpose: "does it work? 'yes'"})
	if err != nil {
		t.Fatal(err)
	}
	auth := manifest.Authority{
		Drydock: c.drydock.ID, Generation: 1, Checkpoint: c.checkpoint.ID, BindingSHA256: c.drydock.BindingDigest(),
		ProfileRevision: 1, PermissionRevision: 1, Engine: isolation.Docker, ImageDigest: digest("d"),
	}
	m := manifest.Compile(c.run.ID, cmd, isolation.StdinClosed, auth)
	enc, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	c.preparation = approval.Preparation{
		ID: name[id.Preparation](id.KindPreparation, n), Run: c.run.ID, ManifestSHA256: canon.SHA256(enc), Manifest: enc,
		CommandSHA256: cmd.Fingerprint(), Authority: auth, CreatedAt: at,
	}
	c.approval = approval.Propose(name[id.Approval](id.KindApproval, n), c.preparation, cmd, isolation.StdinClosed, at)
	c.admission = lifecycle.Admission{
		ID: name[id.Admission](id.KindAdmission, n), Run: c.run.ID, Preparation: c.preparation.ID, Approval: c.approval.ID,
		Permission: run.WorkspaceAccess, ManifestSHA256: c.preparation.ManifestSHA256, CommandSHA256: c.preparation.CommandSHA256,
		Authority: auth, ImageID: digest("e"), Stdin: isolation.StdinClosed, OperationKey: fmt.Sprintf("execute-%d", n), CreatedAt: at,
	}
	c.owner = name[id.Owner](id.KindOwner, n)
	return c
}

// prepared records the chain up to the pending approval.
func (c *chain) prepared(r ports.Records) error {
	return errors.Join(r.AddRun(c.run), r.AddDrydock(c.drydock), r.AddCheckpoint(c.checkpoint),
		r.AddPreparation(c.preparation), r.AddApproval(c.approval))
}

// approved records the chain up to the decision.
func (c *chain) approved(r ports.Records) error {
	if err := c.prepared(r); err != nil {
		return err
	}
	var err error
	if c.approval, err = c.approval.Review(approval.Approve, "ann", "fine", 0, c.approval.CreatedAt.Add(time.Second)); err != nil {
		return err
	}
	return r.AddDecision(c.approval)
}

// admitted records the chain up to the admission with its first lease.
func (c *chain) admitted(r ports.Records) error {
	if err := c.approved(r); err != nil {
		return err
	}
	return c.admit(r)
}

func (c *chain) admit(r ports.Records) error {
	used, err := c.approval.Consume(c.preparation.ID, c.admission.ID, c.approval.CreatedAt.Add(2*time.Second))
	if err != nil {
		return err
	}
	if err := errors.Join(r.AddAdmission(c.admission), r.AddConsumption(used)); err != nil {
		return err
	}
	_, err = r.TakeLease(c.admission.ID, c.owner, boot(time.Minute), false)
	return err
}

// entry is one entry of the chain's log.
func (c *chain) entry(e lifecycle.Event) lifecycle.Entry {
	return lifecycle.Entry{Admission: c.admission.ID, Event: e, Owner: c.owner, Generation: 1, Detail: map[string]string{"k": "v"}, At: t0}
}
