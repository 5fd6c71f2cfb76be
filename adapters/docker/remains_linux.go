package docker

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"cyberagent/domain/limits"
	"cyberagent/internal/procs"
	"cyberagent/ports"
)

// A dockerd that is killed between the runner's first instruction and saving that
// it runs forgets it: started again, it calls the container created, removes it
// when asked, and leaves its process running (20.10.24).
// A killed shim may leave processes, too. The cgroup is named by the container's
// id, which nothing else has, so it tells whether they live and whom to end.

// remains are the living processes of a container on this host.
func remains(c ports.ContainerID) ([]int, error) {
	if len(c) != longID {
		return nil, nil // nobody's cgroup can be told by a shorter one
	}
	all, err := procs.IDs()
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, pid := range all {
		if len(groups(pid, c)) > 0 && living(pid) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// groups are the cgroups of a process that are the container's, by their
// controllers.
func groups(pid int, c ports.ContainerID) map[string]string {
	b, err := os.ReadFile(proc(pid, "cgroup"))
	if err != nil || !bytes.Contains(b, []byte(c)) {
		return nil
	}
	all := map[string]string{}
	for line := range strings.Lines(string(b)) {
		// number:controllers:path
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) == 3 && strings.Contains(f[2], string(c)) {
			all[f[1]] = f[2]
		}
	}
	return all
}

// endRemain kills a process that is the container's first and its user's. All
// others of its namespace die with it.
func endRemain(pid int, c ports.ContainerID) error {
	var of map[string]string
	killed, err := procs.KillIf(pid, func() bool {
		of = groups(pid, c)
		return len(of) > 0 && isRunner(pid)
	})
	if dir := of["freezer"]; killed && dir != "" {
		// A frozen process dies when it is thawed.
		_ = os.WriteFile(filepath.Join("/sys/fs/cgroup/freezer", dir, "freezer.state"), []byte("THAWED"), 0)
	}
	return err
}

// isRunner says whether a process is the first of a pid namespace below ours and
// has the container's user alone. runc has it as well, when it waits for the order
// to start the runner.
func isRunner(pid int) bool {
	uid := strconv.Itoa(limits.UID)
	return status(pid, "Uid:", func(f []string) bool {
		return len(f) == 4 && !slices.ContainsFunc(f, func(u string) bool { return u != uid })
	}) && status(pid, "NSpid:", func(f []string) bool { return len(f) > 1 && f[len(f)-1] == "1" })
}

// living is false for one that has ended and only waits to be noticed.
func living(pid int) bool {
	return status(pid, "State:", func(f []string) bool { return len(f) > 0 && f[0] != "Z" && f[0] != "X" })
}

// status tells whether the words after a key of the kernel's report are right; they
// are not when the process is gone.
func status(pid int, key string, right func([]string) bool) bool {
	b, err := os.ReadFile(proc(pid, "status"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			return right(strings.Fields(rest))
		}
	}
	return false
}

func proc(pid int, file string) string { return filepath.Join("/proc", strconv.Itoa(pid), file) }
