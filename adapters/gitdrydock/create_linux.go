package gitdrydock

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/domain/canon"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
)

// made is place.json: the intent and what became of it. Its presence says that
// creation is complete.
type made struct {
	Intent   intent        `json:"intent"`
	HeadTree string        `json:"head_tree"`
	Place    drydock.Place `json:"place"`
}

// Create implements ports.Worktrees. Each step finds out by itself whether it
// was done before, so a repeated call goes on where a crash ended the first.
func (d *Drydocks) Create(ctx context.Context, did id.Drydock, first id.Checkpoint, src drydock.Source) (drydock.Place, drydock.Capture, error) {
	none := func(err error) (drydock.Place, drydock.Capture, error) {
		return drydock.Place{}, drydock.Capture{}, edge(err)
	}
	v, err := d.begin(ctx, did, first, src)
	if err != nil {
		return none(err)
	}
	defer v.unlock()
	if m, err := v.k.readMade(); err == nil {
		place, capture, err := v.finished(ctx, m)
		return place, capture, edge(err)
	}
	if err := checkLocal(v.k.dir); err != nil {
		return none(fault.Wrap(fault.Unsupported, err, "no Drydock can be made there").Hint("put the home directory on a local file system"))
	}
	a, err := chooseAccess(v.k.dir)
	if err != nil {
		return none(err)
	}
	if err := makeShadow(v.k.shadow, v.format, filepath.Join(src.CommonDir, "objects")); err != nil {
		return none(err)
	}
	base, err := v.l.survey(ctx, v.k.shadow, v.format, src.HeadCommit)
	if err != nil {
		return none(err)
	}
	if err := v.l.storeTrees(ctx, v.k, base); err != nil {
		return none(err)
	}
	if err := v.at("shadow"); err != nil {
		return none(err)
	}
	if err := v.register(ctx); err != nil {
		return none(err)
	}
	if err := v.writeTree(ctx, a, base); err != nil {
		return none(err)
	}
	if err := v.at("files"); err != nil {
		return none(err)
	}
	capture, err := v.firstCapture(ctx, base)
	if err != nil {
		return none(err)
	}
	place, err := v.place(a)
	if err != nil {
		return none(err)
	}
	b, err := json.Marshal(made{Intent: v.in, HeadTree: base.tree.String(), Place: place})
	if err == nil {
		err = writeAtomic(v.k.file("place.json"), b, true)
	}
	if err != nil {
		return none(fault.Wrap(fault.Internal, err, "the Drydock's own records cannot be written"))
	}
	return place, capture, v.at("placed")
}

// begin locks the Drydock's directory and writes the intent, or finds the same
// intent there.
func (d *Drydocks) begin(ctx context.Context, did id.Drydock, first id.Checkpoint, src drydock.Source) (visit, error) {
	l, err := d.open()
	if err != nil {
		return visit{}, err
	}
	if !id.Valid(id.KindDrydock, string(did)) || !id.Valid(id.KindCheckpoint, string(first)) {
		return visit{}, fault.New(fault.InvalidArgument, "%q and %q are not the ids of a Drydock and a Checkpoint", did, first).At("drydock")
	}
	f, err := parseFormat(src.ObjectFormat)
	if err == nil {
		_, err = f.parse(src.HeadCommit)
	}
	if err == nil {
		err = checkPlainPath(src.CommonDir)
	}
	if err == nil && !filepath.IsAbs(src.CommonDir) {
		err = errors.New("the common directory is not an absolute path")
	}
	if err != nil {
		return visit{}, fault.Wrap(fault.InvalidArgument, err, "the source's facts cannot be used").At("source")
	}
	v := visit{d: d, l: l, k: l.dock(did), format: f}
	v.in = intent{
		Version: 1, Drydock: did, Checkpoint: first, CommonDir: src.CommonDir,
		ObjectFormat: src.ObjectFormat, HeadCommit: src.HeadCommit,
		Branch: "cyberagent/drydock/" + strings.ToLower(string(did)),
	}
	if err := os.MkdirAll(v.k.dir, 0o700); err != nil {
		return visit{}, fault.Wrap(fault.Internal, err, "cannot make the Drydock's directory")
	}
	if err := v.lockDock(ctx); err != nil {
		return visit{}, err
	}
	if err := v.writeIntent(); err != nil {
		v.unlock()
		return visit{}, err
	}
	return v, nil
}

