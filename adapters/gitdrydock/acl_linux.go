package gitdrydock

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
)

// The kernel's encoding of a POSIX ACL in an extended attribute: a version,
// then entries of tag, permissions and id, in the order of the tags and ids.
const (
	aclAccess  = "system.posix_acl_access"
	aclDefault = "system.posix_acl_default"
	aclVersion = 2

	aclUserObj  = 0x01
	aclUser     = 0x02
	aclGroupObj = 0x04
	aclMask     = 0x10
	aclOther    = 0x20
	aclNoID     = 0xFFFFFFFF
)

// encodeACL gives the owner, the named users and the mask the bits in perm, and
// read (with search, where perm has it) to the group and others. The Drydock's
// parents are closed to everyone else.
func encodeACL(users []uint32, perm uint16) []byte {
	b := binary.LittleEndian.AppendUint32(nil, aclVersion)
	add := func(tag, perm uint16, id uint32) {
		b = binary.LittleEndian.AppendUint16(b, tag)
		b = binary.LittleEndian.AppendUint16(b, perm)
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	rest := perm &^ 2
	add(aclUserObj, perm, aclNoID)
	for _, u := range users {
		add(aclUser, perm, u)
	}
	add(aclGroupObj, rest, aclNoID)
	add(aclMask, perm, aclNoID)
	add(aclOther, rest, aclNoID)
	return b
}

// access lets uid 65532 into a tree while it is written.
type access struct {
	way   drydock.Access
	users []uint32 // of the ACLs, sorted
}

// chooseAccess decides how, by who runs the product, and proves on a probe
// below dir that it works there.
func chooseAccess(dir string) (access, error) {
	me := os.Geteuid()
	if me == 0 || me == limits.UID {
		return access{way: drydock.AccessOwner}, nil
	}
	a := access{way: drydock.AccessACL, users: []uint32{uint32(me), limits.UID}}
	slices.Sort(a.users)
	probe, err := os.MkdirTemp(dir, ".probe-*")
	if err != nil {
		return a, fault.Wrap(fault.Internal, err, "cannot make a directory of the product")
	}
	defer func() { _ = os.Remove(probe) }()
	if err := a.setDir(probe); err != nil {
		return a, fault.Wrap(fault.Unsupported, err, "the container's user %d cannot be let into %s: no POSIX ACLs there", limits.UID, dir).
			Hint("put the home directory on a file system with ACLs (ext4, xfs, btrfs; mounted with acl), or run as root")
	}
	return a, nil
}

// setDir puts the access and the default ACL on a directory. What is made in it
// from then on inherits both.
func (a access) setDir(path string) error {
	acl := encodeACL(a.users, 7)
	return errors.Join(unix.Lsetxattr(path, aclAccess, acl, 0), unix.Lsetxattr(path, aclDefault, acl, 0))
}

// own is called on each directory and file that is made, while it is open. In a
// directory with a default ACL there is nothing left to do; the owner changes
// where the product runs as root.
func (a access) own(fd int) error {
	if a.way != drydock.AccessOwner || os.Geteuid() != 0 {
		return nil
	}
	return unix.Fchown(fd, limits.UID, limits.GID)
}

// ownLink is own for a symbolic link.
func (a access) ownLink(dir int, name string) error {
	if a.way != drydock.AccessOwner || os.Geteuid() != 0 {
		return nil
	}
	return unix.Fchownat(dir, name, limits.UID, limits.GID, unix.AT_SYMLINK_NOFOLLOW)
}

// modes returns the modes to create files and directories with. A default ACL
// replaces the umask and is cut down by the mode, so the mode asks for all.
func (a access) modes(executable bool) (file, dir uint32) {
	switch {
	case a.way == drydock.AccessACL && executable:
		return 0o777, 0o777
	case a.way == drydock.AccessACL:
		return 0o666, 0o777
	case executable:
		return 0o755, 0o755
	}
	return 0o644, 0o755
}
