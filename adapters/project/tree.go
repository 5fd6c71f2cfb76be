package project

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
)

// stamp is the time of every file in an image that has no time of its own.
var stamp = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// tree is one directory of the operator, or one that a container wrote.
type tree struct {
	field string // what to name in errors
	root  *os.Root
	// left is what may still be read of it.
	bytes, entries int64
}

func openTree(field, dir string) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fault.Wrap(fault.InvalidArgument, err, "%s cannot be opened", dir).At(field).
			Hint("name an existing directory")
	}
	return newTree(field, root), nil
}

func newTree(field string, root *os.Root) *tree {
	return &tree{field: field, root: root, bytes: limits.ProjectBytes, entries: limits.ProjectEntries}
}

// sub opens a directory below, nil when there is none. A link in its place is
// refused.
func (t *tree) sub(field, name string) (*tree, error) {
	if _, err := t.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	info, err := t.lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, t.refuse(name, "is not a directory")
	}
	root, err := t.root.OpenRoot(name)
	if err != nil {
		return nil, t.unreadable(name, err)
	}
	if now, err := root.Stat("."); err != nil || !os.SameFile(now, info) {
		_ = root.Close()
		return nil, t.refuse(name, "changed while it was read")
	}
	return newTree(field, root), nil
}

// close ends reading; nothing was written that could fail.
func (t *tree) close() { _ = t.root.Close() }

// refuse is the answer for an entry that is not taken.
func (t *tree) refuse(name, format string, a ...any) error {
	return fault.New(fault.InvalidArgument, "%q %s", name, fmt.Sprintf(format, a...)).At(t.field).With("path", name).
		Hint("fetch the dependencies anew into a directory of their own, with plain files only")
}

// kind of an entry, as it is itself.
func (t *tree) lstat(name string) (fs.FileInfo, error) {
	info, err := t.root.Lstat(name)
	if err != nil {
		return nil, t.unreadable(name, err)
	}
	if !info.Mode().IsRegular() && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0 {
		return nil, t.refuse(name, "is neither a file, a directory nor a link")
	}
	if info.Mode().IsRegular() && hardLinks(info) > 1 {
		return nil, t.refuse(name, "has another name (%d hard links)", hardLinks(info))
	}
	return info, nil
}

func (t *tree) unreadable(name string, err error) error {
	return fault.Wrap(fault.InvalidArgument, err, "%q cannot be read", name).At(t.field).With("path", name).
		Hint("make it readable, or fetch the dependencies anew")
}

// file opens a regular file that lstat has seen. What took its place meanwhile is
// refused, and a FIFO in its place does not block.
func (t *tree) file(name string, want fs.FileInfo) (*os.File, error) {
	if want.Size() > limits.ProjectFileBytes {
		return nil, t.refuse(name, "has %d bytes, more than %d", want.Size(), limits.ProjectFileBytes)
	}
	if t.bytes -= want.Size(); t.bytes < 0 {
		return nil, t.refuse(name, "is beyond %d bytes in all", limits.ProjectBytes)
	}
	f, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, t.unreadable(name, err)
	}
	if info, err := f.Stat(); err != nil || !os.SameFile(info, want) || info.Size() != want.Size() {
		_ = f.Close()
		return nil, t.refuse(name, "changed while it was read")
	}
	return f, nil
}

// read returns a small file, and false when there is none.
func (t *tree) read(name string, most int64) ([]byte, bool, error) {
	if _, err := t.root.Lstat(name); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, false, nil
	}
	info, err := t.lstat(name)
	if err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, false, t.refuse(name, "is not a plain file")
	}
	if info.Size() > most {
		return nil, false, t.refuse(name, "has %d bytes, more than %d", info.Size(), most)
	}
	f, err := t.file(name, info)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, info.Size()+1))
	if err == nil && int64(len(data)) != info.Size() {
		return nil, false, t.refuse(name, "changed while it was read")
	}
	return data, err == nil, err
}

