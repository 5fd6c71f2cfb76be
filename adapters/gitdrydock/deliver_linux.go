package gitdrydock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/internal/durable"
)

// plainGit is what a person's own git applies where the fixed configuration is
// laxer: a proof must not rest on that.
var plainGit = [][2]string{{"core.protectNTFS", "true"}, {"core.protectHFS", "true"}}

func (l layout) deliveries() string { return filepath.Join(l.home, "deliveries") }

// Deliver implements ports.Deliveries.
func (d *Drydocks) Deliver(ctx context.Context, p drydock.Place, c id.Checkpoint) (drydock.Delivery, error) {
	v, err := d.find(p)
	if err != nil {
		return drydock.Delivery{}, edge(err)
	}
	if err := v.lockDock(ctx); err != nil {
		return drydock.Delivery{}, edge(err)
	}
	defer v.unlock()
	out, err := v.deliver(ctx, c)
	return out, edge(err)
}

func (v visit) deliver(ctx context.Context, c id.Checkpoint) (drydock.Delivery, error) {
	list, err := v.named(ctx, c)
	if err != nil {
		return drydock.Delivery{}, err
	}
	base, err := v.format.parse(v.headTree)
	if err != nil {
		return drydock.Delivery{}, err
	}
	out := drydock.Delivery{
		File:       filepath.Join(v.l.deliveries(), string(v.k.id)+"-"+string(c)+".patch"),
		BaseCommit: v.in.HeadCommit, BaseTree: v.headTree, Tree: list[0].tree.String(),
		EmptyDirectories: int64(len(list[0].dirs)), Excluded: domainExcluded(list[0].excluded),
	}
	if list[0].tree == base {
		return out, fault.New(fault.Unsupported, "the Checkpoint has the files of the base commit: there is nothing to deliver").At("checkpoint").
			Hint("make a change and a checkpoint first")
	}
	if out.Changed, err = v.changed(ctx, side{tree: base}, side{tree: list[0].tree}); err != nil {
		return out, err
	}
	if err := makePrivate(v.l.deliveries()); err != nil {
		return out, err
	}
	v.sweepDeliveries()
	tmp, err := os.CreateTemp(v.l.deliveries(), unfinished(v.k.id))
	if err != nil {
		return out, fault.Wrap(fault.Internal, err, "the patch cannot be written")
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already when all went well
	defer tmp.Close()
	h := sha256.New()
	err = v.diffTree(ctx, side{tree: base}, side{tree: list[0].tree}, func(r io.Reader) (err error) {
		out.Bytes, err = io.Copy(io.MultiWriter(tmp, h), r)
		return err
	}, append(patchOptions[:len(patchOptions):len(patchOptions)], "--binary")...)
	if err != nil {
		return out, because(err, fault.New(fault.Internal, "the patch could not be written"))
	}
	out.SHA256 = hex.EncodeToString(h.Sum(nil))
	if err := v.at("patched"); err != nil {
		return out, err
	}
	if err := v.prove(ctx, tmp.Name(), base, list[0].tree); err != nil {
		return out, err
	}
	if err := v.at("proved"); err != nil {
		return out, err
	}
	if err := errors.Join(tmp.Chmod(0o400), tmp.Sync()); err != nil {
		return out, fault.Wrap(fault.Internal, err, "the patch cannot be written")
	}
	return out, v.publish(tmp.Name(), out)
}

// unfinished is the pattern of a Drydock's patches that are being made. Other
// Drydocks make theirs in the same directory.
func unfinished(d id.Drydock) string { return ".new-" + string(d) + "-*" }

// sweepDeliveries removes what a killed delivery left. The Drydock's lock is held.
func (v visit) sweepDeliveries() { removeAll(v.l.deliveries(), unfinished(v.k.id)) }

// prove applies the patch to the base commit in an index of a scratch repository
// that knows nothing but the source, and compares the trees.
func (v visit) prove(ctx context.Context, patch string, base, want oid) error {
	scratch, err := v.l.scratch()
	if err != nil {
		return fault.Wrap(fault.Internal, err, "cannot make a directory of the product")
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	if err := makeShadow(scratch, v.format, filepath.Join(v.in.CommonDir, "objects")); err != nil {
		return err
	}
	if _, err := v.l.run(ctx, gitCall{gitDir: scratch, args: []string{"read-tree", "--end-of-options", base.String()}}); err != nil {
		return because(err, fault.New(fault.RecoveryRequired, "the base commit cannot be read").Hint("check the source repository with git fsck"))
	}
	_, err = v.l.run(ctx, gitCall{gitDir: scratch, args: []string{"apply", "--cached", "--", patch}, config: plainGit, timeout: longDeadline})
	var exit *gitError
	if errors.As(err, &exit) {
		return fault.New(fault.Unsupported, "git would not apply the patch: %s", exit.stderr).At("checkpoint").
			Hint("rename what git refuses, make a checkpoint, and deliver that")
	}
	if err != nil {
		return err
	}
	out, err := v.l.run(ctx, gitCall{gitDir: scratch, args: []string{"write-tree"}, config: plainGit})
	if err != nil {
		return because(err, fault.New(fault.Internal, "the proof could not be written"))
	}
	if got := strings.TrimSpace(string(out)); got != want.String() {
		return fault.New(fault.Unsupported, "the patch gives the tree %s, the Checkpoint has %s", got, want).At("checkpoint").
			Hint("this is a fault of the product; report it")
	}
	return nil
}

// publish gives the proven patch its name, never replacing what is there.
func (v visit) publish(tmp string, out drydock.Delivery) error {
	err := durable.Move(tmp, out.File)
	if errors.Is(err, os.ErrExist) {
		f, _, err := openRegular(out.File)
		h := sha256.New()
		if err == nil {
			defer f.Close()
			_, err = io.Copy(h, f)
		}
		if err != nil || hex.EncodeToString(h.Sum(nil)) != out.SHA256 {
			return fault.New(fault.OperationConflict, "there is another file at %s", show(out.File)).At("checkpoint").
				Hint("move it away, then repeat")
		}
		return nil
	}
	if err == nil {
		err = durable.Sync(v.l.deliveries())
	}
	if err != nil {
		return fault.Wrap(fault.Internal, err, "the patch cannot be written")
	}
	return v.at("published")
}
