package gitdrydock

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
)

// Free implements ports.Meter. Bytes are those that an ordinary user may still
// use.
func (d *Drydocks) Free(_ context.Context, root string) (drydock.Free, error) {
	fd, err := openRoot(root)
	if err != nil {
		return drydock.Free{}, fault.Wrap(fault.RecoveryRequired, err, "the Drydock's root cannot be opened")
	}
	defer unix.Close(fd)
	var s unix.Statfs_t
	if err := unix.Fstatfs(fd, &s); err != nil {
		return drydock.Free{}, fault.Wrap(fault.RecoveryRequired, err, "the Drydock's file system cannot be read")
	}
	unit := s.Frsize
	if unit == 0 {
		unit = s.Bsize
	}
	return drydock.Free{
		Bytes: int64(s.Bavail) * unit, Inodes: int64(s.Ffree),
		InodesKnown: s.Files != 0, // btrfs and others report none
	}, nil
}

// usageWorkers overlap system calls; the owner process has other work to do
// meanwhile.
const usageWorkers = 4

// Usage implements ports.Meter. It counts every name below the root, links and
// nested repositories too, but enters no mount. A file with several names is
// one inode.
func (d *Drydocks) Usage(ctx context.Context, root string) (drydock.Usage, error) {
	fd, err := openRoot(root)
	if err != nil {
		return drydock.Usage{}, unreadable("", err)
	}
	defer unix.Close(fd)
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return drydock.Usage{}, unreadable("", err)
	}
	u := &usage{pool: newPool(), root: fd, dev: statOf(&s).dev, seen: map[isolation.FileID]bool{}}
	u.total.Bytes = u.size(&s)
	err = u.run(ctx, usageWorkers, func(int) func(string) error {
		w := &usageWorker{usage: u, dents: make([]byte, 32<<10)}
		return w.dir
	})
	return u.total, err
}

type usage struct {
	*pool
	root int
	dev  uint64

	sum   sync.Mutex
	total drydock.Usage
	seen  map[isolation.FileID]bool // inodes with several names
}

// size is what an inode takes, nothing when it was counted under another name.
func (u *usage) size(s *unix.Stat_t) int64 {
	if s.Nlink > 1 && statOf(s).kind() != unix.S_IFDIR {
		key := fileID(statOf(s))
		u.sum.Lock()
		defer u.sum.Unlock()
		if u.seen[key] {
			return 0
		}
		u.seen[key] = true
	}
	return max(s.Blocks*512, s.Size)
}

type usageWorker struct {
	*usage
	dents []byte
	list  []dirent
}

func (w *usageWorker) dir(path string) error {
	fd, err := openDeep(w.root, path)
	if vanished(err) || errors.Is(err, unix.EXDEV) {
		return nil
	}
	if err != nil {
		return unreadable(path, err)
	}
	defer unix.Close(fd)
	if w.list, err = readNames(fd, w.dents, w.list[:0]); err != nil {
		return unreadable(path, err)
	}
	var here drydock.Usage
	var subdirs []string
	for _, d := range w.list {
		var s unix.Stat_t
		_, err := retry(func() (int, error) { return 0, unix.Fstatat(fd, d.name, &s, unix.AT_SYMLINK_NOFOLLOW) })
		if vanished(err) {
			continue
		}
		if err != nil {
			return unreadable(join(path, d.name), err)
		}
		here.Entries++
		here.Bytes += w.size(&s)
		if statOf(&s).kind() == unix.S_IFDIR && statOf(&s).dev == w.dev {
			subdirs = append(subdirs, join(path, d.name))
		}
	}
	w.sum.Lock()
	w.total.Bytes += here.Bytes
	w.total.Entries += here.Entries
	w.sum.Unlock()
	w.push(subdirs)
	return nil
}

// openDeep opens a directory however long its path is.
func openDeep(root int, path string) (int, error) {
	if len(path) < 4000 {
		return openBeneath(root, path, openDir)
	}
	return openStep(root, path, openDir)
}

// vanished says that an entry went away, or became something else, between two
// looks at it.
func vanished(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// Namespaces implements ports.Meter.
func (d *Drydocks) Namespaces() map[string]uint64 {
	out := map[string]uint64{}
	for _, name := range isolation.Namespaces() {
		link, err := os.Readlink("/proc/self/ns/" + name)
		if err != nil {
			continue // an old kernel has fewer kinds
		}
		number, ok := strings.CutSuffix(link, "]")
		_, number, found := strings.Cut(number, "[")
		if n, err := strconv.ParseUint(number, 10, 64); ok && found && err == nil {
			out[name] = n
		}
	}
	return out
}
