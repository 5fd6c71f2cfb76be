package gitdrydock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"cyberagent/domain/canon"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
)

// remnant is what is left of one Drydock, with the proofs.
type remnant struct {
	v            visit
	worktree     bool
	registration string // empty when there is none that is ours
	branch, pin  bool   // refs that stand where creation put them
	// stop are doubts that forbid to touch anything; keep are about single things
	// that stay.
	stop, keep []drydock.Doubt
	// held says that one of them is a registration: git then needs what it names.
	held bool
}

// Survey implements ports.Remnants.
func (d *Drydocks) Survey(ctx context.Context, dd drydock.Drydock) (drydock.Remains, error) {
	r, err := d.remnant(ctx, dd)
	if err != nil {
		return drydock.Remains{}, edge(err)
	}
	defer r.close()
	return r.remains(ctx, dd), nil
}

func (r *remnant) close() {
	if r.v.lock != nil {
		r.v.unlock()
	}
}

// remains is the answer. Sizes are for people and not part of what is confirmed.
func (r *remnant) remains(ctx context.Context, dd drydock.Drydock) drydock.Remains {
	out := drydock.Remains{
		Worktree: r.worktree, Registration: r.registration != "", Branch: r.branch, Pin: r.pin,
		Kept: append(slices.Clone(r.stop), r.keep...), Untouched: len(r.stop) > 0,
	}
	if r.worktree {
		out.Content, _ = r.v.d.Usage(ctx, r.v.k.tree)
	}
	out.Shadow, _ = r.v.d.Usage(ctx, r.v.k.shadow)
	out.Digest = canon.Digest(struct {
		Drydock      id.Drydock      `json:"drydock"`
		Generation   int64           `json:"generation"`
		Worktree     bool            `json:"worktree"`
		Registration string          `json:"registration"`
		Refs         [2]bool         `json:"refs"`
		Kept         []drydock.Doubt `json:"kept"`
	}{dd.ID, dd.Generation, r.worktree, filepath.Base(r.registration), [2]bool{r.branch, r.pin}, out.Kept})
	return out
}

// remnant looks at everything that a Drydock has on this host, under its lock.
// The caller closes it.
func (d *Drydocks) remnant(ctx context.Context, dd drydock.Drydock) (*remnant, error) {
	l, err := d.open()
	if err != nil {
		return nil, err
	}
	if !id.Valid(id.KindDrydock, string(dd.ID)) {
		return nil, fault.New(fault.InvalidArgument, "%q is not the id of a Drydock", dd.ID).At("drydock")
	}
	r := &remnant{v: visit{d: d, l: l, k: l.dock(dd.ID)}}
	if r.v.format, err = parseFormat(dd.Source.ObjectFormat); err != nil {
		return nil, fault.Wrap(fault.RecoveryRequired, err, "the recorded source cannot be used")
	}
	r.v.in = intent{
		Drydock: dd.ID, CommonDir: dd.Source.CommonDir, HeadCommit: dd.Source.HeadCommit,
		Branch: "cyberagent/drydock/" + strings.ToLower(string(dd.ID)),
	}
	info, err := os.Lstat(r.v.k.dir)
	switch {
	case err == nil && !info.IsDir():
		r.stop = append(r.stop, drydock.Doubt{What: show(r.v.k.dir), Why: "it is not a directory"})
	case err == nil:
		if err := r.v.lockDock(ctx); err != nil {
			return nil, err
		}
		r.content(dd)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fault.Wrap(fault.Internal, err, "the Drydock's directory cannot be read")
	}
	if err := r.source(ctx); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// content proves that the worktree is the one that was recorded, or, when
// creation never recorded one, that the directory is of that very creation.
func (r *remnant) content(dd drydock.Drydock) {
	doubt := func(what, format string, a ...any) {
		r.stop = append(r.stop, drydock.Doubt{What: show(what), Why: fmt.Sprintf(format, a...)})
	}
	in, err := r.v.k.readIntent()
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		doubt(r.v.k.file("intent.json"), "it cannot be read")
	case in.Drydock != dd.ID || in.CommonDir != dd.Source.CommonDir || in.HeadCommit != dd.Source.HeadCommit:
		doubt(r.v.k.dir, "it belongs to another creation")
	}
	root, err := openRoot(r.v.k.tree)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	r.worktree = true
	if err != nil {
		doubt(r.v.k.tree, "it cannot be opened without following links")
		return
	}
	defer unix.Close(root)
	st, err := fstat(root)
	switch want := dd.Place.RootID; {
	case err != nil:
		doubt(r.v.k.tree, "it cannot be read")
	case dd.Place.Root != "" && dd.Place.Root != r.v.k.tree:
		doubt(r.v.k.tree, "it was recorded elsewhere")
	case dd.Place.Root != "" && fileID(st) != want:
		doubt(r.v.k.tree, "it is file %s, recorded was %s", fileID(st), want)
	case dd.Place.Root == "" && in.Drydock != dd.ID:
		doubt(r.v.k.tree, "nothing proves what made it")
	}
	mounts, err := mountsBelow(r.v.k.tree)
	if err != nil {
		doubt(r.v.k.tree, "the mounts beneath it cannot be read")
	}
	for _, m := range slices.Sorted(maps.Keys(mounts)) {
		doubt(join(r.v.k.tree, m), "something is mounted there")
	}
}

