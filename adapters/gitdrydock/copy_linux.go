package gitdrydock

import (
	"context"
	"errors"
	"io"
	"strings"

	"cyberagent/domain/fault"
)

// copyObjects copies what a tree of another Drydock has beyond the base commit
// into this one's store: one pack, made by one git and indexed by another.
func (v visit) copyObjects(ctx context.Context, other visit, tree oid) error {
	if tree == v.format.emptyTree() {
		return nil
	}
	r, w := io.Pipe()
	made := make(chan error, 1)
	go func() {
		_, err := other.l.run(ctx, gitCall{
			gitDir: other.k.shadow, timeout: longDeadline,
			args:   []string{"pack-objects", "-q", "--revs", "--stdout", "--threads=1", "--delta-base-offset"},
			stdin:  strings.NewReader(tree.String() + "\n--not\n" + v.headTree + "\n"),
			stdout: func(out io.Reader) error { _, err := io.Copy(w, out); return err },
		})
		_ = w.CloseWithError(err)
		made <- err
	}()
	_, err := v.l.run(ctx, gitCall{
		gitDir: v.k.shadow, store: v.k.store(), timeout: longDeadline,
		args: []string{"index-pack", "--stdin", "--threads=1"}, stdin: r,
	})
	_ = r.CloseWithError(io.ErrClosedPipe)
	// The reader that gave up is the cause, not the writer that noticed it.
	if packErr := <-made; packErr != nil && !errors.Is(packErr, io.ErrClosedPipe) {
		err = packErr
	}
	if err != nil {
		return because(err, fault.New(fault.RecoveryRequired, "the Checkpoint's objects cannot be copied").
			Hint("check the source repository with git fsck"))
	}
	return nil
}
