package gitdrydock

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
)

// writeTree writes the base commit's files from raw blobs: no filter, no line
// ends, no attributes. It follows no link and replaces nothing; what a crash
// left is completed when it is a beginning of the same bytes.
func (v visit) writeTree(ctx context.Context, a access, b *baseTree) error {
	root, err := openRoot(v.k.tree)
	if err != nil {
		return unreadable("", err)
	}
	defer unix.Close(root)
	if a.way == drydock.AccessACL {
		err = a.setDir(v.k.tree)
	} else {
		err = a.finishDir(root)
	}
	if err != nil {
		return fault.Wrap(fault.Unsupported, err, "the container's user cannot be let into the Drydock").
			Hint("root needs the right to change owners here; it has none in a user namespace without uid 65532")
	}
	for _, x := range append(b.dirs[:len(b.dirs):len(b.dirs)], b.modules...) {
		if err := a.makeDir(root, x.path); err != nil {
			return writeError(x.path, err)
		}
	}
	return v.blobs(ctx, b.files, func(in *bufio.Reader) (func(leaf) error, func()) {
		w := treeWriter{in: in, root: root, dir: -1, access: a}
		return w.write, w.close
	})
}

// blobs hands the raw content of files, in order, to what begin returns: one that
// takes the next file and one that ends it. Each shard has a cat-file and a begin
// of its own; neighbours share directories.
func (v visit) blobs(ctx context.Context, files []leaf, begin func(*bufio.Reader) (func(leaf) error, func())) error {
	shards := min(runtime.NumCPU(), 4, 1+len(files)/200)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for i := range shards {
		part := files[len(files)*i/shards : len(files)*(i+1)/shards]
		if len(part) == 0 {
			continue
		}
		wg.Go(func() {
			if err := v.shard(ctx, part, begin); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (v visit) shard(ctx context.Context, files []leaf, begin func(*bufio.Reader) (func(leaf) error, func())) error {
	var names bytes.Buffer
	for _, x := range files {
		names.WriteString(x.oid.String() + "\n")
	}
	_, err := v.l.run(ctx, gitCall{
		gitDir: v.k.shadow, args: []string{"cat-file", "--batch", "--buffer"}, stdin: &names, timeout: longDeadline,
		stdout: func(r io.Reader) error {
			write, end := begin(bufio.NewReaderSize(r, 256<<10))
			defer end()
			for _, x := range files {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := write(x); err != nil {
					return writeError(x.path, err)
				}
			}
			return nil
		},
	})
	return err
}

// treeWriter writes the blobs that one cat-file hands out, in order.
type treeWriter struct {
	in     *bufio.Reader
	root   int
	dir    int // open directory of the last entry, -1 when none
	path   string
	access access
	a, b   []byte
}

func (w *treeWriter) close() {
	if w.dir >= 0 {
		_ = unix.Close(w.dir)
		w.dir = -1
	}
}

func (w *treeWriter) write(x leaf) error {
	object, size, err := objectHeader(w.in)
	if err != nil {
		return err
	}
	if object != x.oid.String() || size != x.size {
		return fmt.Errorf("git has %d bytes of it, not %d", size, x.size)
	}
	dir, name := split(x.path)
	if w.dir < 0 || w.path != dir {
		w.close()
		if w.dir, err = openBeneath(w.root, dir, openDir); err != nil {
			w.dir = -1
			return err
		}
		w.path = dir
	}
	if x.mode == modeSymlink {
		err = w.link(name, x)
	} else {
		err = w.file(name, x)
	}
	if err != nil {
		return err
	}
	return objectEnd(w.in)
}

func (w *treeWriter) link(name string, x leaf) error {
	target := make([]byte, x.size)
	if _, err := io.ReadFull(w.in, target); err != nil {
		return err
	}
	err := unix.Symlinkat(string(target), w.dir, name)
	if errors.Is(err, unix.EEXIST) {
		buf := make([]byte, 4097)
		if n, err := unix.Readlinkat(w.dir, name, buf); err != nil || string(buf[:n]) != string(target) {
			return foreign(change{path: x.path, kind: drydock.Modified})
		}
		err = nil
	}
	if err != nil {
		return err
	}
	return w.access.ownLink(w.dir, name)
}

func (w *treeWriter) file(name string, x leaf) error {
	mode, _ := w.access.modes(plainMode(x.mode) == modeExecutable)
	const flags = unix.O_RDWR | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := retry(func() (int, error) { return unix.Openat(w.dir, name, flags|unix.O_CREAT|unix.O_EXCL, mode) })
	left := x.size
	if errors.Is(err, unix.EEXIST) {
		if fd, err = retry(func() (int, error) { return unix.Openat(w.dir, name, flags, 0) }); err == nil {
			left, err = w.compare(fd, x)
		}
	}
	if err != nil {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
		return err
	}
	defer unix.Close(fd)
	if err := w.fill(fd, left); err != nil {
		return err
	}
	if w.access.way == drydock.AccessOwner {
		if err := unix.Fchmod(fd, mode); err != nil {
			return err
		}
	}
	return w.access.own(fd)
}

// fill appends the next n bytes of the blob.
func (w *treeWriter) fill(fd int, n int64) error {
	if w.a == nil {
		w.a, w.b = make([]byte, 64<<10), make([]byte, 64<<10)
	}
	for n > 0 {
		chunk := w.a[:min(n, int64(len(w.a)))]
		if _, err := io.ReadFull(w.in, chunk); err != nil {
			return err
		}
		for rest := chunk; len(rest) > 0; {
			k, err := retry(func() (int, error) { return unix.Write(fd, rest) })
			if err != nil {
				return err
			}
			rest = rest[k:]
		}
		n -= int64(len(chunk))
	}
	return nil
}

// compare reads a file that is there already against the blob and returns how
// many bytes it lacks at its end. Any other difference is foreign.
func (w *treeWriter) compare(fd int, x leaf) (left int64, err error) {
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return 0, err
	}
	if statOf(&s).kind() != unix.S_IFREG || s.Nlink != 1 || s.Size > x.size {
		return 0, foreign(change{path: x.path, kind: drydock.Modified})
	}
	if w.a == nil {
		w.a, w.b = make([]byte, 64<<10), make([]byte, 64<<10)
	}
	for done := int64(0); done < s.Size; {
		n := min(s.Size-done, int64(len(w.a)))
		if _, err := io.ReadFull(w.in, w.a[:n]); err != nil {
			return 0, err
		}
		if k, err := unix.Pread(fd, w.b[:n], done); err != nil || int64(k) != n || !bytes.Equal(w.a[:n], w.b[:n]) {
			return 0, foreign(change{path: x.path, kind: drydock.Modified})
		}
		done += n
	}
	_, err = unix.Seek(fd, s.Size, io.SeekStart)
	return x.size - s.Size, err
}

// makeDir makes one directory whose parent is there; one that exists must be a
// directory.
func (a access) makeDir(root int, path string) error {
	dir, name := split(path)
	parent, err := openBeneath(root, dir, openDir)
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	_, mode := a.modes(false)
	if err := unix.Mkdirat(parent, name, mode); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	if a.way == drydock.AccessACL {
		return nil // inherited
	}
	fd, err := retry(func() (int, error) { return unix.Openat(parent, name, openDir, 0) })
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return a.finishDir(fd)
}

func (a access) finishDir(fd int) error {
	_, mode := a.modes(false)
	return errors.Join(unix.Fchmod(fd, mode), a.own(fd))
}

func writeError(path string, err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fault.Wrap(fault.DiskFull, err, "the Drydock's files cannot be written").Hint("free some disk space, then repeat")
	}
	return because(err, fault.New(fault.RecoveryRequired, "the entry %s cannot be written", show(path)).With("path", show(path)))
}
