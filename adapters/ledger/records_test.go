package ledger

import (
	"errors"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/approval"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/result"
	"cyberagent/domain/run"
	"cyberagent/ports"
)

func TestGettersAnswerNotFoundAndNameTheId(t *testing.T) {
	t.Parallel()
	l := fresh(t)
	for what, get := range map[string]func(ports.Records, string) error{
		"run_1":  func(r ports.Records, s string) error { _, err := r.Run(id.Run(s)); return err },
		"dry_1":  func(r ports.Records, s string) error { _, err := r.Drydock(id.Drydock(s)); return err },
		"run_2":  func(r ports.Records, s string) error { _, err := r.DrydockOfRun(id.Run(s)); return err },
		"ckpt_1": func(r ports.Records, s string) error { _, err := r.Checkpoint(id.Checkpoint(s)); return err },
		"adm_1":  func(r ports.Records, s string) error { _, err := r.CheckpointOfAdmission(id.Admission(s)); return err },
		"prep_1": func(r ports.Records, s string) error { _, err := r.Preparation(id.Preparation(s)); return err },
		"appr_1": func(r ports.Records, s string) error { _, err := r.Approval(id.Approval(s)); return err },
		"prep_2": func(r ports.Records, s string) error {
			_, err := r.ApprovalOfPreparation(id.Preparation(s))
			return err
		},
		"adm_2": func(r ports.Records, s string) error { _, err := r.Admission(id.Admission(s)); return err },
		"prep_3": func(r ports.Records, s string) error {
			_, err := r.AdmissionOfPreparation(id.Preparation(s))
			return err
		},
		"adm_3": func(r ports.Records, s string) error { _, err := r.Receipts(id.Admission(s)); return err },
		"adm_4": func(r ports.Records, s string) error { _, err := r.Lease(id.Admission(s)); return err },
		"run_3": func(r ports.Records, s string) error { return r.SetRunStatus(id.Run(s), run.Paused, t0) },
		"key_1": func(r ports.Records, s string) error { return r.AnswerOperation("", "v", s, []byte("{}")) },
		"dry_2": func(r ports.Records, s string) error {
			return r.UpdateDrydock(drydock.Drydock{ID: id.Drydock(s), Generation: 1})
		},
	} {
		err := l.Write(t.Context(), func(r ports.Records) error { return get(r, what) })
		if !errors.Is(err, fault.NotFound) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, empty := range []func(ports.Records) (int, error){
		func(r ports.Records) (int, error) { v, err := r.ListRuns(9); return len(v), err },
		func(r ports.Records) (int, error) { v, err := r.ListDrydocks(); return len(v), err },
		func(r ports.Records) (int, error) { v, err := r.ListApprovals(""); return len(v), err },
		func(r ports.Records) (int, error) { v, err := r.ListAdmissions(""); return len(v), err },
		func(r ports.Records) (int, error) { v, err := r.Log("adm_1"); return len(v), err },
	} {
		if n := read(t, l, empty); n != 0 {
			t.Errorf("%d of nothing", n)
		}
	}
}

func TestAnOperationHappensOnce(t *testing.T) {
	t.Parallel()
	l := fresh(t)
	rid := name[id.Run](id.KindRun, 1)
	op := ports.Operation{Run: rid, Verb: "prepare", Key: "key-1", Intent: hex64("a"), At: t0}
	find := func(run id.Run, verb, key, intent string) *ports.Operation {
		return read(t, l, func(r ports.Records) (*ports.Operation, error) { return r.FindOperation(run, verb, key, intent) })
	}
	if got := find(rid, "prepare", "key-1", hex64("a")); got != nil {
		t.Fatalf("a new key: %+v", got)
	}
	write(t, l, func(r ports.Records) error { return r.AddOperation(op) })
	same(t, "under way", find(rid, "prepare", "key-1", hex64("a")), &op)
	refused(t, l, fault.OperationConflict, func(r ports.Records) error { return r.AddOperation(op) })
	refused(t, l, fault.OperationConflict, func(r ports.Records) error {
		_, err := r.FindOperation(rid, "prepare", "key-1", hex64("b"))
		return err
	})
	// The scope is run and verb.
	if find("", "prepare", "key-1", hex64("b")) != nil || find(rid, "execute", "key-1", hex64("b")) != nil {
		t.Error("the key leaked out of its scope")
	}
	answer := []byte("{\"bytes\":\"\x00\xff exactly\"}")
	refused(t, l, fault.Internal, func(r ports.Records) error { return r.AnswerOperation(rid, "prepare", "key-1", nil) })
	write(t, l, func(r ports.Records) error { return r.AnswerOperation(rid, "prepare", "key-1", answer) })
	op.Answer = answer
	same(t, "answered", find(rid, "prepare", "key-1", hex64("a")), &op)
	for _, again := range [][]byte{answer, []byte("{}")} {
		refused(t, l, fault.OperationConflict, func(r ports.Records) error { return r.AnswerOperation(rid, "prepare", "key-1", again) })
	}
	same(t, "still", find(rid, "prepare", "key-1", hex64("a")), &op)
}

func TestOperationKeysAreChecked(t *testing.T) {
	t.Parallel()
	l := fresh(t)
	for key, ok := range map[string]bool{
		"a": true, "A.b_c:d-9": true, strings.Repeat("k", 128): true,
		"": false, strings.Repeat("k", 129): false, "a b": false, "a/b": false, "a\nb": false, "ä": false, "a\x00": false, "a'b": false,
	} {
		add := func(r ports.Records) error {
			return r.AddOperation(ports.Operation{Verb: "v", Key: key, Intent: hex64("a"), At: t0})
		}
		find := func(r ports.Records) error { _, err := r.FindOperation("", "v", key, hex64("a")); return err }
		if ok {
			write(t, l, add)
			write(t, l, find)
			continue
		}
		refused(t, l, fault.InvalidArgument, add)
		refused(t, l, fault.InvalidArgument, find)
		if err := l.Write(t.Context(), find); fault.From(err).Field != "operation_key" {
			t.Errorf("%q: field %q", key, fault.From(err).Field)
		}
	}
}

func TestARunsSnapshotsAndStatusFollowTheirRules(t *testing.T) {
	t.Parallel()
	l, c := fresh(t), chainOf(t, 1)
	write(t, l, c.prepared)
	later := t0.Add(time.Hour)
	write(t, l, func(r ports.Records) error {
		return errors.Join(
			r.AddProfile(c.run.ID, run.ProfileSnapshot{Revision: 2, Profile: run.ProfileDocker, At: later}),
			r.AddPermission(c.run.ID, run.PermissionSnapshot{Revision: 2, Permission: run.WorkspaceAccess, At: later}))
	})
	got := read(t, l, func(r ports.Records) (run.Run, error) { return r.Run(c.run.ID) })
	if got.Profile.Profile != run.ProfileDocker || got.Permission.Revision != 2 || !got.Permission.At.Equal(later) {
		t.Errorf("%+v", got)
	}
	for _, revision := range []int64{0, 1, 2, 4} {
		refused(t, l, fault.OperationConflict, func(r ports.Records) error {
			return r.AddProfile(c.run.ID, run.ProfileSnapshot{Revision: revision, Profile: run.ProfileNone, At: later})
		})
	}
	refused(t, l, fault.NotFound, func(r ports.Records) error {
		return r.AddPermission(name[id.Run](id.KindRun, 9), run.PermissionSnapshot{Revision: 1, Permission: run.Debug, At: later})
	})
	refused(t, l, fault.OperationConflict, func(r ports.Records) error { return r.AddRun(c.run) })

	status := func(s run.Status) func(ports.Records) error {
		return func(r ports.Records) error { return r.SetRunStatus(c.run.ID, s, later) }
	}
	write(t, l, status(run.Paused))
	write(t, l, status(run.Paused))
	write(t, l, status(run.Closed))
	if got := read(t, l, func(r ports.Records) (run.Run, error) { return r.Run(c.run.ID) }); got.Status != run.Closed || !got.UpdatedAt.Equal(later) {
		t.Errorf("%+v", got)
	}
	refused(t, l, fault.RunNotEligible, status(run.Active))
}

func TestADrydockIsWrittenOnlyOverTheGenerationBefore(t *testing.T) {
	t.Parallel()
	l, c := fresh(t), chainOf(t, 1)
	preparing := c.drydock
	preparing.Status, preparing.Generation, preparing.Checkpoint, preparing.Place = drydock.Preparing, 0, "", drydock.Place{}
	write(t, l, func(r ports.Records) error { return errors.Join(r.AddRun(c.run), r.AddDrydock(preparing)) })
	same(t, "preparing", read(t, l, func(r ports.Records) (drydock.Drydock, error) { return r.Drydock(preparing.ID) }), preparing)
	// In either order within one transaction.
	write(t, l, func(r ports.Records) error {
		return errors.Join(r.UpdateDrydock(c.drydock), r.AddCheckpoint(c.checkpoint))
	})
	same(t, "ready", read(t, l, func(r ports.Records) (drydock.Drydock, error) { return r.Drydock(preparing.ID) }), c.drydock)

	for _, generation := range []int64{0, 1, 3, 9} {
		d := c.drydock
		d.Generation = generation
		refused(t, l, fault.GenerationStale, func(r ports.Records) error { return r.UpdateDrydock(d) })
	}
	quarantined := c.drydock.Quarantine("the mask vanished", t0.Add(time.Second))
	write(t, l, func(r ports.Records) error { return r.UpdateDrydock(quarantined) })
	same(t, "quarantined", read(t, l, func(r ports.Records) (drydock.Drydock, error) { return r.DrydockOfRun(c.run.ID) }), quarantined)
	refused(t, l, fault.GenerationStale, func(r ports.Records) error { return r.UpdateDrydock(quarantined) })
	moved := quarantined
	moved.Generation++
	moved.Source.HeadCommit = strings.Repeat("b", 40)
	refused(t, l, fault.OperationConflict, func(r ports.Records) error { return r.UpdateDrydock(moved) })
	gone := c.drydock.Advance(name[id.Checkpoint](id.KindCheckpoint, 9), t0)
	gone.Generation = 3
	if err := l.Write(t.Context(), func(r ports.Records) error { return r.UpdateDrydock(gone) }); !errors.Is(err, fault.NotFound) {
		t.Errorf("a Checkpoint that is never recorded: %v", err)
	}
	write(t, l, func(r ports.Records) error { return r.UpdateDrydock(quarantined.Quarantine("again", t0)) })
}

func TestDrydocksThatAreCleanedAreNeitherListedNorInTheWay(t *testing.T) {
	t.Parallel()
	l, c := fresh(t), chainOf(t, 1)
	write(t, l, c.prepared)
	second := c.drydock
	second.ID, second.CreatedAt, second.Checkpoint, second.Generation = name[id.Drydock](id.KindDrydock, 2), t0.Add(time.Hour), "", 0
	refused(t, l, fault.OperationConflict, func(r ports.Records) error { return r.AddDrydock(second) }) // the same root
	refused(t, l, fault.NotFound, func(r ports.Records) error { _, err := r.CleanedDrydockOfRun(c.run.ID); return err })
	cleaned := c.drydock
	cleaned.Generation, cleaned.Status = 2, drydock.Cleaned
	write(t, l, func(r ports.Records) error { return errors.Join(r.UpdateDrydock(cleaned), r.AddDrydock(second)) })
	same(t, "newest", read(t, l, func(r ports.Records) (drydock.Drydock, error) { return r.DrydockOfRun(c.run.ID) }), second)
	same(t, "list", read(t, l, func(r ports.Records) ([]drydock.Drydock, error) { return r.ListDrydocks() }), []drydock.Drydock{second})
	same(t, "by id", read(t, l, func(r ports.Records) (drydock.Drydock, error) { return r.Drydock(c.drydock.ID) }), cleaned)
	same(t, "cleaned", read(t, l, func(r ports.Records) (drydock.Drydock, error) { return r.CleanedDrydockOfRun(c.run.ID) }), cleaned)
}

func TestNamesThatAreNotUTF8AreRefusedRatherThanChanged(t *testing.T) {
	t.Parallel()
	l, c := fresh(t), chainOf(t, 1)
	for _, bad := range []string{"/src/\xff", "/src/\x00"} {
		r1 := c.run
		r1.Workspace = bad
		refused(t, l, fault.InvalidArgument, func(r ports.Records) error { return r.AddRun(r1) })
		d := c.drydock
		d.Place.Root = bad
		refused(t, l, fault.InvalidArgument, func(r ports.Records) error { return errors.Join(r.AddRun(c.run), r.AddDrydock(d)) })
	}
	c.run.Workspace = `/src/it's "☂" \ ? ?0 %s`
	write(t, l, func(r ports.Records) error { return r.AddRun(c.run) })
	same(t, "run", read(t, l, func(r ports.Records) (run.Run, error) { return r.Run(c.run.ID) }), c.run)
}

func TestAnApprovalIsDecidedRevokedAndUsedOnce(t *testing.T) {
	t.Parallel()
	l, c := fresh(t), chainOf(t, 1)
	pending := c.approval
	write(t, l, c.approved)
	refused(t, l, fault.OperationConflict, func(r ports.Records) error { return r.AddDecision(c.approval) })
	denied, err := pending.Review(approval.Deny, "eve", "no", 0, t0.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	refused(t, l, fault.OperationConflict, func(r ports.Records) error { return r.AddDecision(denied) })
	refused(t, l, fault.OperationConflict, func(r ports.Records) error { return r.AddApproval(pending) })
	for what, add := range map[string]func(ports.Records) error{
		"request":     func(r ports.Records) error { return r.AddRequest(pending) },
		"decision":    func(r ports.Records) error { return r.AddDecision(pending) },
		"revocation":  func(r ports.Records) error { return r.AddRevocation(pending) },
		"consumption": func(r ports.Records) error { return r.AddConsumption(pending) },
	} {
		t.Run("a "+what+" that did not happen", func(t *testing.T) { refused(t, l, fault.Internal, add) })
	}
	write(t, l, c.admit)
	used := read(t, l, func(r ports.Records) (approval.Approval, error) { return r.Approval(c.approval.ID) })
	refused(t, l, fault.OperationConflict, func(r ports.Records) error { return r.AddConsumption(used) })
	again := c.admission
	again.ID = name[id.Admission](id.KindAdmission, 9)
	refused(t, l, fault.ApprovalConsumed, func(r ports.Records) error { return r.AddAdmission(again) })
	again.Preparation = name[id.Preparation](id.KindPreparation, 9)
	refused(t, l, fault.ApprovalConsumed, func(r ports.Records) error { return r.AddAdmission(again) })
}

func TestARevokedOrDeniedApprovalCannotBeConsumed(t *testing.T) {
	t.Parallel()
	for what, spoil := range map[string]func(ports.Records, *chain) error{
		"revoked": func(r ports.Records, c *chain) error {
			if err := c.approved(r); err != nil {
				return err
			}
			v, err := c.approval.Revoke(t0.Add(time.Second))
			if err != nil {
				return err
			}
			return r.AddRevocation(v)
		},
		"denied": func(r ports.Records, c *chain) error {
			if err := c.prepared(r); err != nil {
				return err
			}
			v, err := c.approval.Review(approval.Deny, "", "", 0, t0.Add(time.Second))
			if err != nil {
				return err
			}
			return r.AddDecision(v)
		},
		"pending": func(r ports.Records, c *chain) error { return c.prepared(r) },
	} {
		t.Run(what, func(t *testing.T) {
			l, c := fresh(t), chainOf(t, 1)
			write(t, l, func(r ports.Records) error { return spoil(r, &c) })
			// As if the domain had not looked.
			c.approval.ConsumedBy, c.approval.ConsumedAt = c.admission.ID, t0
			refused(t, l, fault.OperationConflict, func(r ports.Records) error {
				return errors.Join(r.AddAdmission(c.admission), r.AddConsumption(c.approval))
			})
		})
	}
}

func TestAConsumptionNeedsItsAdmission(t *testing.T) {
	t.Parallel()
	l, c := fresh(t), chainOf(t, 1)
	write(t, l, c.approved)
	c.approval.ConsumedBy, c.approval.ConsumedAt = c.admission.ID, t0
	refused(t, l, fault.NotFound, func(r ports.Records) error { return r.AddConsumption(c.approval) })
	// In either order within one transaction.
	write(t, l, func(r ports.Records) error {
		return errors.Join(r.AddConsumption(c.approval), r.AddAdmission(c.admission))
	})
}

func TestTheFirstCancellationAndTheFirstEndStay(t *testing.T) {
	t.Parallel()
	l, c := admittedLedger(t)
	if got := read(t, l, func(r ports.Records) (*lifecycle.Cancellation, error) { return r.Cancellation(c.admission.ID) }); got != nil {
		t.Errorf("%+v", got)
	}
	first := lifecycle.Cancellation{Admission: c.admission.ID, Reason: "enough", By: "ann", At: t0}
	second := lifecycle.Cancellation{Admission: c.admission.ID, Reason: "other", By: "bob", At: t0.Add(time.Hour)}
	write(t, l, func(r ports.Records) error { return r.AddCancellation(first) })
	write(t, l, func(r ports.Records) error { return r.AddCancellation(second) })
	same(t, "cancellation", read(t, l, func(r ports.Records) (*lifecycle.Cancellation, error) { return r.Cancellation(c.admission.ID) }), &first)

	end := ports.Receipts{
		Terminal: lifecycle.Finalized, Result: []byte("{}"), EndedAt: t0,
		Verdict: result.Verdict{Status: result.Cancelled, Reason: result.NeverStarted},
	}
	write(t, l, func(r ports.Records) error { return r.AddReceipts(c.admission.ID, end) })
	refused(t, l, fault.OperationConflict, func(r ports.Records) error { return r.AddReceipts(c.admission.ID, end) })
	same(t, "receipts", read(t, l, func(r ports.Records) (ports.Receipts, error) { return r.Receipts(c.admission.ID) }), end)
}

func TestListsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	l := fresh(t)
	for _, n := range []int{2, 1, 3} {
		c := chainOf(t, n)
		write(t, l, c.admitted)
	}
	type lists struct {
		runs, approvals, admissions, some []string
	}
	got := read(t, l, func(r ports.Records) (v lists, err error) {
		runs, err1 := r.ListRuns(2)
		for _, x := range runs {
			v.runs = append(v.runs, string(x.ID))
		}
		approvals, err2 := r.ListApprovals("")
		for _, x := range approvals {
			v.approvals = append(v.approvals, string(x.ID))
		}
		admissions, err3 := r.ListAdmissions("")
		for _, x := range admissions {
			v.admissions = append(v.admissions, string(x.ID))
		}
		some, err4 := r.ListApprovals(name[id.Run](id.KindRun, 2))
		for _, x := range some {
			v.some = append(v.some, string(x.ID))
		}
		return v, errors.Join(err1, err2, err3, err4)
	})
	ids := func(k id.Kind, n ...int) (out []string) {
		for _, i := range n {
			out = append(out, name[string](k, i))
		}
		return out
	}
	same(t, "lists", got, lists{
		ids(id.KindRun, 3, 2), ids(id.KindApproval, 3, 2, 1), ids(id.KindAdmission, 1, 2, 3), ids(id.KindApproval, 2),
	})
}

func TestEventsTellNoPathsAndNoImages(t *testing.T) {
	t.Parallel()
	l, c := fresh(t), chainOf(t, 1)
	write(t, l, c.prepared)
	told := map[string]string{
		"code": "drydock_drifted", "count": "12", "word": "it was cancelled", "id": string(c.admission.ID), "digest": hex64("a"), "empty": "",
	}
	untold := map[string]string{
		"path": "/home/op", "windows": `C:\x`, "image": digest("a"), "reference": "go@" + digest("a"), "tag": "registry.local/go:1",
		"output": "line\nline", "escape": "\x1b[31m", "wide": "ü", "long": strings.Repeat("a", 129),
	}
	for _, detail := range []map[string]string{told, untold, nil} {
		write(t, l, func(r ports.Records) error {
			return r.AddEvent(ports.Event{Run: c.run.ID, Kind: "run_created", Subject: string(c.run.ID), Detail: detail, At: t0})
		})
	}
	write(t, l, func(r ports.Records) error { return r.AddEvent(ports.Event{Kind: "fixture_built", At: t0}) })
	got := read(t, l, func(r ports.Records) ([]ports.Event, error) { return r.ListEvents(c.run.ID) })
	if len(got) != 3 {
		t.Fatalf("%d events", len(got))
	}
	same(t, "told", got[0], ports.Event{Run: c.run.ID, Kind: "run_created", Subject: string(c.run.ID), Detail: told, At: t0})
	for k, v := range got[1].Detail {
		if v != withheld {
			t.Errorf("%s tells %q", k, v)
		}
	}
	if n := len(read(t, l, func(r ports.Records) ([]ports.Event, error) { return r.ListEvents("") })); n != 1 {
		t.Errorf("%d events of no run", n)
	}
}
