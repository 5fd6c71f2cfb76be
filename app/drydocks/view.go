// Package drydocks holds the use cases of a Run's worktree, its whole life: create
// it in two steps, look at it, record a Checkpoint, show what changed, go back,
// fork, hand out a patch, restore access, clean up, and find out after a crash
// what there is.
//
// Every verb that changes something takes the Drydock out of use in the ledger
// before it touches a file, and gives it back in the transaction that records the
// result. In between it is recovery_required: nothing that was cut off is taken
// for done.
package drydocks

import (
	"context"
	"errors"
	"time"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/ports"
)

// Service is the use cases over their ports.
type Service struct {
	Ledger     ports.Ledger
	Sources    ports.Sources
	Worktrees  ports.Worktrees
	Rewinds    ports.Rewinds
	Deliveries ports.Deliveries
	Remnants   ports.Remnants
	Repairs    Repairer
	Clock      ports.Clock
	IDs        ports.IDs
	// Fail is nil but where a test asks for a crash.
	Fail ports.FailPoints
}

// hit is a moment between two steps.
func (s *Service) hit(moment string) {
	if s.Fail != nil {
		s.Fail.Hit(moment)
	}
}

// Protocols of the answers.
const (
	SourceProtocol     = "drydock-source.v1"
	Protocol           = "drydock.v1"
	CheckpointProtocol = "drydock-checkpoint.v1"
	DiffProtocol       = "drydock-diff.v1"
	LogProtocol        = "drydock-log.v1"
)

// SourceView is the first step of create: what the Drydock would be made from.
// TrustDigest is what the second step confirms.
type SourceView struct {
	Protocol    string         `json:"protocol_version"`
	RunID       id.Run         `json:"run_id"`
	Source      drydock.Source `json:"source"`
	TrustDigest string         `json:"trust_digest"`
}

