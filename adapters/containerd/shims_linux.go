package containerd

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"cyberagent/internal/procs"
)

// A shim is told its namespace and its container by arguments, which the process
// list shows. Only this user's processes count: a stranger can write what it likes
// into its own arguments.

// shims are the processes that serve one container: its shim, and for a moment the
// same program making or ending it, which alone has a verb.
func shims(namespace, name string) (serving, working []int) {
	pids, err := procs.IDs()
	if err != nil {
		return nil, nil
	}
	for _, pid := range pids {
		switch args := shimArguments(pid); {
		case !follows(args, "-namespace", namespace), !follows(args, "-id", name):
		case slices.Contains(args, "start"), slices.Contains(args, "delete"):
			working = append(working, pid)
		default:
			serving = append(serving, pid)
		}
	}
	return serving, working
}

// shimArguments is empty for a process that is no shim of this user's.
func shimArguments(pid int) []string {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	b, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil || !strings.Contains(string(b), "\x00-namespace\x00") {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return nil
	}
	return strings.Split(string(b), "\x00")
}

func follows(args []string, flag, value string) bool {
	i := slices.Index(args, flag)
	return i >= 0 && i+1 < len(args) && args[i+1] == value
}

// killShim ends a container's shim.
func killShim(pid int, namespace, name string) error {
	_, err := procs.KillIf(pid, func() bool {
		args := shimArguments(pid)
		return follows(args, "-namespace", namespace) && follows(args, "-id", name)
	})
	return err
}
