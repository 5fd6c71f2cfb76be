package gitdrydock

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

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

// Usage implements ports.Meter. It counts every name below the root, links and
// nested repositories too, but enters no mount. A file with several names is
// one inode.
func (d *Drydocks) Usage(ctx context.Context, root string) (drydock.Usage, error) {
	fd, err := openRoot(root)
	if err != nil {
		return drydock.Usage{}, unreadable("", err)
	}
	defer unix.Close(fd)
	u := usage{ctx: ctx, root: fd, seen: map[isolation.FileID]bool{}, dents: make([]byte, 32<<10)}
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return drydock.Usage{}, unreadable("", err)
	}
	u.dev = statOf(&s).dev
	u.add(&s)
	u.stack = []string{""}
	for len(u.stack) > 0 {
		path := u.stack[len(u.stack)-1]
		u.stack = u.stack[:len(u.stack)-1]
		if err := u.dir(path); err != nil {
			return drydock.Usage{}, err
		}
	}
	return u.total, nil
}

type usage struct {
	ctx   context.Context
	root  int
	dev   uint64
	stack []string
	seen  map[isolation.FileID]bool // inodes with several names
	total drydock.Usage
	dents []byte
	list  []dirent
}

func (u *usage) add(s *unix.Stat_t) {
	if s.Nlink > 1 && statOf(s).kind() != unix.S_IFDIR {
		key := fileID(statOf(s))
		if u.seen[key] {
			return
		}
		u.seen[key] = true
	}
	u.total.Bytes += max(s.Blocks*512, s.Size)
}

func (u *usage) dir(path string) error {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	fd, err := openDeep(u.root, path)
	if vanished(err) || errors.Is(err, unix.EXDEV) {
		return nil
	}
	if err != nil {
		return unreadable(path, err)
	}
	defer unix.Close(fd)
	if u.list, err = readNames(fd, u.dents, u.list[:0]); err != nil {
		return unreadable(path, err)
	}
	for _, d := range u.list {
		var s unix.Stat_t
		_, err := retry(func() (int, error) { return 0, unix.Fstatat(fd, d.name, &s, unix.AT_SYMLINK_NOFOLLOW) })
		if vanished(err) {
			continue
		}
		if err != nil {
			return unreadable(join(path, d.name), err)
		}
		u.total.Entries++
		u.add(&s)
		if statOf(&s).kind() == unix.S_IFDIR && statOf(&s).dev == u.dev {
			u.stack = append(u.stack, join(path, d.name))
		}
	}
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
