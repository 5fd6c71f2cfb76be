package gitdrydock

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"cyberagent/internal/durable"
)

const (
	openDir  = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	openFile = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	// resolveBeneath refuses every link, every way out, and every mount on the
	// way.
	resolveBeneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV
)

// openRoot opens an absolute directory path in which no component is a link.
func openRoot(path string) (int, error) {
	how := &unix.OpenHow{Flags: openDir, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := retry(func() (int, error) { return unix.Openat2(unix.AT_FDCWD, path, how) })
	if !noOpenat2(err) {
		return fd, err
	}
	top, err := unix.Open("/", openDir, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(top)
	return openStep(top, strings.Trim(path, "/"), openDir)
}

// openBeneath opens a path relative to root, which is the empty path, without
// leaving it, following a link, or entering a mount. flags are openDir or
// openFile.
func openBeneath(root int, path string, flags int) (int, error) {
	if path == "" {
		path = "."
	}
	how := &unix.OpenHow{Flags: uint64(flags), Resolve: resolveBeneath}
	fd, err := retry(func() (int, error) { return unix.Openat2(root, path, how) })
	if !noOpenat2(err) {
		return fd, err
	}
	return openStep(root, path, flags)
}

// noOpenat2 says that the kernel, or a filter in front of it, has no openat2.
func noOpenat2(err error) bool {
	return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.E2BIG)
}

// openStep does the same one component at a time, each without following links.
// Mounts are not seen here; walks compare device numbers besides.
func openStep(root int, path string, flags int) (int, error) {
	fd, err := unix.Openat(root, ".", openDir, 0)
	if err != nil {
		return -1, err
	}
	names := strings.Split(path, "/")
	for i, name := range names {
		if name == ".." {
			_ = unix.Close(fd)
			return -1, unix.EXDEV
		}
		f := openDir
		if i == len(names)-1 {
			f = flags
		}
		next, err := retry(func() (int, error) { return unix.Openat(fd, name, f, 0) })
		_ = unix.Close(fd)
		if err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

// retry repeats a call that a signal interrupted.
func retry(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return n, err
		}
	}
}

// openRegular opens a regular file without following a last link and without
// blocking on what is not a file.
func openRegular(path string) (*os.File, os.FileInfo, error) {
	fd, err := retry(func() (int, error) { return unix.Open(path, openFile, 0) })
	if err != nil {
		return nil, nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// readRegular reads a small regular file whole. It fails when there are more
// bytes than most.
func readRegular(path string, most int64) ([]byte, error) {
	f, info, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := bytes.NewBuffer(make([]byte, 0, min(info.Size(), most)+bytes.MinRead))
	n, err := b.ReadFrom(io.LimitReader(f, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return b.Bytes(), err
}

// writeAtomic replaces a file of ours: other processes see the old bytes or the
// new ones, and the new ones are on disk first when it lasts.
func writeAtomic(path string, b []byte, lasts bool) error {
	tmp, err := os.CreateTemp(dirOf(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already when all went well
	_, err = tmp.Write(b)
	if err == nil && lasts {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err == nil && lasts {
		err = durable.Sync(dirOf(path))
	}
	return err
}

func dirOf(path string) string { return path[:strings.LastIndexByte(path, '/')] }
