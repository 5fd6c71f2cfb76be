//go:build linux

package supervise

import (
	"fmt"

	"golang.org/x/sys/unix"

	"cyberagent/cmd/standard-code-runner/internal/tree"
	"cyberagent/domain/runnerproto"
)

// Verdict says why the command must end: StopNone if it need not.
type Verdict struct {
	Stop   runnerproto.Stop
	Detail string
}

// Space is what a filesystem has free. Inodes is -1 where it does not count them.
type Space struct {
	Bytes  int64
	Inodes int64
}

// FreeSpace asks a filesystem. Bytes are those that an ordinary user may take.
func FreeSpace(fd int) (Space, error) {
	var fs unix.Statfs_t
	for {
		err := unix.Fstatfs(fd, &fs)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return Space{}, fmt.Errorf("statfs: %w", err)
		}
		break
	}
	s := Space{Bytes: int64(fs.Bavail) * fs.Bsize, Inodes: int64(fs.Ffree)}
	if fs.Files == 0 { // btrfs and others count none
		s.Inodes = -1
	}
	return s, nil
}

// Headroom judges what the host has left.
func Headroom(s Space, q runnerproto.Quota) Verdict {
	switch {
	case s.Bytes < q.HeadroomBytes:
		return Verdict{runnerproto.StopHeadroom, fmt.Sprintf("%d bytes are free on the workspace's filesystem, %d must be", s.Bytes, q.HeadroomBytes)}
	case s.Inodes >= 0 && s.Inodes < q.HeadroomInodes:
		return Verdict{runnerproto.StopHeadroom, fmt.Sprintf("%d inodes are free on the workspace's filesystem, %d must be", s.Inodes, q.HeadroomInodes)}
	}
	return Verdict{}
}

// Growth judges what the workspace grew by.
func Growth(g tree.Usage, q runnerproto.Quota) Verdict {
	switch {
	case g.Bytes > q.GrowthBytes:
		return Verdict{runnerproto.StopGrowthBytes, fmt.Sprintf("the workspace grew by %d bytes, %d are allowed", g.Bytes, q.GrowthBytes)}
	case g.Entries > q.GrowthEntries:
		return Verdict{runnerproto.StopGrowthEntries, fmt.Sprintf("the workspace grew by %d entries, %d are allowed", g.Entries, q.GrowthEntries)}
	}
	return Verdict{}
}
