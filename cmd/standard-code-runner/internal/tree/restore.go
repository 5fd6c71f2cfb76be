//go:build linux

package tree

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// maxUnreadable bounds the list that Restore returns.
const maxUnreadable = 20

// Restore gives access back to every entry that uid owns: the owner reads and
// writes it, and enters directories. Where the root has an extended ACL, the
// group bits are widened too, for they are the mask that cuts every named user's
// rights: a program that names its mode (0644) would leave the operator
// read-only, whatever the default ACL says. Executable bits of files are left
// as they are, except that the mask follows the owner's.
//
// It returns up to 20 entries that could not be given or had no access, and an
// error when the root itself cannot be walked. Nothing else may be running.
func (t *Tree) Restore() ([]string, error) {
	r := &restorer{t: t, acl: hasACL(t.fd)}
	if err := r.root(); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	fd, err := unix.Openat(t.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	r.dir(fd, &node{})
	return r.unreadable, nil
}

// hasACL says whether an open file has an ACL beyond its mode. A filesystem
// without ACLs has none.
func hasACL(fd int) bool {
	n, err := unix.Getxattr(fmt.Sprintf("/proc/self/fd/%d", fd), "system.posix_acl_access", nil)
	return err == nil && n > 0
}

type restorer struct {
	t          *Tree
	acl        bool
	unreadable []string
}

// root restores the root's own bits when it is uid's.
func (r *restorer) root() error {
	var st unix.Stat_t
	if err := unix.Fstat(r.t.fd, &st); err != nil {
		return err
	}
	if r.t.shut(st.Uid, st.Mode, r.acl) {
		return unix.Fchmod(r.t.fd, wanted(st.Mode, r.acl)&0o7777)
	}
	return nil
}

func (r *restorer) lost(n *node, name string) {
	if len(r.unreadable) < maxUnreadable {
		r.unreadable = append(r.unreadable, n.path(name))
	}
}

// dir restores the entries of an open directory and closes it.
func (r *restorer) dir(fd int, n *node) {
	closed := false
	defer func() {
		if !closed {
			unix.Close(fd)
		}
	}()
	var subs []string
	err := r.t.list(fd, func(e entry) error {
		masked := n.parent == nil && r.t.mask != "" && string(e.name[:len(e.name)-1]) == r.t.mask
		if masked {
			return nil
		}
		if mode := uint32(e.stat.Mode); r.t.shut(e.stat.Uid, mode, r.acl) {
			if err := unix.Fchmodat(fd, e.text(), wanted(mode, r.acl)&0o7777, 0); err != nil && !gone(err) {
				r.lost(n, e.text())
			}
		}
		if e.isDir() {
			subs = append(subs, e.text())
		}
		return nil
	})
	if err != nil {
		r.lost(n, ".")
		return
	}
	for i, name := range subs {
		sub, err := r.t.openDir(fd, name)
		if err != nil || n.depth == maxDepth {
			if err == nil {
				unix.Close(sub)
			}
			r.lost(n, name)
			continue
		}
		if i == len(subs)-1 {
			unix.Close(fd)
			closed = true
		}
		r.dir(sub, &node{parent: n, name: name, depth: n.depth + 1})
	}
}

// shut says whether an entry is uid's and lacks a bit that it should have.
func (t *Tree) shut(uid, mode uint32, acl bool) bool {
	return uid == t.uid && wanted(mode, acl) != mode
}

// wanted is the mode that an entry of uid's should have.
func wanted(mode uint32, acl bool) uint32 {
	switch mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return mode // a link has no access of its own
	case unix.S_IFDIR:
		mode |= 0o700
		if acl {
			mode |= 0o070
		}
		return mode
	}
	mode |= 0o600
	if acl {
		mode |= 0o060
		if mode&0o100 != 0 {
			mode |= 0o010
		}
	}
	return mode
}