// source finds the registration and the refs in the source repository.
func (r *remnant) source(ctx context.Context) error {
	common := r.v.in.CommonDir
	if _, err := os.Lstat(common); errors.Is(err, fs.ErrNotExist) {
		return nil // all of it went with the repository
	}
	heads, err := filepath.Glob(filepath.Join(escapeGlob(common), "worktrees", "*", "HEAD"))
	if err != nil {
		return fault.Wrap(fault.Internal, err, "the source's worktrees cannot be listed")
	}
	all, err := filepath.Glob(filepath.Join(escapeGlob(common), "worktrees", "*", "gitdir"))
	if err != nil {
		return fault.Wrap(fault.Internal, err, "the source's worktrees cannot be listed")
	}
	for _, back := range all {
		dir := filepath.Dir(back)
		b, err := readRegular(back, controlMost)
		if err != nil || strings.TrimSpace(string(b)) != filepath.Join(r.v.k.tree, ".git") {
			continue
		}
		why, err := readRegular(filepath.Join(dir, "locked"), controlMost)
		_, atWork := os.Lstat(filepath.Join(dir, "index.lock"))
		hold := func(why string) {
			r.held = true
			r.keep = append(r.keep, drydock.Doubt{What: "the registration " + show(filepath.Base(dir)), Why: why})
		}
		switch {
		case err != nil || strings.TrimSpace(string(why)) != r.v.lockReason():
			hold("it has not the product's lock reason")
		case atWork == nil:
			hold("git is at work in it: its index is locked")
		case r.registration != "":
			hold("there is another one of the same worktree")
		default:
			r.registration = dir
		}
	}
	return r.refs(ctx, append(heads, filepath.Join(common, "HEAD")))
}

// refs finds those that still stand at the base commit and that no other
// worktree has checked out.
func (r *remnant) refs(ctx context.Context, heads []string) error {
	branch := "refs/heads/" + r.v.in.Branch
	out, err := r.v.source(ctx, "", "for-each-ref", "--format=%(refname) %(objectname)", branch, r.v.baseRef())
	if err != nil {
		return because(err, fault.New(fault.RecoveryRequired, "the source's refs cannot be read").
			Hint("check the source repository with git fsck"))
	}
	for line := range strings.Lines(string(out)) {
		ref, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		if commit != r.v.in.HeadCommit {
			r.keep = append(r.keep, drydock.Doubt{What: ref, Why: "it has commits of its own"})
			continue
		}
		if ref == r.v.baseRef() {
			r.pin = true
			continue
		}
		if other := r.checkedOut(heads, branch); other != "" {
			r.keep = append(r.keep, drydock.Doubt{What: ref, Why: "another worktree has it checked out: " + show(other)})
			continue
		}
		r.branch = true
	}
	return nil
}

func (r *remnant) checkedOut(heads []string, branch string) string {
	for _, h := range heads {
		if filepath.Dir(h) == r.registration {
			continue
		}
		if b, err := readRegular(h, controlMost); err == nil && strings.TrimSpace(string(b)) == "ref: "+branch {
			return filepath.Base(filepath.Dir(h))
		}
	}
	return ""
}

// Strays implements ports.Remnants.
func (d *Drydocks) Strays(_ context.Context, known []id.Drydock) ([]drydock.Doubt, error) {
	l, err := d.open()
	if err != nil {
		return nil, err
	}
	all, err := os.ReadDir(filepath.Join(l.home, "drydocks"))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "the Drydocks' directory cannot be read")
	}
	out := []drydock.Doubt{}
	for _, e := range all {
		if !slices.Contains(known, id.Drydock(e.Name())) {
			out = append(out, drydock.Doubt{What: show(filepath.Join(l.home, "drydocks", e.Name())), Why: "the ledger has no such Drydock"})
		}
	}
	return out, nil
}
