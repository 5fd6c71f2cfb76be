package containerd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A shim that is killed leaves its container's processes running, and the engine
// forgets the task all the same (tried, 1.6 and 2.4). The cgroup is named by the
// specification and holds nothing else, so it tells whether they live and whom to
// kill.

// groupDirs are the container's cgroup in every hierarchy.
func groupDirs(name string) []string {
	var all []string
	for _, pattern := range []string{cgroupMount, filepath.Join(cgroupMount, "*")} {
		found, err := filepath.Glob(filepath.Join(pattern, cgroupRoot, name))
		if err == nil {
			all = append(all, found...)
		}
	}
	return all
}

// groupPIDs are the processes that live in it. An unreadable group counts as one
// that nobody can name.
func groupPIDs(name string) ([]int, error) {
	var pids []int
	for _, d := range groupDirs(name) {
		b, err := os.ReadFile(filepath.Join(d, "cgroup.procs"))
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
				continue // removed meanwhile
			}
			return nil, err
		}
		for f := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
	}
	return pids, nil
}

// killGroup kills what lives in it; a frozen process dies when it is thawed.
func killGroup(name string) error {
	pids, err := groupPIDs(name)
	for _, pid := range pids {
		if e := syscall.Kill(pid, syscall.SIGKILL); e != nil && !errors.Is(e, syscall.ESRCH) {
			err = errors.Join(err, e)
		}
	}
	for _, d := range groupDirs(name) {
		_ = os.WriteFile(filepath.Join(d, "freezer.state"), []byte("THAWED"), 0)
		_ = os.WriteFile(filepath.Join(d, "cgroup.freeze"), []byte("0"), 0)
	}
	return err
}

// dropGroup removes the empty directories that a runtime which was killed left.
func dropGroup(name string) error {
	var err error
	for _, d := range groupDirs(name) {
		if e := os.Remove(d); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}
