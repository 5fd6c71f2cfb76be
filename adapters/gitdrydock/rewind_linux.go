package gitdrydock

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
)

// Rewind implements ports.Rewinds.
func (d *Drydocks) Rewind(ctx context.Context, p drydock.Place, o drydock.RewindOrder, saved func(drydock.Capture) error) (drydock.Rewound, error) {
	v, err := d.enter(ctx, p)
	if err != nil {
		return drydock.Rewound{}, edge(err)
	}
	defer v.unlock()
	w, err := v.rewind(ctx, accessOf(p), o, saved)
	return w, edge(err)
}

func (v visit) rewind(ctx context.Context, a access, o drydock.RewindOrder, saved func(drydock.Capture) error) (drydock.Rewound, error) {
	m, err := v.k.readMarker()
	if err != nil {
		return drydock.Rewound{}, err
	}
	var r *restoration
	if m == nil || m.Next != o.Next {
		done, err := v.k.readRef(v.format, o.Next)
		if err != nil {
			return drydock.Rewound{}, err
		}
		if done != "" {
			return v.rewound(ctx, o, done)
		}
		if m, r, err = v.beginRewind(ctx, o, m != nil, saved); err != nil {
			return drydock.Rewound{}, err
		}
	}
	if r == nil {
		// Compared again, with the Checkpoint that the marker names.
		if r, err = v.between(ctx, m.Parent, m.Target); err != nil {
			return drydock.Rewound{}, err
		}
	}
	w := drydock.Rewound{}
	if w.Result, err = v.reach(ctx, a, captureWork{ref: o.Next, parentID: m.Parent, parent: r.from.commit}, r); err != nil {
		return w, err
	}
	if err := os.Remove(v.k.file("rewind.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return w, fault.Wrap(fault.Internal, err, "the Drydock's own records cannot be written")
	}
	if m.Parent == o.Saved {
		saved := r.from.capture()
		w.Saved = &saved
	}
	return w, v.at("rewound")
}

// beginRewind checks what was confirmed, keeps what is not recorded, says so, and
// leaves the marker without which no file is changed. The restoration is nil when the
// files must be compared with another Checkpoint than the current one.
func (v visit) beginRewind(ctx context.Context, o drydock.RewindOrder, interrupted bool, saved func(drydock.Capture) error) (*marker, *restoration, error) {
	m := &marker{Next: o.Next, Target: o.Target, Parent: o.Current}
	there, err := v.k.readRef(v.format, o.Saved)
	if err != nil {
		return nil, nil, err
	}
	var r *restoration
	var kept drydock.Capture
	if there != "" {
		c, err := v.named(ctx, o.Saved)
		if err != nil {
			return nil, nil, err
		}
		m.Parent, kept = o.Saved, c[0].capture()
	} else {
		if r, err = v.confirmed(ctx, o); err != nil {
			return nil, nil, err
		}
		if r.unrecorded() > 0 && !interrupted {
			kept, err = v.capture(ctx, captureWork{ref: o.Saved, parentID: o.Current, parent: r.from.commit}, func() (*manifest, error) {
				return v.l.manifestOf(ctx, v.k, v.format, r.from.commit)
			})
			if err != nil {
				return nil, nil, err
			}
			m.Parent, r = o.Saved, nil
		}
	}
	if m.Parent == o.Saved {
		if err := saved(kept); err != nil {
			return nil, nil, err
		}
	}
	if err := v.at("saved"); err != nil {
		return nil, nil, err
	}
	b, err := json.Marshal(m)
	if err == nil {
		err = writeAtomic(v.k.file("rewind.json"), b, true)
	}
	if err != nil {
		return nil, nil, fault.Wrap(fault.Internal, err, "the Drydock's own records cannot be written")
	}
	return m, r, v.at("marked")
}

// confirmed compares and refuses another state than the one that was shown.
func (v visit) confirmed(ctx context.Context, o drydock.RewindOrder) (*restoration, error) {
	r, err := v.between(ctx, o.Current, o.Target)
	if err != nil {
		return nil, err
	}
	if got := r.digest(o.Current, o.Target); got != o.Digest {
		return nil, fault.New(fault.TrustMismatch, "the files are not what was confirmed").At("confirm").
			Hint("look at the preview again and confirm its digest").With("digest", got)
	}
	if err := r.refuse(); err != nil {
		return nil, err
	}
	return r, nil
}

// refuse says why a restoration cannot be done.
func (r *restoration) refuse() error {
	if len(r.blocked) == 0 {
		return nil
	}
	x := r.blocked[0]
	return fault.New(fault.RecoveryRequired, "the entry %s (%s) stands where the target has something else", show(x.path), x.reason).
		With("path", show(x.path)).Hint("move it out of the Drydock: such an entry is never changed")
}

// rewound answers a Rewind that was complete before.
func (v visit) rewound(ctx context.Context, o drydock.RewindOrder, done oid) (drydock.Rewound, error) {
	list, err := v.l.checkpoints(ctx, v.k, v.format, done)
	if err != nil {
		return drydock.Rewound{}, err
	}
	c, err := v.replay(ctx, list[0].Parent, o.Next, done)
	if err != nil {
		return drydock.Rewound{}, err
	}
	w := drydock.Rewound{Result: c}
	if list[0].Parent == o.Saved {
		saved, err := v.named(ctx, o.Saved)
		if err != nil {
			return drydock.Rewound{}, err
		}
		c := saved[0].capture()
		w.Saved = &c
	}
	return w, nil
}

// reach changes the files to a goal and records them as a child of the
// Checkpoint that they were compared with. They are read back before they are
// recorded.
func (v visit) reach(ctx context.Context, a access, w captureWork, r *restoration) (drydock.Capture, error) {
	done, err := v.k.readRef(v.format, w.ref)
	if err != nil {
		return drydock.Capture{}, err
	}
	if done != "" {
		return v.replay(ctx, w.parentID, w.ref, done)
	}
	if err := r.refuse(); err != nil {
		return drydock.Capture{}, err
	}
	if err := v.restore(ctx, a, r); err != nil {
		var moved *errChanged
		if errors.As(err, &moved) {
			return drydock.Capture{}, unstable(moved)
		}
		return drydock.Capture{}, err
	}
	v.k.sweep(w.ref)
	git := v.l.startImport(ctx, v.k)
	work, err := v.readBack(ctx, w, r)
	if err != nil {
		git.abandon()
		return drydock.Capture{}, err
	}
	commit, tree, err := v.commit(git, work)
	if err != nil {
		return drydock.Capture{}, err
	}
	if tree != r.goal.tree {
		return drydock.Capture{}, fault.New(fault.Internal, "the Checkpoint's tree is %s, wanted was %s", tree, r.goal.tree)
	}
	v.compact(ctx)
	return work.record.capture(commit, tree, work.next.excluded), v.at("recorded")
}

// readBack walks every directory that a restoration touched, and reads what was
// written. Nothing may differ from what was wanted, but for directories that
// stay for the excluded entries in them. The other directories were compared
// before; what somebody changes there meanwhile differs from the Checkpoint, and
// the next walk says so.
func (v visit) readBack(ctx context.Context, w captureWork, r *restoration) (commitWork, error) {
	res, err := scanIn(ctx, v.k.tree, r.expected, r.touched())
	if err != nil {
		return commitWork{}, err
	}
	for _, c := range res.changes {
		if !c.dir || c.kind != drydock.Added || !holdsExcluded(res.next.excluded, c.path) {
			return commitWork{}, unstable(&errChanged{c.path})
		}
	}
	if res.next.index, err = v.readIndex(r.now.next.index); err != nil {
		return commitWork{}, err
	}
	if res.next.index.sha256 != r.goal.indexSHA256 {
		return commitWork{}, fault.New(fault.RecoveryRequired, "the worktree's index changed while it was restored").
			Hint("stop what works in the Drydock, then repeat")
	}
	before := newManifest(v.format)
	before.dirs, before.excluded, before.index.sha256 = r.from.dirs, r.from.excluded, r.from.IndexSHA256
	rec := record{Version: 1, Checkpoint: w.ref, Parent: w.parentID, IndexSHA256: res.next.index.sha256, Changed: r.recorded}
	rec.Files, rec.Entries, rec.Bytes = res.next.totals()
	diffSorted(r.from.dirs, res.next.dirs, func(_ string, kind drydock.ChangeKind) {
		n := counts([]change{{kind: kind}})
		rec.Changed.Added, rec.Changed.Deleted = rec.Changed.Added+n.Added, rec.Changed.Deleted+n.Deleted
	})
	return commitWork{
		ref: w.ref, parent: w.parent, base: r.goal.tree, prev: before, next: res.next, record: rec,
	}, v.at("restored")
}

func holdsExcluded(list []excluded, dir string) bool {
	for _, x := range list {
		if d, _ := split(x.path); d == dir {
			return true
		}
	}
	return false
}

// changed counts how two sides differ.
func (v visit) changed(ctx context.Context, a, b side) (drydock.Counts, error) {
	var all []change
	err := v.diffTree(ctx, a, b, func(r io.Reader) error {
		return eachRaw(r, v.format, func(d rawDiff) { all = append(all, change{kind: d.kind}) })
	}, "--raw", "-z")
	if err != nil {
		return drydock.Counts{}, damaged(err)
	}
	diffSorted(a.dirs, b.dirs, func(_ string, kind drydock.ChangeKind) { all = append(all, change{kind: kind}) })
	return counts(all), nil
}

// Adopt implements ports.Rewinds. The objects are copied, so that the other
// Drydock may go.
func (d *Drydocks) Adopt(ctx context.Context, p drydock.Place, parent, next id.Checkpoint, from drydock.Place, target id.Checkpoint) (drydock.Capture, error) {
	v, err := d.enter(ctx, p)
	if err != nil {
		return drydock.Capture{}, edge(err)
	}
	defer v.unlock()
	c, err := v.adopt(ctx, accessOf(p), parent, next, from, target)
	return c, edge(err)
}

func (v visit) adopt(ctx context.Context, a access, parent, next id.Checkpoint, from drydock.Place, target id.Checkpoint) (drydock.Capture, error) {
	other, err := v.d.find(from)
	if err != nil {
		return drydock.Capture{}, err
	}
	if other.in.HeadCommit != v.in.HeadCommit || other.in.CommonDir != v.in.CommonDir {
		return drydock.Capture{}, fault.New(fault.InvalidArgument, "the two Drydocks have not the same base commit").At("checkpoint")
	}
	theirs, err := other.named(ctx, target)
	if err != nil {
		return drydock.Capture{}, err
	}
	if err := v.copyObjects(ctx, other, theirs[0].tree); err != nil {
		return drydock.Capture{}, err
	}
	if err := v.at("copied"); err != nil {
		return drydock.Capture{}, err
	}
	mine, err := v.named(ctx, parent)
	if err != nil {
		return drydock.Capture{}, err
	}
	r, err := v.restoration(ctx, mine[0].commit, func() (checkpoint, goal, error) {
		return mine[0], other.target(theirs[0]), nil
	})
	if err != nil {
		return drydock.Capture{}, err
	}
	return v.reach(ctx, a, captureWork{ref: next, parentID: parent, parent: mine[0].commit}, r)
}