func (v visit) writeIntent() error {
	there, err := v.k.readIntent()
	switch {
	case err == nil && there == v.in:
		return nil
	case err == nil:
		return fault.New(fault.RecoveryRequired, "the directory of Drydock %s belongs to another creation", v.k.id).
			Hint("create a new Drydock")
	case !errors.Is(err, fs.ErrNotExist):
		return fault.Wrap(fault.RecoveryRequired, err, "the Drydock's own records cannot be read")
	}
	left, err := os.ReadDir(v.k.dir)
	if err != nil {
		return fault.Wrap(fault.Internal, err, "cannot read the Drydock's directory")
	}
	for _, e := range left {
		// A lock, and the temporary file of an intent that was never finished.
		if e.Name() != "lock" && !strings.HasPrefix(e.Name(), ".new-") {
			return fault.New(fault.RecoveryRequired, "the directory of Drydock %s holds %s, which creation did not make", v.k.id, show(e.Name())).
				Hint("create a new Drydock")
		}
	}
	b, err := json.Marshal(v.in)
	if err == nil {
		err = writeAtomic(v.k.file("intent.json"), b, true)
	}
	if err != nil {
		return fault.Wrap(fault.Internal, err, "the Drydock's own records cannot be written")
	}
	return v.at("intent")
}

func (k dock) readMade() (made, error) {
	var m made
	b, err := readRegular(k.file("place.json"), 64<<10)
	if err != nil {
		return m, err
	}
	err = json.Unmarshal(b, &m)
	return m, err
}

// finished answers a Create that was complete before.
func (v visit) finished(ctx context.Context, m made) (drydock.Place, drydock.Capture, error) {
	if _, err := verify(m.Place); err != nil {
		return drydock.Place{}, drydock.Capture{}, err
	}
	commit, err := v.k.mustRef(v.format, v.in.Checkpoint)
	if err != nil {
		return drydock.Place{}, drydock.Capture{}, err
	}
	c, err := v.l.checkpoints(ctx, v.k, v.format, commit)
	if err != nil {
		return drydock.Place{}, drydock.Capture{}, err
	}
	return m.Place, c[0].capture(), nil
}

// firstCapture reads back every file that was written: the first Checkpoint is
// the base commit's tree, or creation fails.
func (v visit) firstCapture(ctx context.Context, base *baseTree) (drydock.Capture, error) {
	done, err := v.k.readRef(v.format, v.in.Checkpoint)
	if err != nil {
		return drydock.Capture{}, err
	}
	if done != "" {
		return v.replay(ctx, "", v.in.Checkpoint, done)
	}
	// Let the last time stamps age, so that the cache may trust all of them.
	select {
	case <-ctx.Done():
		return drydock.Capture{}, ctx.Err()
	case <-time.After(racyWindow + 10*time.Millisecond):
	}
	work := captureWork{ref: v.in.Checkpoint, base: base.tree, exact: true}
	return v.capture(ctx, work, func() (*manifest, error) { return base.manifest(v.format), nil })
}

// place records what proves later that the Drydock is still the same.
func (v visit) place(a access) (drydock.Place, error) {
	p := drydock.Place{
		Root: v.k.tree, Shadow: v.k.shadow, CommonDir: v.in.CommonDir,
		Branch: v.in.Branch, Access: a.way,
	}
	root, err := openRoot(p.Root)
	if err != nil {
		return p, unreadable("", err)
	}
	defer unix.Close(root)
	st, err := fstat(root)
	if err != nil {
		return p, unreadable("", err)
	}
	control, controlID, err := readControl(root)
	if err != nil {
		return p, err
	}
	p.RootID, p.ControlID, p.ControlSHA256 = fileID(st), controlID, canon.SHA256(control)
	return p, nil
}
