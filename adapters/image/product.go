package image

import (
	"bytes"
	"fmt"
	"path"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/domain/toolchain"
)

// product lays in what is the product's own, in the place of whatever the bases
// had there: mount points that are real directories and files, one user, the
// runner and the links to the tools.
func product(root *node, runner []byte, tools map[string]string) error {
	accounts := map[string]string{
		"etc/passwd": fmt.Sprintf("root:x:0:0:root:/root:/usr/sbin/nologin\nstandard-code:x:%d:%d:standard-code:%s:/usr/sbin/nologin\n",
			limits.UID, limits.GID, toolchain.Home),
		"etc/group": fmt.Sprintf("root:x:0:\nstandard-code:x:%d:\n", limits.GID),
		// Engines mount their own files over these. Where there is none they would
		// follow a link or fail on a read-only root.
		"etc/hostname": "", "etc/hosts": "", "etc/resolv.conf": "",
	}
	// Nothing of a base may be in these, however it got there.
	for _, name := range []string{"dev", "proc", "sys", "workspace", "standard-code"} {
		delete(root.kids, name)
	}
	for _, d := range []string{"dev", "proc", "sys", "etc", "tmp", isolation.Workspace, toolchain.Bin} {
		if err := lay(root, d, newDir(0o755)); err != nil {
			return err
		}
	}
	// The OCI runtime gives a tmpfs the mode of the directory that it covers,
	// whatever the mount's own mode says.
	if err := lay(root, toolchain.Cache, newDir(cacheMode)); err != nil {
		return err
	}
	for p, text := range accounts {
		if err := lay(root, p, memory([]byte(text), 0o644)); err != nil {
			return err
		}
	}
	if err := lay(root, isolation.RunnerPath, memory(runner, 0o555)); err != nil {
		return err
	}
	for name, target := range tools {
		if err := lay(root, path.Join(toolchain.Bin, name), &node{kind: symlink, target: target}); err != nil {
			return err
		}
	}
	return nil
}

// lay puts one node of the product at p, without following links. A directory
// that is there is kept.
func lay(root *node, p string, n *node) error {
	at := root
	parts := split(p)
	for i, name := range parts {
		next := at.kids[name]
		last := i == len(parts)-1
		switch {
		case last && (n.kind != dir || next == nil || next.kind != dir):
			n.owner, n.held = fromProduct, 0
			at.kids[name] = n
			return nil
		case last:
			return nil
		case next == nil:
			next = newDir(0o755)
			next.owner = fromProduct
			at.kids[name] = next
		case next.kind != dir:
			return fault.New(fault.BaseIncompatible, "/%s is not a directory in the %s base", path.Join(parts[:i+1]...), next.held)
		}
		at = next
	}
	return nil
}

// memory makes a file of the product from bytes.
func memory(b []byte, mode int64) *node {
	size := int64(len(b))
	return &node{kind: file, mode: mode, mtime: created.Unix(), data: &content{&blob{bytes.NewReader(b), size}, 0, size}}
}

// cacheMode is the mode of the cache's directory (contract section 2).
const cacheMode = 0o700
