//go:build linux

package tree

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// entry is one name of a directory. name aliases a buffer and ends with the
// kernel's NUL byte; it is valid only during the callback.
type entry struct {
	name []byte
	stat *unix.Statx_t
}

func (e entry) isDir() bool { return e.stat.Mode&unix.S_IFMT == unix.S_IFDIR }

func (e entry) id() FileID {
	return FileID{Dev: unix.Mkdev(e.stat.Dev_major, e.stat.Dev_minor), Inode: e.stat.Ino}
}

// text copies the name.
func (e entry) text() string { return string(e.name[:len(e.name)-1]) }

const (
	statFlags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_STATX_DONT_SYNC
	statMask  = unix.STATX_TYPE | unix.STATX_MODE | unix.STATX_NLINK | unix.STATX_UID |
		unix.STATX_INO | unix.STATX_SIZE | unix.STATX_BLOCKS
)

// list calls each for every entry of an open directory except . and .. and those
// that vanished meanwhile. A directory that can be read but not searched and
// belongs to uid is made searchable first.
func (t *Tree) list(fd int, each func(entry) error) error {
	pooled := buffers.Get().(*[]byte) //nolint:errcheck // the pool holds nothing else
	defer buffers.Put(pooled)
	buf := *pooled
	var st unix.Statx_t
	for {
		n, err := unix.Getdents(fd, buf)
		if errors.Is(err, unix.ENOENT) { // the directory itself was removed
			return nil
		}
		if err != nil {
			return fmt.Errorf("getdents: %w", err)
		}
		if n == 0 {
			return nil
		}
		for rest := buf[:n]; len(rest) > 0; {
			name, size, err := dirent(rest)
			if err != nil {
				return err
			}
			rest = rest[size:]
			if s := name[:len(name)-1]; string(s) == "." || string(s) == ".." {
				continue
			}
			err = t.stat(fd, name, &st)
			if errors.Is(err, unix.ENOENT) {
				continue
			}
			if err != nil {
				return fmt.Errorf("statx: %w", err)
			}
			if err := each(entry{name: name, stat: &st}); err != nil {
				return err
			}
		}
	}
}

// dirent reads one struct linux_dirent64: inode 8, offset 8, record length 2,
// type 1, then the name with its NUL. It returns the name with the NUL.
func dirent(b []byte) (name []byte, size int, err error) {
	const header = 19
	if len(b) < header {
		return nil, 0, fmt.Errorf("getdents: record of %d bytes", len(b))
	}
	size = int(*(*uint16)(unsafe.Pointer(&b[16])))
	if size <= header || size > len(b) {
		return nil, 0, fmt.Errorf("getdents: record length %d of %d", size, len(b))
	}
	for i := header; i < size; i++ {
		if b[i] == 0 {
			return b[header : i+1], size, nil
		}
	}
	return nil, 0, fmt.Errorf("getdents: name without an end")
}

func (t *Tree) stat(fd int, name []byte, st *unix.Statx_t) error {
	for i := 0; ; i++ {
		// The name is used where the kernel wrote it: copying hundred thousands of
		// them would cost as much as asking for them.
		_, _, errno := unix.Syscall6(unix.SYS_STATX, uintptr(fd), uintptr(unsafe.Pointer(&name[0])),
			statFlags, statMask, uintptr(unsafe.Pointer(st)), 0)
		switch {
		case errno == 0:
			return nil
		case errno == unix.EINTR:
			continue
		case errno != unix.EACCES || i >= tries:
			return errno
		}
		var dir unix.Stat_t
		if err := unix.Fstat(fd, &dir); err != nil {
			return err
		}
		if dir.Uid != t.uid {
			return errno
		}
		if err := unix.Fchmod(fd, dir.Mode&0o7777|0o700); err != nil {
			return err
		}
	}
}
