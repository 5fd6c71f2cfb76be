package gitdrydock

import (
	"context"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"cyberagent/internal/procs"
)

// Hidden implements ports.Meter: it walks the open files and the mappings of
// every process of one pid namespace. Only root may look into another user's.
func (d *Drydocks) Hidden(ctx context.Context, root string, pid int) (int64, bool) {
	if os.Geteuid() != 0 || pid <= 0 {
		return 0, false
	}
	space, err := pidSpace(pid)
	if err != nil {
		return 0, false
	}
	var at unix.Stat_t
	if err := unix.Stat(root, &at); err != nil {
		return 0, false
	}
	all, err := procs.IDs()
	if err != nil {
		return 0, false
	}
	var inside []int
	for _, p := range all {
		if ctx.Err() != nil {
			return 0, false
		}
		if in, err := pidSpace(p); err == nil && in == space {
			inside = append(inside, p)
		}
	}
	return procs.Nameless(inside, at.Dev, math.MaxInt64), true
}

// pidSpace names a process's pid namespace.
func pidSpace(pid int) (string, error) {
	return os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
}
