package approvals

import (
	"context"

	"cyberagent/domain/approval"
	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// Since is what differs from the last approval of the same Run, so that a
// reviewer need not look at everything again.
type Since struct {
	ApprovalID    id.Approval      `json:"approval_id"`
	PreparationID id.Preparation   `json:"preparation_id"`
	SameCommand   bool             `json:"same_command"`
	Engine        isolation.Engine `json:"engine"`       // that it was for
	ImageDigest   string           `json:"image_digest"` // that it was for
	CheckpointID  id.Checkpoint    `json:"checkpoint_id"`
	Changed       drydock.Counts   `json:"changed"`
	// Paths are the first of the changed files. FilesUnknown says that the
	// Checkpoints could not be compared.
	Paths        []SincePath `json:"paths"`
	FilesUnknown bool        `json:"files_unknown"`
}

// SincePath is one changed file; Path is quoted where it is not plain text.
type SincePath struct {
	Path string             `json:"path"`
	Kind drydock.ChangeKind `json:"kind"`
}

const sincePaths = 20

// lastApproved finds the newest earlier approval of the Run that was granted,
// whatever became of it.
func lastApproved(rec ports.Records, a approval.Approval) (*approval.Approval, approval.Preparation, error) {
	all, err := rec.ListApprovals(a.Run)
	if err != nil {
		return nil, approval.Preparation{}, err
	}
	for _, b := range all {
		if b.ID != a.ID && b.Decision == approval.Approve && b.CreatedAt.Before(a.CreatedAt) {
			p, err := rec.Preparation(b.Preparation)
			return &b, p, err
		}
	}
	return nil, approval.Preparation{}, nil
}

// since compares with the last approval; nil when there is none.
func (s *Service) since(ctx context.Context, a approval.Approval, p approval.Preparation) (*Since, error) {
	var last *approval.Approval
	var old approval.Preparation
	var place drydock.Place
	err := s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
		if last, old, err = lastApproved(rec, a); err != nil || last == nil {
			return err
		}
		d, err := rec.Drydock(p.Authority.Drydock)
		place = d.Place
		return err
	})
	if err != nil || last == nil {
		return nil, err
	}
	v := &Since{
		ApprovalID: last.ID, PreparationID: last.Preparation, SameCommand: old.CommandSHA256 == p.CommandSHA256,
		Engine: old.Authority.Engine, ImageDigest: old.Authority.ImageDigest, CheckpointID: old.Authority.Checkpoint, Paths: []SincePath{},
	}
	if old.Authority.Checkpoint == p.Authority.Checkpoint {
		return v, nil
	}
	if old.Authority.Drydock != p.Authority.Drydock {
		v.FilesUnknown = true // another Drydock: no Checkpoint in common
		return v, nil
	}
	changes, err := s.Worktrees.Changes(ctx, place, old.Authority.Checkpoint, p.Authority.Checkpoint)
	if err != nil {
		// A Checkpoint that is gone is no reason to hide the proposal.
		v.FilesUnknown = true
		return v, nil //nolint:nilerr // said in the answer
	}
	for i, c := range changes {
		switch c.Kind {
		case drydock.Added:
			v.Changed.Added++
		case drydock.Modified:
			v.Changed.Modified++
		case drydock.Deleted:
			v.Changed.Deleted++
		}
		if i < sincePaths {
			v.Paths = append(v.Paths, SincePath{c.Path, c.Kind})
		}
	}
	return v, nil
}
