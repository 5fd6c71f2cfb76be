package ledger

import (
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/manifest"
)

// authorityColumns are the columns that preparations and admissions share.
type authorityColumns struct {
	DrydockID          string `bun:"drydock_id"`
	Generation         int64  `bun:"generation"`
	CheckpointID       string `bun:"checkpoint_id"`
	BindingSHA256      string `bun:"binding_sha256"`
	ProfileRevision    int64  `bun:"profile_revision"`
	PermissionRevision int64  `bun:"permission_revision"`
	Engine             string `bun:"engine"`
	ImageDigest        string `bun:"image_digest"`
}

func authorityOf(a manifest.Authority) authorityColumns {
	return authorityColumns{
		DrydockID: string(a.Drydock), Generation: a.Generation, CheckpointID: string(a.Checkpoint),
		BindingSHA256: a.BindingSHA256, ProfileRevision: a.ProfileRevision, PermissionRevision: a.PermissionRevision,
		Engine: string(a.Engine), ImageDigest: a.ImageDigest,
	}
}

func (c authorityColumns) value() manifest.Authority {
	return manifest.Authority{
		Drydock: id.Drydock(c.DrydockID), Generation: c.Generation, Checkpoint: id.Checkpoint(c.CheckpointID),
		BindingSHA256: c.BindingSHA256, ProfileRevision: c.ProfileRevision, PermissionRevision: c.PermissionRevision,
		Engine: isolation.Engine(c.Engine), ImageDigest: c.ImageDigest,
	}
}