// View is a Drydock as it is shown.
type View struct {
	Protocol     string         `json:"protocol_version"`
	DrydockID    id.Drydock     `json:"drydock_id"`
	RunID        id.Run         `json:"run_id"`
	Status       drydock.Status `json:"status"`
	Reason       string         `json:"reason"`
	Generation   int64          `json:"generation"`
	CheckpointID id.Checkpoint  `json:"checkpoint_id"`
	BaseCommit   string         `json:"base_commit"`
	Branch       string         `json:"branch"`
	Path         string         `json:"path"`
	Access       drydock.Access `json:"access"`
	// Intact says that the root and its .git file are what was recorded.
	Intact      bool   `json:"intact"`
	IntactError string `json:"intact_error"`
	// Drift names the first entries that differ from the Checkpoint, of DriftTotal.
	Drift      []string     `json:"drift"`
	DriftTotal int          `json:"drift_total"`
	Running    id.Admission `json:"running_admission"`
	// Pending is the verb that was begun and has not ended, empty when there is
	// none; Cleaning says that the clean-up began, which only ends with it.
	Pending drydock.Verb `json:"pending"`
	// Advice is how to go on where it is not ready or something is under way.
	Advice   string `json:"advice"`
	Cleaning bool   `json:"cleanup_pending"`
	// CheckpointBytes is what the Checkpoints take on disk.
	CheckpointBytes int64 `json:"checkpoint_bytes"`
	// CleanedBy is the receipt of the clean-up of a Drydock that is cleaned: it was
	// at UpdatedAt, and nothing is at Path and Branch, which are empty.
	CleanedBy id.Receipt `json:"cleaned_by"`
	CreatedAt time.Time  `json:"created_at"`
	UpdatedAt time.Time  `json:"updated_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	// Expired says that its time is over.
	Expired  bool `json:"expired"`
	Replayed bool `json:"replayed"`
}

func view(d drydock.Drydock) View {
	return View{
		Protocol: Protocol, DrydockID: d.ID, RunID: d.Run, Status: d.Status, Reason: d.Reason,
		Generation: d.Generation, CheckpointID: d.Checkpoint, BaseCommit: d.Source.HeadCommit,
		Branch: d.Place.Branch, Path: d.Place.Root, Access: d.Place.Access, Intact: true, Drift: []string{},
		CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt, ExpiresAt: d.ExpiresAt,
	}
}

// CheckpointView is a Checkpoint as it is shown.
type CheckpointView struct {
	Protocol   string             `json:"protocol_version"`
	ID         id.Checkpoint      `json:"checkpoint_id"`
	DrydockID  id.Drydock         `json:"drydock_id"`
	RunID      id.Run             `json:"run_id"`
	Parent     id.Checkpoint      `json:"parent_id"`
	Generation int64              `json:"generation"`
	Origin     drydock.Origin     `json:"origin"`
	Admission  id.Admission       `json:"admission_id"`
	Commit     string             `json:"commit"`
	Entries    int64              `json:"entries"`
	Bytes      int64              `json:"bytes"`
	Changed    drydock.Counts     `json:"changed"`
	Excluded   []drydock.Excluded `json:"excluded"`
	CreatedAt  time.Time          `json:"created_at"`
	Replayed   bool               `json:"replayed"`
}

func checkpointView(c drydock.Checkpoint) CheckpointView {
	v := CheckpointView{
		Protocol: CheckpointProtocol, ID: c.ID, DrydockID: c.Drydock, RunID: c.Run, Parent: c.Parent,
		Generation: c.Generation, Origin: c.Origin, Admission: c.Admission, Commit: c.Capture.Commit,
		Entries: c.Capture.Entries, Bytes: c.Capture.Bytes, Changed: c.Capture.Changed,
		Excluded: c.Capture.Excluded, CreatedAt: c.CreatedAt,
	}
	if v.Excluded == nil {
		v.Excluded = []drydock.Excluded{}
	}
	return v
}

// current reads the Run's Drydock and the admission that may have a container on
// it.
func (s *Service) current(ctx context.Context, rid id.Run) (d drydock.Drydock, running id.Admission, err error) {
	err = s.Ledger.Read(ctx, func(rec ports.Records) error {
		st, err := readState(rec, rid)
		d, running = st.drydock, st.running
		return err
	})
	return d, running, err
}

// open returns the admission of a Run that is not final, or nothing.
func open(rec ports.Records, rid id.Run) (id.Admission, error) {
	all, err := rec.OpenAdmissions(rid)
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[0].ID, nil
}

// advice is how to go on, or nothing where it is ready and nobody is at work.
func (st state) advice() string {
	rid, p := string(st.drydock.Run), drydock.Pending(st.steps)
	take := "take the files as they are with `cyberagent drydock checkpoint " + rid + " --confirm`"
	switch {
	case drydock.Cleaning(st.steps):
		return "repeat `cyberagent drydock cleanup " + rid + "`"
	case p != nil && p.Verb == drydock.VerbRewind:
		return "repeat the rewind, or " + take
	case p != nil && p.Verb == drydock.VerbRepair:
		return "repeat `cyberagent drydock repair " + rid + "`"
	case st.running != "":
		return "wait for the command; if its process is gone: `cyberagent run standard-code recover " + rid + "`"
	case st.drydock.Status == drydock.RecoveryRequired:
		return "look at its files, then " + take
	case st.drydock.Status == drydock.Preparing:
		return "its creation was cut off: run `cyberagent drydock reconcile`"
	}
	return ""
}

// Status verifies the Drydock and compares its files with its Checkpoint,
// unless a command is using it. Of a Run whose Drydock is cleaned it says that.
func (s *Service) Status(ctx context.Context, rid id.Run) (View, error) {
	st, err := s.last(ctx, rid)
	if err != nil {
		return View{}, err
	}
	if st.drydock.Status == drydock.Cleaned {
		return cleanedView(st), nil
	}
	d, running := st.drydock, st.running
	v := view(d)
	v.Running, v.Cleaning, v.Advice = running, drydock.Cleaning(st.steps), st.advice()
	v.Expired = d.Expired(s.Clock.Now())
	if p := drydock.Pending(st.steps); p != nil {
		v.Pending = p.Verb
	}
	if d.Status == drydock.Preparing || v.Cleaning {
		return v, nil
	}
	if size, err := s.Remnants.History(ctx, d.Place); err == nil {
		v.CheckpointBytes = size.Bytes
	}
	if err := s.Worktrees.Verify(ctx, d.Place); err != nil {
		v.Intact, v.IntactError = false, err.Error()
		return v, nil
	}
	if running != "" {
		return v, nil
	}
	changes, all, err := s.Worktrees.Drift(ctx, d.Place, d.Checkpoint, driftShown)
	if errors.Is(err, fault.RecoveryRequired) {
		// Files that cannot be compared are not as recorded; the rest is shown.
		v.Drift = append(v.Drift, err.Error())
		return v, nil
	}
	if err != nil {
		return v, err
	}
	for _, c := range changes {
		v.Drift = append(v.Drift, string(c.Kind)+" "+c.Path)
	}
	v.DriftTotal = all
	return v, nil
}

// driftShown is how many drifted paths a status lists.
const driftShown = 20

// Use verifies the Drydock and returns where an operator or an agent's editor
// works on it. It refuses one that is not ready or that a command is using.
func (s *Service) Use(ctx context.Context, rid id.Run) (View, error) {
	st, err := s.state(ctx, rid)
	if err == nil {
		err = st.idle()
	}
	if err != nil {
		return View{}, err
	}
	d := st.drydock
	if !d.Whole() {
		return View{}, notReady(d)
	}
	if err := s.Worktrees.Verify(ctx, d.Place); err != nil {
		return View{}, err
	}
	return view(d), nil
}

func busy(a id.Admission) error {
	return fault.New(fault.InProgress, "command %s may still have a container on this Drydock", a).At("run").
		Hint("wait for it, or run `cyberagent run standard-code recover --admission %s`", a)
}

func notReady(d drydock.Drydock) error {
	return fault.New(fault.DrydockNotReady, "the Drydock is %s %s", d.Status, d.Reason).At("run").
		Hint("look at `cyberagent drydock status %s`", d.Run)
}
