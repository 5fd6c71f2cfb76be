package gitdrydock

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Hidden implements ports.Meter: it walks the open files and the mappings of
// every process of one pid namespace. Only root may look into another user's.
func (d *Drydocks) Hidden(ctx context.Context, root string, pid int) (int64, bool) {
	if os.Geteuid() != 0 || pid <= 0 {
		return 0, false
	}
	space, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	if err != nil {
		return 0, false
	}
	var at unix.Stat_t
	if err := unix.Stat(root, &at); err != nil {
		return 0, false
	}
	all, err := os.ReadDir("/proc")
	if err != nil {
		return 0, false
	}
	seen := map[uint64]bool{}
	var sum int64
	for _, e := range all {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		if ctx.Err() != nil {
			return 0, false
		}
		proc := filepath.Join("/proc", e.Name())
		// A process that ends meanwhile holds nothing any more.
		if ns, err := os.Readlink(proc + "/ns/pid"); err != nil || ns != space {
			continue
		}
		for _, kind := range []string{"fd", "map_files"} {
			sum += unnamed(filepath.Join(proc, kind), at.Dev, seen)
		}
	}
	return sum, true
}

// unnamed adds up files without a name on one device, each once.
func unnamed(dir string, dev uint64, seen map[uint64]bool) int64 {
	open, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	var sum int64
	for _, e := range open {
		var st unix.Stat_t
		if err := unix.Stat(filepath.Join(dir, e.Name()), &st); err != nil {
			continue
		}
		if st.Dev != dev || st.Nlink != 0 || st.Mode&unix.S_IFMT != unix.S_IFREG || seen[st.Ino] {
			continue
		}
		seen[st.Ino] = true
		sum += st.Blocks * 512
	}
	return sum
}
