package gitdrydock

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
)

// Each Checkpoint is a small pack: one file to write and to sync, where loose
// objects would be ten, and no second process to unpack it. Many packs make git
// slow, so they are joined now and then; what that costs grows with the
// logarithm of the number of Checkpoints.
const mostPacks = 48

// compact joins the packs of the store when there are many. A failure costs
// time later and nothing else: git removes a pack after its objects are in
// another. The Drydock's lock is held; a reader that loses a pack looks again.
func (v visit) compact(ctx context.Context) {
	if s, err := v.k.storage(); err != nil || s.Packs <= mostPacks {
		return
	}
	_ = v.repack(ctx, "2")
}

// repack joins packs; the larger the factor, the fewer stay.
func (v visit) repack(ctx context.Context, factor string) error {
	_, err := v.l.run(ctx, gitCall{
		gitDir: v.k.shadow, store: v.k.store(), timeout: longDeadline,
		args: []string{"repack", "--geometric=" + factor, "-d", "-l", "-n", "-q"},
	})
	return err
}

// storage sums the packs of the store: there is nothing else of size.
func (k dock) storage() (drydock.Storage, error) {
	var s drydock.Storage
	all, err := os.ReadDir(filepath.Join(k.store(), "pack"))
	if err != nil {
		return s, fault.Wrap(fault.RecoveryRequired, err, "the shadow repository cannot be read")
	}
	for _, e := range all {
		info, err := e.Info()
		if err != nil {
			continue // joined meanwhile
		}
		s.Bytes += info.Size()
		if strings.HasSuffix(e.Name(), ".pack") {
			s.Packs++
		}
	}
	return s, nil
}

// History implements ports.Remnants.
func (d *Drydocks) History(_ context.Context, p drydock.Place) (drydock.Storage, error) {
	v, err := d.find(p)
	if err != nil {
		return drydock.Storage{}, edge(err)
	}
	s, err := v.k.storage()
	return s, edge(err)
}

// Compact implements ports.Remnants.
func (d *Drydocks) Compact(ctx context.Context, p drydock.Place) (before, after drydock.Storage, err error) {
	v, err := d.find(p)
	if err != nil {
		return before, after, edge(err)
	}
	if err := v.lockDock(ctx); err != nil {
		return before, after, edge(err)
	}
	defer v.unlock()
	if before, err = v.k.storage(); err != nil {
		return before, after, edge(err)
	}
	if before.Packs > 1 {
		if err := v.repack(ctx, "1000000"); err != nil {
			return before, before, edge(because(err, fault.New(fault.RecoveryRequired, "the shadow repository cannot be compacted").
				Hint("check it with git fsck; nothing was removed")))
		}
	}
	after, err = v.k.storage()
	return before, after, edge(err)
}

// Idle implements ports.Remnants.
func (d *Drydocks) Idle(_ context.Context, did id.Drydock) bool {
	l, err := d.open()
	if err != nil {
		return false
	}
	f, err := os.OpenFile(l.dock(did).file("lock"), os.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return os.IsNotExist(err)
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}
