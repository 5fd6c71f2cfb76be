package procs

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Nameless adds up what open and mapped files without a name take on one device, in
// bytes on the disk, each file once, and stops when it is more than most. What the
// caller may not look into counts as nothing, and so does a process that ended: it
// holds nothing any more.
func Nameless(pids []int, dev uint64, most int64) int64 {
	seen := map[uint64]bool{}
	var sum int64
	for _, pid := range pids {
		for _, kind := range []string{"fd", "map_files"} {
			sum += nameless(filepath.Join("/proc", strconv.Itoa(pid), kind), dev, most-sum, seen)
			if sum > most {
				return sum
			}
		}
	}
	return sum
}

func nameless(dir string, dev uint64, most int64, seen map[uint64]bool) int64 {
	d, err := os.Open(dir)
	if err != nil {
		return 0
	}
	defer func() { _ = d.Close() }()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return 0
	}
	var sum int64
	for _, name := range names {
		var st unix.Stat_t
		if unix.Stat(dir+"/"+name, &st) != nil {
			continue
		}
		if st.Dev != dev || st.Nlink != 0 || st.Mode&unix.S_IFMT != unix.S_IFREG || seen[st.Ino] {
			continue
		}
		seen[st.Ino] = true
		if sum += st.Blocks * 512; sum > most {
			break
		}
	}
	return sum
}
