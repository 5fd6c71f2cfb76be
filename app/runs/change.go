package runs

import (
	"context"
	"time"

	"cyberagent/app/operation"
	"cyberagent/domain/id"
	"cyberagent/domain/run"
	"cyberagent/ports"
)

// SetStatus pauses, resumes or closes a Run.
func (s *Service) SetStatus(ctx context.Context, rid id.Run, to run.Status, opKey string) (View, error) {
	return s.change(ctx, rid, "run.status", string(to), opKey, func(rec ports.Records, r run.Run, now time.Time) (run.Run, error) {
		next, err := r.Transition(to, now)
		if err != nil || next == r {
			return r, err
		}
		return next, rec.SetRunStatus(rid, to, now)
	})
}

// SetProfile appends a snapshot of the execution profile. The present one is left
// as it is: a revision ends every approval that was given before.
func (s *Service) SetProfile(ctx context.Context, rid id.Run, p run.Profile, opKey string) (View, error) {
	return s.change(ctx, rid, "run.profile", string(p), opKey, func(rec ports.Records, r run.Run, now time.Time) (run.Run, error) {
		if r.Profile.Profile == p {
			return r, nil
		}
		r.Profile = run.ProfileSnapshot{Revision: r.Profile.Revision + 1, Profile: p, At: now}
		return r, rec.AddProfile(rid, r.Profile)
	})
}

// SetPermission appends a snapshot of the permission, as SetProfile does.
func (s *Service) SetPermission(ctx context.Context, rid id.Run, p run.Permission, opKey string) (View, error) {
	return s.change(ctx, rid, "run.permission", string(p), opKey, func(rec ports.Records, r run.Run, now time.Time) (run.Run, error) {
		if r.Permission.Permission == p {
			return r, nil
		}
		r.Permission = run.PermissionSnapshot{Revision: r.Permission.Revision + 1, Permission: p, At: now}
		return r, rec.AddPermission(rid, r.Permission)
	})
}

// change loads the Run, applies one effect, and keeps both with the operation's
// answer and, when something changed, an event.
func (s *Service) change(ctx context.Context, rid id.Run, verb, to, opKey string,
	effect func(ports.Records, run.Run, time.Time) (run.Run, error),
) (View, error) {
	key, err := operation.NewKey(rid, verb, opKey, to)
	if err != nil {
		return View{}, err
	}
	now := s.Clock.Now()
	var v View
	replayed, err := s.once(ctx, key, now, &v, func(rec ports.Records) error {
		r, err := rec.Run(rid)
		if err != nil {
			return err
		}
		next, err := effect(rec, r, now)
		if err != nil {
			return err
		}
		v = view(next)
		if next == r {
			return nil
		}
		return rec.AddEvent(ports.Event{Run: rid, Kind: verb, Subject: string(rid), Detail: map[string]string{"to": to}, At: now})
	})
	v.Replayed = replayed
	return v, err
}
