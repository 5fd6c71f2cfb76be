// Package runs holds the use cases of Code Runs: create, read, and the changes
// that an operator makes to their status, execution profile and permission.
package runs

import (
	"context"
	"time"

	"cyberagent/app/operation"
	"cyberagent/domain/id"
	"cyberagent/domain/run"
	"cyberagent/ports"
)

// Service is the use cases over their ports.
type Service struct {
	Ledger  ports.Ledger
	Sources ports.Sources
	Clock   ports.Clock
	IDs     ports.IDs
}

// Protocol names the answer.
const Protocol = "code-run.v1"

// View is a Run as it is shown.
type View struct {
	Protocol           string         `json:"protocol_version"`
	RunID              id.Run         `json:"run_id"`
	Title              string         `json:"title"`
	Workspace          string         `json:"workspace"`
	Kind               run.Kind       `json:"kind"`
	Status             run.Status     `json:"status"`
	Profile            run.Profile    `json:"profile"`
	ProfileRevision    int64          `json:"profile_revision"`
	Permission         run.Permission `json:"permission"`
	PermissionRevision int64          `json:"permission_revision"`
	CreatedAt          time.Time      `json:"created_at"`
	UpdatedAt          time.Time      `json:"updated_at"`
	Replayed           bool           `json:"replayed"`
}

func view(r run.Run) View {
	return View{
		Protocol: Protocol, RunID: r.ID, Title: r.Title, Workspace: r.Workspace, Kind: r.Kind, Status: r.Status,
		Profile: r.Profile.Profile, ProfileRevision: r.Profile.Revision,
		Permission: r.Permission.Permission, PermissionRevision: r.Permission.Revision,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

// CreateInput asks for a Run on the repository that holds Workspace.
type CreateInput struct {
	Title, Workspace, OperationKey string
}

// Create makes an active Run without any authority: profile none, permission
// read_only. It returns invalid_argument, not_found or source_unsupported.
func (s *Service) Create(ctx context.Context, in CreateInput) (View, error) {
	src, err := s.Sources.Inspect(ctx, in.Workspace)
	if err != nil {
		return View{}, err
	}
	now := s.Clock.Now()
	r, err := run.New(id.Run(s.IDs.New(id.KindRun)), in.Title, src.TopLevel, now)
	if err != nil {
		return View{}, err
	}
	key, err := operation.NewKey("", "run.create", in.OperationKey, struct{ Title, Workspace string }{in.Title, src.TopLevel})
	if err != nil {
		return View{}, err
	}
	v := view(r)
	replayed, err := s.once(ctx, key, now, &v, func(rec ports.Records) error {
		if err := rec.AddRun(r); err != nil {
			return err
		}
		return rec.AddEvent(ports.Event{Run: r.ID, Kind: "run.created", Subject: string(r.ID), At: now})
	})
	v.Replayed = replayed
	return v, err
}

// Show returns one Run.
func (s *Service) Show(ctx context.Context, rid id.Run) (View, error) {
	var v View
	err := s.Ledger.Read(ctx, func(rec ports.Records) error {
		r, err := rec.Run(rid)
		v = view(r)
		return err
	})
	return v, err
}

// List returns the newest Runs, most at the most.
func (s *Service) List(ctx context.Context, most int) ([]View, error) {
	views := []View{}
	err := s.Ledger.Read(ctx, func(rec ports.Records) error {
		rs, err := rec.ListRuns(most)
		for _, r := range rs {
			views = append(views, view(r))
		}
		return err
	})
	return views, err
}

// History returns a Run's events, the oldest first.
func (s *Service) History(ctx context.Context, rid id.Run) ([]ports.Event, error) {
	var events []ports.Event
	err := s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
		if _, err = rec.Run(rid); err != nil {
			return err
		}
		events, err = rec.ListEvents(rid)
		return err
	})
	return events, err
}

func (s *Service) once(ctx context.Context, k operation.Key, now time.Time, v any, effect func(ports.Records) error) (bool, error) {
	return operation.Once(func(fn func(ports.Records) error) error { return s.Ledger.Write(ctx, fn) }, k, now, v, effect)
}
