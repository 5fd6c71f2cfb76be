package ledger

// Magic numbers of statfs(2) on Linux. A FUSE filesystem is refused whole:
// virtiofs, sshfs and the shared folders of virtual machines all say FUSE, and
// none says whether mmap and locks hold.
var networkMagic = map[uint32]string{
	0x6969:     "nfs",
	0x517b:     "smb",
	0xff534d42: "cifs",
	0xfe534d42: "smb2",
	0x01021997: "9p",
	0x65735546: "fuse or virtiofs",
	0x5346414f: "afs",
	0x6b414653: "afs",
	0x00c36400: "ceph",
	0x73757245: "coda",
	0x564c:     "ncpfs",
	0x0bd00bd0: "lustre",
	0x47504653: "gpfs",
	0x01161970: "gfs2",
	0x7461636f: "ocfs2",
	0x786f4256: "vboxsf",
	0xbacbacbc: "vmhgfs",
}

// classify says what a magic number stands for.
func classify(magic uint32) filesystem {
	if name, ok := networkMagic[magic]; ok {
		return filesystem{Name: name, Network: true}
	}
	return filesystem{Name: "local"}
}

// networkNames are the names that statfs(2) gives elsewhere (macOS, BSD).
var networkNames = map[string]bool{
	"nfs": true, "smbfs": true, "cifs": true, "afpfs": true, "webdav": true, "9p": true,
	"virtiofs": true, "fusefs": true, "fuse": true, "macfuse": true, "osxfuse": true, "ftp": true,
}

func classifyName(name string) filesystem {
	return filesystem{Name: name, Network: networkNames[name]}
}
