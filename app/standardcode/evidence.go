package standardcode

import (
	"context"
	"errors"
	"fmt"
	"path"

	"cyberagent/app/engines"
	"cyberagent/domain/admission"
	"cyberagent/domain/canon"
	"cyberagent/domain/command"
	"cyberagent/domain/deps"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
	"cyberagent/domain/manifest"
	"cyberagent/ports"
)

// driftShown is how many drifted paths an answer names.
const driftShown = 10

// gather collects what the checks look at. Without every gate nothing outside
// the ledger is asked. An unreachable engine and a missing Drydock are evidence;
// an error is something that could not be found out.
func (s *Service) gather(ctx context.Context, r Request) (admission.Evidence, error) {
	e := admission.Evidence{Gates: r.Gates, Requested: r.requested(), AllowDesktop: s.Settings.AllowDesktop}
	dd := &admission.DrydockFacts{}
	err := s.Ledger.Read(ctx, func(rec ports.Records) error {
		found, err := rec.Run(r.Run)
		if err != nil {
			return err
		}
		e.Run = &found
		d, err := rec.DrydockOfRun(r.Run)
		if errors.Is(err, fault.NotFound) {
			// One that was cleaned is absent, and the answer says so.
			if d, err = rec.CleanedDrydockOfRun(r.Run); err == nil {
				dd.Drydock = d
			} else if errors.Is(err, fault.NotFound) {
				err = nil
			}
			return err
		}
		dd.Drydock, dd.Present = d, err == nil
		return err
	})
	if err != nil {
		return e, err
	}
	e.Drydock = dd
	if len(r.Gates.Missing()) > 0 {
		return e, nil
	}
	// The engine answers while the files are compared: neither looks at the other.
	engine := make(chan error, 1)
	go func() { engine <- s.gatherEngine(ctx, &e) }()
	files := s.gatherDrydock(ctx, dd)
	if err := <-engine; err != nil {
		return e, err
	}
	if files != nil {
		return e, files
	}
	err = s.gatherDependencies(ctx, &e, r.Command)
	return e, err
}

// gatherDependencies reads the lockfiles of the command's toolchain in its working
// directory or the nearest one above that has them.
func (s *Service) gatherDependencies(ctx context.Context, e *admission.Evidence, in command.Input) error {
	f := e.Drydock
	c, err := command.New(in)
	if err != nil || !f.Present || f.Drydock.Status != drydock.Ready || f.Drifted {
		return nil // other checks refuse
	}
	e.Dependencies = &deps.Need{Toolchain: c.Toolchain()}
	for dir := c.Workdir(); ; dir = path.Dir(dir) {
		files, err := s.Worktrees.ReadFiles(ctx, f.Drydock.Place, dir, deps.Files(c.Toolchain()), limits.LockfileBytes)
		if err != nil {
			return err
		}
		if deps.Anchored(c.Toolchain(), files) {
			*e.Dependencies = deps.Read(c.Toolchain(), files)
			e.Dependencies.Dir = dir
			return nil
		}
		if dir == "." || dir == "/" || dir == "" {
			return nil
		}
	}
}

func (s *Service) gatherEngine(ctx context.Context, e *admission.Evidence) error {
	engine, image, err := engines.Gather(ctx, s.Engine, s.Settings.ImageDigest(s.Engine.Engine(), e.Run.Workspace),
		s.Settings.ImageFrom, e.Run.Workspace)
	if err == nil {
		e.Engine, e.Image = &engine, &image
	}
	return err
}

// gatherDrydock compares the files with the Checkpoint, unless the record alone
// says that the Drydock is not ready.
func (s *Service) gatherDrydock(ctx context.Context, f *admission.DrydockFacts) error {
	if !f.Present || f.Drydock.Status != drydock.Ready {
		return nil
	}
	if err := s.Worktrees.Verify(ctx, f.Drydock.Place); err != nil {
		if !is(err, fault.IntegrityLost) {
			return err
		}
		f.Drifted, f.Drift = true, []string{err.Error()}
		return nil
	}
	changes, all, err := s.Worktrees.Drift(ctx, f.Drydock.Place, f.Drydock.Checkpoint, driftShown)
	if err != nil {
		if !is(err, fault.RecoveryRequired) {
			return err
		}
		f.Drifted, f.Drift = true, []string{err.Error()}
		return nil
	}
	for _, c := range changes {
		f.Drift = append(f.Drift, string(c.Kind)+" "+c.Path)
	}
	if more := all - len(changes); more > 0 {
		f.Drift = append(f.Drift, fmt.Sprintf("and %d more", more))
	}
	f.Drifted = len(changes) > 0
	return nil
}

// evidenceDigest identifies what was looked at, without host paths.
func evidenceDigest(e admission.Evidence) string {
	var dd any
	if e.Drydock != nil && e.Drydock.Present {
		dd = []any{e.Drydock.Drydock.BindingDigest(), string(e.Drydock.Drydock.Status), e.Drydock.Drifted}
	}
	var run any
	if e.Run != nil {
		run = []any{e.Run.ID, e.Run.Status, e.Run.Profile.Revision, e.Run.Permission.Revision}
	}
	return canon.Digest([]any{e.Gates, run, e.Engine, e.Image, dd, e.Requested, e.Dependencies, e.AllowDesktop})
}

// authority is the state that a preparation binds to, from complete evidence.
func authority(e admission.Evidence) manifest.Authority {
	d := e.Drydock.Drydock
	return manifest.Authority{
		Drydock: d.ID, Generation: d.Generation, Checkpoint: d.Checkpoint, BindingSHA256: d.BindingDigest(),
		ProfileRevision: e.Run.Profile.Revision, PermissionRevision: e.Run.Permission.Revision,
		Engine: e.Engine.Engine, ImageDigest: e.Image.Configured,
	}
}

// admitted gathers and refuses: what prepare and execute stand on.
func (s *Service) admitted(ctx context.Context, r Request) (admission.Evidence, error) {
	e, err := s.gather(ctx, r)
	if err != nil {
		return e, err
	}
	if err := admission.Error(admission.Evaluate(e)); err != nil {
		return e, err
	}
	if !e.Complete() {
		return e, fault.New(fault.Internal, "the evidence is not complete")
	}
	free, err := s.Meter.Free(ctx, e.Drydock.Drydock.Place.Root)
	if err != nil {
		return e, err
	}
	return e, headroom(free)
}

// headroom refuses a filesystem that could be filled (contract section 3).
func headroom(f drydock.Free) error {
	if f.Bytes >= limits.HeadroomBytes && (!f.InodesKnown || f.Inodes >= limits.HeadroomInodes) {
		return nil
	}
	return fault.New(fault.Headroom, "the Drydock's filesystem has %d MiB and %d inodes free; %d MiB and %d are needed",
		f.Bytes/limits.MiB, f.Inodes, limits.HeadroomBytes/limits.MiB, limits.HeadroomInodes).
		Hint("free space on the filesystem that holds the Drydocks")
}
