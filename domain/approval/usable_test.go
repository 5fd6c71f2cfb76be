package approval_test

import (
	"strings"
	"testing"

	"cyberagent/domain/approval"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/manifest"
	"cyberagent/domain/run"
)

func TestUsable_WhatNeverComesBackIsRefused(t *testing.T) {
	t.Parallel()
	d := drydock.Drydock{ID: "dry_1", Run: "run_1", Status: drydock.Ready, Generation: 2, Checkpoint: "ckpt_2", UpdatedAt: noon}
	r := run.Run{
		ID: "run_1", Title: "t", Workspace: "/src", Status: run.Active,
		Profile: run.ProfileSnapshot{Revision: 2}, Permission: run.PermissionSnapshot{Revision: 3},
	}
	p := approval.Preparation{Run: "run_1", Authority: manifest.Authority{
		Drydock: "dry_1", Generation: 2, Checkpoint: "ckpt_2", BindingSHA256: d.BindingDigest(), ProfileRevision: 2, PermissionRevision: 3,
		Engine: "docker", ImageDigest: "sha256:1",
	}}
	for name, c := range map[string]struct {
		spoil func(r *run.Run, d *drydock.Drydock)
		code  fault.Code
		says  string
	}{
		"nothing changed":       {func(*run.Run, *drydock.Drydock) {}, "", ""},
		"a paused Run":          {func(r *run.Run, _ *drydock.Drydock) { r.Status = run.Paused }, "", ""},
		"a closed Run":          {func(r *run.Run, _ *drydock.Drydock) { r.Status = run.Closed }, "run_not_eligible", "cyberagent run create t --workspace /src"},
		"a cleaned Drydock":     {func(_ *run.Run, d *drydock.Drydock) { *d = d.Clean(noon) }, "drydock_not_ready", "cyberagent drydock create run_1"},
		"another Checkpoint":    {func(_ *run.Run, d *drydock.Drydock) { *d = d.Advance("ckpt_3", noon) }, "generation_stale", "cyberagent drydock status run_1"},
		"a quarantined Drydock": {func(_ *run.Run, d *drydock.Drydock) { *d = d.Quarantine("x", noon) }, "generation_stale", "generation 2, the Drydock is at 3"},
		"another profile":       {func(r *run.Run, _ *drydock.Drydock) { r.Profile.Revision++ }, "authority_drift", "profile_revision"},
		"another permission":    {func(r *run.Run, _ *drydock.Drydock) { r.Permission.Revision++ }, "authority_drift", "permission_revision"},
	} {
		r, d := r, d
		c.spoil(&r, &d)
		err := p.Usable(r, d)
		if fault.CodeOf(err) != c.code || err != nil && !strings.Contains(err.Error()+fault.From(err).Remedy, c.says) {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
}
