package gitdrydock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"cyberagent/domain/fault"
	"cyberagent/ports"
)

var _ ports.Storage = (*Drydocks)(nil)

// localNames are the file systems that people ask about; others are named by
// their number.
var localNames = map[uint32]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
	unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.F2FS_SUPER_MAGIC: "f2fs",
	0x2FC12FC1: "zfs", 0xCA451A4E: "bcachefs",
}

// Storage implements ports.Storage: what dir, or the nearest directory above it
// that exists, lies on, and how uid 65532 would be let in there. A probe
// directory is made and removed.
func (d *Drydocks) Storage(ctx context.Context, dir string) (ports.StorageFacts, error) {
	path := filepath.Clean(dir)
	for {
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() {
			return ports.StorageFacts{}, fault.New(fault.ConfigInvalid, "%s is not a directory", path).At("home")
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return ports.StorageFacts{}, fault.Wrap(fault.ConfigInvalid, err, "%s cannot be examined", path).At("home")
		}
		path = filepath.Dir(path)
	}
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return ports.StorageFacts{}, fault.Wrap(fault.ConfigInvalid, err, "%s cannot be examined", path).At("home")
	}
	f := ports.StorageFacts{Path: path, Writable: unix.Access(path, unix.W_OK|unix.X_OK) == nil}
	magic := uint32(s.Type)
	f.Filesystem = localNames[magic]
	if name := remote[magic]; name != "" {
		f.Filesystem, f.Network = name, true
	}
	if f.Filesystem == "" {
		f.Filesystem = fmt.Sprintf("file system 0x%x", magic)
	}
	free, err := d.Free(ctx, path)
	if err != nil {
		return f, err
	}
	f.Free = free
	if f.Network || !f.Writable {
		return f, nil
	}
	a, err := chooseAccess(path)
	if err != nil {
		f.AccessError = fault.From(err).Error()
		return f, nil
	}
	f.Access = a.way
	return f, nil
}
