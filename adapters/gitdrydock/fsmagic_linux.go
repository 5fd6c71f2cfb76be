package gitdrydock

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// remote are the file systems on which locks, times and ownership are another
// machine's business. They are refused by the number that statfs gives.
var remote = map[uint32]string{
	0x6969: "nfs", 0x517B: "smb", 0xFE534D42: "smb2", 0xFF534D42: "cifs", 0x01021997: "9p",
	0x65735546: "fuse or virtiofs", 0x00C36400: "ceph", 0x5346414F: "afs", 0x0BD00BD0: "lustre",
	0x7461636F: "ocfs2", 0x01161970: "gfs2", 0x73757245: "coda", 0x564C: "ncp",
	0x786F4256: "vboxsf", 0xBACBACBC: "vmhgfs", 0x19830326: "beegfs", 0x47504653: "gpfs",
}

// checkLocal refuses a path on a file system that is not this machine's own.
func checkLocal(path string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return fmt.Errorf("the file system of %s cannot be read: %w", path, err)
	}
	return checkMagic(uint32(s.Type), path)
}

func checkMagic(magic uint32, path string) error {
	if name := remote[magic]; name != "" {
		return fmt.Errorf("%s is on a %s file system", path, name)
	}
	return nil
}
