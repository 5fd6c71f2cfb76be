//go:build linux

package measure

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"cyberagent/cmd/standard-code-runner/internal/mountinfo"
	"cyberagent/domain/canon"
	"cyberagent/domain/isolation"
)

// disk answers from the real filesystem.
type disk struct{}

func (disk) kind(path string) pathKind {
	var st unix.Stat_t
	switch err := unix.Lstat(path, &st); {
	case err == unix.ENOENT:
		return absent
	case err != nil:
		return otherFile
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if names, err := os.ReadDir(path); err == nil && len(names) == 0 {
			return emptyDir
		}
		return otherDir
	case unix.S_IFCHR:
		if unix.Major(uint64(st.Rdev)) == 1 && unix.Minor(uint64(st.Rdev)) == 3 {
			return nullDevice
		}
	}
	return otherFile
}

func (disk) writable(path string) bool {
	// Any other answer than a refusal counts as writable.
	err := unix.Access(path, unix.W_OK)
	return err != unix.EACCES && err != unix.EPERM && err != unix.EROFS
}

func mode(m mountinfo.Mount) string {
	if m.ReadOnly() {
		return "ro"
	}
	return "rw"
}

// projection is the fact about one of the two host paths: how it is mounted, and
// whether it is the file that the host recorded. Device and inode come from
// lstat on both sides, for mountinfo's device differs from stat's on btrfs.
func projection(mounts []mountinfo.Mount, target string, want isolation.FileID, dir bool) string {
	m, ok := mountinfo.Only(mounts, target)
	if !ok {
		return "not one mount"
	}
	var st unix.Stat_t
	if err := unix.Lstat(target, &st); err != nil {
		return isolation.Unreadable
	}
	kind := uint32(unix.S_IFREG)
	if dir {
		kind = unix.S_IFDIR
	}
	got := isolation.FileID{Dev: uint64(st.Dev), Inode: st.Ino}
	switch {
	case st.Mode&unix.S_IFMT != kind:
		return mode(m) + " another kind of file"
	case got != want:
		return mode(m) + " " + got.String() + " instead of " + want.String()
	}
	return mode(m) + " " + isolation.Matches
}

// maskSHA256 digests the mask's content; it reads one byte more than there may
// be.
func maskSHA256() (string, error) {
	fd, err := unix.Open(isolation.GitTarget, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	b := make([]byte, len(isolation.MaskContent)+1)
	n, err := unix.Read(fd, b)
	if err != nil {
		return "", err
	}
	return canon.SHA256(b[:n]), nil
}

// tmpfs measures a tmpfs as it is, not as it was asked for: runc, for one, gives
// the mount the permission bits of the image's directory.
func tmpfs(mounts []mountinfo.Mount, target string) string {
	m, ok := mountinfo.Only(mounts, target)
	if !ok || m.FSType != "tmpfs" {
		return "not one tmpfs"
	}
	var fs unix.Statfs_t
	var st unix.Stat_t
	if unix.Statfs(target, &fs) != nil || unix.Lstat(target, &st) != nil {
		return isolation.Unreadable
	}
	fact := isolation.Tmpfs{
		Bytes: int64(fs.Blocks) * fs.Bsize, Inodes: int64(fs.Files),
		Mode: st.Mode & 0o7777, UID: int(st.Uid), GID: int(st.Gid), Exec: !m.Has("noexec"),
	}.Fact()
	for _, o := range []string{"nosuid", "nodev"} {
		if !m.Has(o) {
			fact = strings.Replace(fact, o, "no "+o, 1)
		}
	}
	if m.ReadOnly() {
		fact = strings.Replace(fact, "rw", "ro", 1)
	}
	return fact
}

// namespaces compares the container's namespaces with the host's.
func namespaces(h isolation.Host) map[string]string {
	facts := map[string]string{}
	for _, n := range isolation.Namespaces() {
		facts[n] = namespace(n, h)
	}
	return facts
}

func namespace(name string, h isolation.Host) string {
	if name == "cgroup" && !h.PrivateCgroup {
		return isolation.Own // see isolation.Expected
	}
	link, err := os.Readlink("/proc/self/ns/" + name)
	if err != nil {
		return isolation.Unreadable
	}
	digits, ok := strings.CutPrefix(link, name+":[")
	own, err := strconv.ParseUint(strings.TrimSuffix(digits, "]"), 10, 64)
	host, recorded := h.Namespaces[name]
	switch {
	case !ok || err != nil || !recorded || host == 0:
		return isolation.Unreadable
	case own == host:
		return "the host's"
	}
	return isolation.Own
}
