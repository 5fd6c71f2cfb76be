package drydock_test

import (
	"reflect"
	"testing"
	"time"

	"cyberagent/domain/canon"
	"cyberagent/domain/drydock"
	"cyberagent/domain/isolation"
)

var (
	noon  = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	later = noon.Add(time.Hour)
)

func ready() drydock.Drydock {
	return drydock.Drydock{
		ID: "dry_1", Run: "run_1", Status: "ready", Generation: 3, Checkpoint: "ckpt_1",
		Source: drydock.Source{TopLevel: "/src", CommonDir: "/src/.git", ObjectFormat: "sha1", HeadCommit: "c0ffee", HeadBranch: "main"},
		Place: drydock.Place{
			Root: "/home/op/root", Shadow: "/home/op/shadow", CommonDir: "/src/.git", Branch: "cyberagent/drydock/dry_1",
			RootID: isolation.FileID{Dev: 1, Inode: 2}, ControlID: isolation.FileID{Dev: 1, Inode: 3}, ControlSHA256: "abc", Access: "owner",
		},
		CreatedAt: noon, UpdatedAt: noon, ExpiresAt: later,
	}
}

func TestAdvanceIsTheNextGenerationAndReady(t *testing.T) {
	t.Parallel()
	for _, from := range []drydock.Status{"preparing", "ready", "recovery_required"} {
		d := ready()
		d.Status, d.Reason = from, "why"
		got := d.Advance("ckpt_2", later)
		want := ready()
		want.Generation, want.Checkpoint, want.UpdatedAt = 4, "ckpt_2", later
		if !reflect.DeepEqual(got, want) {
			t.Errorf("from %s: got %+v", from, got)
		}
		if d.Generation != 3 || d.Status != from {
			t.Errorf("from %s: the old value changed", from)
		}
	}
}

func TestTheFirstCheckpointIsGeneration1(t *testing.T) {
	t.Parallel()
	d := drydock.Drydock{Status: drydock.Preparing}.Advance("ckpt_1", noon)
	if d.Generation != 1 || d.Status != drydock.Ready {
		t.Errorf("got %+v", d)
	}
}

func TestQuarantineIsTheNextGenerationAndKeepsTheCheckpoint(t *testing.T) {
	t.Parallel()
	got := ready().Quarantine("the mask vanished", later)
	want := ready()
	want.Generation, want.Status, want.Reason, want.UpdatedAt = 4, "recovery_required", "the mask vanished", later
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if back := got.Advance("ckpt_2", later); back.Status != drydock.Ready || back.Reason != "" || back.Generation != 5 {
		t.Errorf("a confirmed Checkpoint left %+v", back)
	}
}

func TestBindingDigestIsThatOfTheCanonicalBinding(t *testing.T) {
	t.Parallel()
	const want = `{"base_commit":"c0ffee","checkpoint_id":"ckpt_1","control_sha256":"abc","drydock_id":"dry_1","generation":3,"run_id":"run_1"}`
	if got := ready().BindingDigest(); got != canon.SHA256([]byte(want)) {
		t.Errorf("got %s, want the digest of %s", got, want)
	}
}

func TestBindingDigestKnowsNoPath(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*drydock.Drydock){
		"root":            func(d *drydock.Drydock) { d.Place.Root = "/x" },
		"shadow":          func(d *drydock.Drydock) { d.Place.Shadow = "/x" },
		"common dir":      func(d *drydock.Drydock) { d.Place.CommonDir, d.Source.CommonDir = "/x", "/x" },
		"source":          func(d *drydock.Drydock) { d.Source.TopLevel = "/x" },
		"branch":          func(d *drydock.Drydock) { d.Place.Branch = "x" },
		"device or inode": func(d *drydock.Drydock) { d.Place.RootID.Inode, d.Place.ControlID.Dev = 9, 9 },
		"times":           func(d *drydock.Drydock) { d.CreatedAt, d.UpdatedAt, d.ExpiresAt = later, later, noon },
	} {
		d := ready()
		change(&d)
		if d.BindingDigest() != ready().BindingDigest() {
			t.Errorf("%s is part of the binding", name)
		}
	}
}

func TestBindingDigestNoticesTheState(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*drydock.Drydock){
		"Drydock":    func(d *drydock.Drydock) { d.ID = "dry_2" },
		"Run":        func(d *drydock.Drydock) { d.Run = "run_2" },
		"generation": func(d *drydock.Drydock) { d.Generation++ },
		"Checkpoint": func(d *drydock.Drydock) { d.Checkpoint = "ckpt_2" },
		"base":       func(d *drydock.Drydock) { d.Source.HeadCommit = "beef" },
		"control":    func(d *drydock.Drydock) { d.Place.ControlSHA256 = "def" },
		"quarantine": func(d *drydock.Drydock) { *d = d.Quarantine("x", later) },
		"checkpoint": func(d *drydock.Drydock) { *d = d.Advance("ckpt_1", later) },
	} {
		d := ready()
		change(&d)
		if d.BindingDigest() == ready().BindingDigest() {
			t.Errorf("%s is not part of the binding", name)
		}
	}
}

func TestTrustDigestNoticesEveryFactThatIsShown(t *testing.T) {
	t.Parallel()
	base := drydock.Source{
		TopLevel: "/src", CommonDir: "/src/.git", ObjectFormat: "sha1", HeadCommit: "c", HeadBranch: "main", Entries: 1, Bytes: 2,
		Dirty: drydock.Dirty{Modified: 1, Untracked: 1, Paths: []string{"a"}}, Notices: []string{"n"},
	}
	for name, change := range map[string]func(*drydock.Source){
		"top level":     func(s *drydock.Source) { s.TopLevel = "/x" },
		"common dir":    func(s *drydock.Source) { s.CommonDir = "/x" },
		"object format": func(s *drydock.Source) { s.ObjectFormat = "sha256" },
		"head commit":   func(s *drydock.Source) { s.HeadCommit = "d" },
		"head branch":   func(s *drydock.Source) { s.HeadBranch = "" },
		"entries":       func(s *drydock.Source) { s.Entries++ },
		"bytes":         func(s *drydock.Source) { s.Bytes++ },
		"modified":      func(s *drydock.Source) { s.Dirty.Modified++ },
		"untracked":     func(s *drydock.Source) { s.Dirty.Untracked++ },
		"paths":         func(s *drydock.Source) { s.Dirty.Paths = []string{"b"} },
		"notices":       func(s *drydock.Source) { s.Notices = nil },
	} {
		s := base
		change(&s)
		if s.TrustDigest() == base.TrustDigest() {
			t.Errorf("%s is not part of what is confirmed", name)
		}
	}
	if n := reflect.TypeFor[drydock.Source]().NumField() + reflect.TypeFor[drydock.Dirty]().NumField() - 1; n != 11 {
		t.Errorf("a Source has %d facts, this test knows 11", n)
	}
}

func TestCountsTotal(t *testing.T) {
	t.Parallel()
	if got := (drydock.Counts{Added: 1, Modified: 20, Deleted: 300}).Total(); got != 321 {
		t.Errorf("got %d", got)
	}
}
