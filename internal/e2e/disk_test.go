package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A home lies on a filesystem of its own where this machine allows that. The
// product watches how much space is free beside a running command; what other
// programs of a busy machine write there would disturb the tests of that rule.
const (
	diskBytes   = 6 << 30 // more than the headroom that the product demands
	bytesAnNode = 4096    // and so 1.5 million inodes
)

// mustDisk makes dir an empty filesystem, or an ordinary directory where nothing
// can be mounted. The returned function takes it away again.
func mustDisk(t testing.TB, dir string) (remove func()) {
	t.Helper()
	must(t, os.Mkdir(dir, 0o755))
	image := dir + ".img"
	mounted := func() error {
		f, err := os.Create(image)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Truncate(diskBytes); err != nil {
			return err
		}
		// The inode tables stay holes of the image's file.
		if err := tool("mkfs.ext4", "-q", "-F", "-m", "0", "-i", fmt.Sprint(bytesAnNode), "-E", "lazy_itable_init=1,lazy_journal_init=1", image); err != nil {
			return err
		}
		return tool("mount", "-o", "loop,noinit_itable", image, dir)
	}()
	if mounted != nil {
		t.Logf("%s is on a shared disk: %v", filepath.Base(dir), mounted)
	}
	return func() {
		if mounted == nil {
			// It fails while anything of ours still uses it.
			if err := tool("umount", dir); err != nil {
				t.Error(err)
				return
			}
		}
		for _, path := range []string{dir, image} {
			if err := os.RemoveAll(path); err != nil {
				t.Error(err)
			}
		}
	}
}

// tool runs a program of the system.
func tool(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
	}
	return nil
}
