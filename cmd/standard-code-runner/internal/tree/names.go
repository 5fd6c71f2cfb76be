//go:build linux

package tree

import (
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxWatches bounds the kernel's memory for one container's watches, which all
// containers of the user share.
const maxWatches = 8192

// Names counts names that appear in the directories that a scan has seen. It is a
// hint and no count: hard links take no inode and hardly any space, so that
// nothing else tells of them. What it misses, a full scan finds: directories made
// since the last scan, those beyond the limits of inotify, and all of them where
// there is no inotify to be had.
type Names struct {
	fd  int
	buf []byte

	mu      sync.Mutex
	left    int // that may be added in this scan
	watched map[FileID]int32
	ids     map[int32]FileID
}

// overflow is what a lost queue of events counts as: the kernel's default length.
const overflow = 16384

// WatchNames begins to count. It returns nil where it cannot: a nil Names counts
// nothing.
func (t *Tree) WatchNames() *Names {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	t.names = &Names{fd: fd, buf: make([]byte, 64<<10), watched: map[FileID]int32{}, ids: map[int32]FileID{}}
	return t.names
}

// begin is the beginning of a scan. The first finds the directories that were
// there; a later one must not take longer for those that the command made, which
// take an inode each and are seen by that.
func (n *Names) begin() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.left = maxWatches; len(n.watched) > 0 {
		n.left = 64
	}
}

// add watches an open directory, once.
func (n *Names) add(fd int, id FileID) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.watched[id]; ok || n.left == 0 || len(n.watched) >= maxWatches {
		return
	}
	n.left--
	const appears = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_ONLYDIR
	wd, err := unix.InotifyAddWatch(n.fd, fmt.Sprintf("/proc/self/fd/%d", fd), appears)
	if err != nil {
		return // the user's watches are used up, perhaps by another container
	}
	n.watched[id], n.ids[int32(wd)] = int32(wd), id
}

// New is how many names have appeared since the last call.
func (n *Names) New() int64 {
	if n == nil {
		return 0
	}
	var count int64
	for {
		size, err := unix.Read(n.fd, n.buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || size <= 0 {
			return count
		}
		count += n.take(n.buf[:size])
	}
}

// take counts the events of one read.
func (n *Names) take(b []byte) (count int64) {
	for len(b) >= unix.SizeofInotifyEvent {
		e := (*unix.InotifyEvent)(unsafe.Pointer(&b[0]))
		size := unix.SizeofInotifyEvent + int(e.Len)
		switch {
		case e.Mask&unix.IN_Q_OVERFLOW != 0:
			count += overflow
		case e.Mask&unix.IN_IGNORED != 0: // the directory is gone, its number may be another's
			n.mu.Lock()
			delete(n.watched, n.ids[e.Wd])
			delete(n.ids, e.Wd)
			n.mu.Unlock()
		default:
			count++
		}
		if size > len(b) {
			return count
		}
		b = b[size:]
	}
	return count
}
