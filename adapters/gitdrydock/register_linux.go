package gitdrydock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cyberagent/domain/fault"
)

// lockReason is what git worktree list shows, and what proves to a later
// Create that a registration is its own.
func (v visit) lockReason() string { return "cyberagent drydock " + string(v.k.id) }

func (v visit) baseRef() string {
	return "refs/cyberagent/drydock/" + strings.ToLower(string(v.k.id)) + "/base"
}

// register makes the branch, the ref that pins the base commit, the worktree
// with its control file, and its index, under the source's lock.
func (v *visit) register(ctx context.Context) error {
	lock, err := lockFile(ctx, v.l.sourceLock(v.in.CommonDir))
	if err != nil {
		return err
	}
	without := v.l
	defer func() { v.l = without; _ = lock.Close() }()
	v.l = v.l.holding(lock)
	if err := v.makeRefs(ctx); err != nil {
		return err
	}
	if err := v.at("refs"); err != nil {
		return err
	}
	if v.registration, err = v.registered(ctx); err != nil {
		return err
	}
	if v.registration == "" {
		if err := v.addWorktree(ctx); err != nil {
			return err
		}
	}
	if err := v.at("worktree"); err != nil {
		return err
	}
	return v.makeIndex(ctx)
}

// source runs git in the source's common directory, never in a worktree.
func (v visit) source(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	return v.l.run(ctx, gitCall{gitDir: v.in.CommonDir, args: args, stdin: strings.NewReader(stdin)})
}

// makeRefs creates both refs in one transaction that fails if either exists.
// Then they must be exactly those that a creation that crashed has made.
func (v visit) makeRefs(ctx context.Context) error {
	branch := "refs/heads/" + v.in.Branch
	_, err := v.source(ctx, fmt.Sprintf("create %s %s\ncreate %s %s\n", branch, v.in.HeadCommit, v.baseRef(), v.in.HeadCommit),
		"update-ref", "--stdin")
	if err == nil {
		return nil
	}
	out, listErr := v.source(ctx, "", "for-each-ref", "--format=%(refname) %(objectname)", branch, v.baseRef())
	switch want := fmt.Sprintf("%s %s\n%s %s\n", v.baseRef(), v.in.HeadCommit, branch, v.in.HeadCommit); {
	case listErr != nil || len(out) == 0:
		return v.refFault(err)
	case string(out) != want:
		return fault.New(fault.RecoveryRequired, "the source has refs of Drydock %s that creation did not make", v.k.id).
			Hint("create a new Drydock")
	}
	return nil
}

func (v visit) refFault(err error) error {
	return because(err, fault.New(fault.SourceUnsupported, "the source's refs cannot be used").At("source").
		Hint("no branch may be named cyberagent or cyberagent/drydock; a stale .lock file must be removed by its owner; the repository must be writable"))
}

// registered returns the worktree's registration when creation made it whole,
// and empty when it must be made. What a crash left half done is removed first,
// if it is exactly that.
func (v visit) registered(ctx context.Context) (string, error) {
	control, err := readRegular(filepath.Join(v.k.tree, ".git"), controlMost)
	if err == nil {
		dir, err := registrationOf(control, v.in.CommonDir)
		if err != nil {
			return "", err
		}
		if v.whole(ctx, dir) {
			return dir, nil
		}
	}
	return "", v.removeTorn()
}

// whole says whether a registration points to our worktree and branch.
func (v visit) whole(ctx context.Context, dir string) bool {
	back, err := readRegular(filepath.Join(dir, "gitdir"), controlMost)
	if err != nil || strings.TrimSpace(string(back)) != filepath.Join(v.k.tree, ".git") {
		return false
	}
	why, err := readRegular(filepath.Join(dir, "locked"), controlMost)
	if err != nil || strings.TrimSpace(string(why)) != v.lockReason() {
		return false
	}
	if b, err := readRegular(filepath.Join(dir, "HEAD"), controlMost); err == nil && string(b) == "ref: refs/heads/"+v.in.Branch+"\n" {
		return true
	}
	// Other ways to keep refs put something else into that file.
	head, err := v.l.run(ctx, gitCall{gitDir: dir, args: []string{"symbolic-ref", "--quiet", "HEAD"}})
	return err == nil && strings.TrimSpace(string(head)) == "refs/heads/"+v.in.Branch
}

// removeTorn removes a registration that carries our lock reason and a worktree
// that holds nothing but its control file. Anything more is not a clean
// creation.
func (v visit) removeTorn() error {
	left, err := os.ReadDir(v.k.tree)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(fault.RecoveryRequired, err, "the worktree cannot be read")
	}
	for _, e := range left {
		if e.Name() != ".git" || !e.Type().IsRegular() {
			return fault.New(fault.RecoveryRequired, "the worktree holds %s but is not registered", show(e.Name())).
				Hint("look at it by hand, then create a new Drydock")
		}
	}
	all, err := filepath.Glob(filepath.Join(escapeGlob(v.in.CommonDir), "worktrees", "*", "locked"))
	if err != nil {
		return fault.Wrap(fault.Internal, err, "the source's worktrees cannot be listed")
	}
	for _, locked := range all {
		if why, err := readRegular(locked, controlMost); err == nil && strings.TrimSpace(string(why)) == v.lockReason() {
			if err := os.RemoveAll(filepath.Dir(locked)); err != nil {
				return fault.Wrap(fault.RecoveryRequired, err, "an unfinished registration cannot be removed")
			}
		}
	}
	err = os.RemoveAll(v.k.tree)
	if err != nil {
		return fault.Wrap(fault.RecoveryRequired, err, "an unfinished worktree cannot be removed")
	}
	return nil
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// addWorktree registers the worktree without writing a file of it. The branch
// exists, so nothing is guessed; hooks are off; there is no checkout that could
// filter.
func (v *visit) addWorktree(ctx context.Context) error {
	_, err := v.source(ctx, "", "worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", v.lockReason(), "--", v.k.tree, v.in.Branch)
	if err != nil {
		return because(err, fault.New(fault.SourceUnsupported, "the worktree cannot be registered").At("source").
			Hint("the repository must be writable; git worktree list shows what is registered"))
	}
	if v.registration, err = v.registered(ctx); err == nil && v.registration == "" {
		err = fault.New(fault.Internal, "git registered the worktree otherwise than asked")
	}
	return err
}

// makeIndex gives the worktree the index of its commit, so that git in it
// answers as in any worktree. It reads no file of the worktree.
func (v visit) makeIndex(ctx context.Context) error {
	if _, err := os.Lstat(filepath.Join(v.registration, "index")); err == nil {
		return nil
	}
	// A read-tree that was killed leaves its lock; the Drydock's lock says that
	// nobody else is creating it.
	_ = os.Remove(filepath.Join(v.registration, "index.lock"))
	_, err := v.l.run(ctx, gitCall{gitDir: v.registration, args: []string{"read-tree", "--end-of-options", v.in.HeadCommit}})
	if err != nil {
		return because(err, fault.New(fault.SourceUnsupported, "the worktree's index cannot be made").At("source").
			Hint("check the repository with git fsck, then repeat the call"))
	}
	return nil
}
