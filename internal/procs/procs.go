// Package procs finds processes of this host and ends exactly the one that is meant.
package procs

import (
	"errors"
	"os"
	"strconv"
)

// IDs are the numbers of all processes, where the kernel lists them in /proc.
func IDs() ([]int, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// KillIf kills a process if it is still the one that is meant. It is held first and
// looked at then, for its number may have become another's. killed is false for one
// that is not meant, or has ended.
func KillIf(pid int, meant func() bool) (killed bool, err error) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false, err
	}
	defer func() { _ = p.Release() }()
	if !meant() {
		return false, nil
	}
	err = p.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		return false, nil
	}
	return err == nil, err
}
