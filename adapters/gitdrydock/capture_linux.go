package gitdrydock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
)

// Capture implements ports.Worktrees.
func (d *Drydocks) Capture(ctx context.Context, p drydock.Place, parent, next id.Checkpoint) (drydock.Capture, error) {
	c, err := d.child(ctx, p, parent, next)
	return c, edge(err)
}

func (d *Drydocks) child(ctx context.Context, p drydock.Place, parent, next id.Checkpoint) (drydock.Capture, error) {
	v, err := d.enter(ctx, p)
	if err != nil {
		return drydock.Capture{}, err
	}
	defer v.unlock()
	from, err := v.k.mustRef(v.format, parent)
	if err != nil {
		return drydock.Capture{}, err
	}
	done, err := v.k.readRef(v.format, next)
	if err != nil {
		return drydock.Capture{}, err
	}
	if done != "" {
		return v.replay(ctx, parent, next, done)
	}
	c, err := v.capture(ctx, captureWork{ref: next, parentID: parent, parent: from}, func() (*manifest, error) {
		return v.l.manifestOf(ctx, v.k, v.format, from)
	})
	if err != nil {
		return c, err
	}
	// A rewind that was cut off is over: the files were taken as they are.
	if err := os.Remove(v.k.file("rewind.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, fault.Wrap(fault.Internal, err, "the Drydock's own records cannot be written")
	}
	return c, nil
}

// captureWork names the Checkpoint to make and what it descends from.
type captureWork struct {
	ref      id.Checkpoint
	parentID id.Checkpoint
	parent   oid // none for the first
	base     oid // the base commit's tree, only for the first
	exact    bool
}

// capture walks, commits what changed, and keeps the cache. What changes in
// between is tried again a few times.
func (v visit) capture(ctx context.Context, w captureWork, before func() (*manifest, error)) (drydock.Capture, error) {
	v.k.sweep(w.ref)
	for try := 0; ; try++ {
		c, err := v.captureOnce(ctx, w, before)
		var moved *errChanged
		switch {
		case !errors.As(err, &moved):
			return c, err
		case try == 3:
			return c, unstable(moved)
		}
	}
}

func (v visit) captureOnce(ctx context.Context, w captureWork, prev func() (*manifest, error)) (drydock.Capture, error) {
	git := v.l.startImport(ctx, v.k)
	work, err := v.walk(ctx, w, prev)
	if err != nil {
		git.abandon()
		return drydock.Capture{}, err
	}
	commit, tree, err := v.commit(git, work)
	if err != nil {
		return drydock.Capture{}, err
	}
	v.compact(ctx)
	return work.record.capture(commit, tree, work.next.excluded), v.at("committed")
}

// commit records what was found, and the cache of it.
func (v visit) commit(git *importer, work commitWork) (commit, tree oid, err error) {
	cache := v.k.stageCache(work.next)
	commit, tree, err = git.commit(work)
	cache.finish(commit)
	return commit, tree, err
}

// walk finds what there is to commit.
func (v visit) walk(ctx context.Context, w captureWork, before func() (*manifest, error)) (commitWork, error) {
	prev, err := before()
	if err != nil {
		return commitWork{}, err
	}
	res, err := scan(ctx, v.k.tree, prev)
	if err != nil {
		return commitWork{}, err
	}
	if w.exact && len(res.changes) > 0 {
		return commitWork{}, foreign(res.changes[0])
	}
	if w.exact && len(res.next.excluded) > 0 {
		return commitWork{}, foreign(change{path: res.next.excluded[0].path, kind: drydock.Added})
	}
	if res.next.index, err = v.readIndex(prev.index); err != nil {
		return commitWork{}, err
	}
	r := record{Version: 1, Checkpoint: w.ref, Parent: w.parentID, IndexSHA256: res.next.index.sha256, Changed: counts(res.changes)}
	r.Files, r.Entries, r.Bytes = res.next.totals()
	return commitWork{
		ref: w.ref, parent: w.parent, base: w.base,
		prev: prev, next: res.next, changes: res.changes, record: r,
	}, v.at("captured")
}

// replay answers a repeated Capture: what was recorded, as long as the files
// are still those.
func (v visit) replay(ctx context.Context, parent, next id.Checkpoint, done oid) (drydock.Capture, error) {
	c, err := v.l.checkpoints(ctx, v.k, v.format, done)
	if err != nil {
		return drydock.Capture{}, err
	}
	changes, err := v.drift(ctx, done)
	if err != nil {
		return drydock.Capture{}, err
	}
	if len(changes) > 0 || c[0].Parent != parent {
		return drydock.Capture{}, fault.New(fault.OperationConflict, "Checkpoint %s already records other files", next).
			With("checkpoint", string(next)).Hint("make a new checkpoint")
	}
	return c[0].capture(), nil
}

// drift walks the tree and compares it with a commit. An excluded entry that
// came, went or became another kind is a difference too.
func (v visit) drift(ctx context.Context, commit oid) ([]drydock.Change, error) {
	prev, err := v.l.manifestOf(ctx, v.k, v.format, commit)
	if err != nil {
		return nil, err
	}
	res, err := scan(ctx, v.k.tree, prev)
	if err != nil {
		return nil, err
	}
	out := domainChanges(res.changes)
	if !slices.Equal(prev.excluded, res.next.excluded) {
		out = append(out, excludedChanges(prev.excluded, res.next.excluded)...)
		sortChanges(out)
	}
	if len(out) == 0 && res.refreshed {
		res.next.index = prev.index
		v.k.stageCache(res.next).finish(commit)
	}
	return out, nil
}

// Drift implements ports.Worktrees. The changes are sorted by path; one is
// always returned when there are any.
func (d *Drydocks) Drift(ctx context.Context, p drydock.Place, c id.Checkpoint, most int) (shown []drydock.Change, all int, err error) {
	v, err := d.enter(ctx, p)
	if err != nil {
		return nil, 0, edge(err)
	}
	defer v.unlock()
	commit, err := v.k.mustRef(v.format, c)
	if err != nil {
		return nil, 0, edge(err)
	}
	out, err := v.drift(ctx, commit)
	if err != nil {
		return nil, 0, edge(err)
	}
	return out[:min(len(out), max(most, 1))], len(out), nil
}