// names lists a directory, sorted, with every name checked.
func (t *tree) names(dir string) ([]string, error) {
	d, err := t.root.Open(dir)
	if err != nil {
		return nil, t.unreadable(dir, err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, t.unreadable(dir, err)
	}
	if strings.Count(dir, "/") > limits.TreeDepth {
		return nil, t.refuse(dir, "is over %d levels deep", limits.TreeDepth)
	}
	for _, n := range names {
		if t.entries--; t.entries < 0 {
			return nil, t.refuse(dir, "is beyond %d entries in all", limits.ProjectEntries)
		}
		if !utf8.ValidString(n) || strings.ContainsFunc(n, unicode.IsControl) || strings.ContainsRune(n, '\\') ||
			strings.HasPrefix(n, ".wh.") || len(dir)+len(n) > limits.TreeNameBytes {
			return nil, t.refuse(path.Join(dir, n), "is a name that no package has")
		}
	}
	slices.Sort(names)
	return names, nil
}

// walk calls visit for every entry below dir, parents first, in a fixed order.
// visit returns false for a directory that is not to be entered.
func (t *tree) walk(ctx context.Context, dir string, visit func(name string, info fs.FileInfo) (bool, error)) error {
	names, err := t.names(dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Join(dir, n)
		info, err := t.lstat(name)
		if err != nil {
			return err
		}
		enter, err := visit(name, info)
		if err != nil {
			return err
		}
		if info.IsDir() && enter {
			if err := t.walk(ctx, name, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// tarball writes entries with fixed times, modes and owners.
type tarball struct {
	*tar.Writer
}

func newTarball(w io.Writer) tarball { return tarball{tar.NewWriter(w)} }

func (w tarball) dir(name string) error {
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: stamp})
}

func (w tarball) link(name, target string) error {
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777, ModTime: stamp})
}

// file begins a file, whose bytes are written next.
func (w tarball) file(name string, mode, size int64) error {
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: size, ModTime: stamp})
}

func (w tarball) bytes(name string, mode int64, data []byte) error {
	if err := w.file(name, mode, int64(len(data))); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// stream writes a file of exactly that size.
func (w tarball) stream(name string, mode, size int64, r io.Reader) error {
	if err := w.file(name, mode, size); err != nil {
		return err
	}
	if n, err := io.Copy(w, r); err != nil || n != size {
		return cmp.Or(err, fmt.Errorf("%s has %d bytes, not %d", name, n, size))
	}
	return nil
}

// copy writes one file of a tree under another name.
func (w tarball) copy(t *tree, name, as string, info fs.FileInfo) error {
	f, err := t.file(name, info)
	if err != nil {
		return err
	}
	defer f.Close()
	mode := int64(0o644)
	if info.Mode().Perm()&0o111 != 0 {
		mode = 0o755
	}
	if err := w.file(as, mode, info.Size()); err != nil {
		return err
	}
	if n, err := io.Copy(w, io.LimitReader(f, info.Size())); err != nil {
		return t.unreadable(name, err)
	} else if n != info.Size() {
		return t.refuse(name, "changed while it was read")
	}
	return nil
}

// whole writes everything as a tar. link decides about links.
func (t *tree) whole(ctx context.Context, w io.Writer, link func(name, target string) (string, error)) error {
	out := newTarball(w)
	if err := t.into(ctx, out, ".", link); err != nil {
		return err
	}
	return out.Close()
}

// into writes everything below a directory of a tar.
func (t *tree) into(ctx context.Context, out tarball, at string, link func(name, target string) (string, error)) error {
	if err := out.dir(at); err != nil {
		return err
	}
	return t.walk(ctx, ".", func(name string, info fs.FileInfo) (bool, error) {
		as := path.Join(at, name)
		switch {
		case info.IsDir():
			return true, out.dir(as)
		case info.Mode().IsRegular():
			return false, out.copy(t, name, as, info)
		}
		target, err := t.root.Readlink(name)
		if err != nil {
			return false, t.unreadable(name, err)
		}
		if target, err = link(name, target); err != nil {
			return false, err
		}
		return false, out.link(as, target)
	})
}

// inside keeps links that stay below the tree.
func (t *tree) inside(name, target string) (string, error) {
	if path.IsAbs(target) || up(path.Join(path.Dir(name), target)) {
		return "", t.refuse(name, "is a link that leads out (%q)", target)
	}
	return target, nil
}

// up says whether a clean relative path leads out.
func up(p string) bool { return p == ".." || strings.HasPrefix(p, "../") }
