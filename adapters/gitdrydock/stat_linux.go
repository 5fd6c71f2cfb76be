package gitdrydock

import (
	"time"

	"golang.org/x/sys/unix"
)

func statOf(s *unix.Stat_t) stat {
	return stat{
		size:  s.Size,
		mtime: s.Mtim.Nano(),
		ctime: s.Ctim.Nano(),
		ino:   s.Ino,
		dev:   uint64(s.Dev), //nolint:unconvert // 32 bits on some architectures
		mode:  s.Mode,
	}
}

func (s stat) kind() uint32 { return s.mode & unix.S_IFMT }

// gitMode is the mode that git would record for a regular file.
func (s stat) gitMode() uint32 {
	if s.mode&unix.S_IXUSR != 0 {
		return modeExecutable
	}
	return modeFile
}

func lstatAt(dir int, name string) (stat, error) {
	var s unix.Stat_t
	_, err := retry(func() (int, error) { return 0, unix.Fstatat(dir, name, &s, unix.AT_SYMLINK_NOFOLLOW) })
	return statOf(&s), err
}

func fstat(fd int) (stat, error) {
	var s unix.Stat_t
	_, err := retry(func() (int, error) { return 0, unix.Fstat(fd, &s) })
	return statOf(&s), err
}

// Windows in which a second change could leave the same time stamp: kernels
// stamp with a clock that ticks every 10 ms at most, and file systems without
// nanoseconds tick once a second or two.
const (
	racyWindow      = 50 * time.Millisecond
	racyWindowWhole = 2 * time.Second
)

// racy says whether a file with this stat could still change without its stat
// changing, seen from the moment when its content was read.
func racy(s stat, readAt time.Time) bool {
	window := racyWindow
	if s.ctime%int64(time.Second) == 0 {
		window = racyWindowWhole
	}
	return s.ctime+window.Nanoseconds() >= readAt.UnixNano()
}
