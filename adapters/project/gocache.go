package project

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"cyberagent/domain/toolchain"
	"cyberagent/ports"
)

// Ovens implements ports.Ovens.
type Ovens struct{}

var _ ports.Ovens = Ovens{}

// Put implements ports.Ovens.
func (Ovens) Put(_ context.Context, root, name string, data []byte) error {
	w, err := newWriter(root)
	if err != nil {
		return err
	}
	defer w.close()
	return w.write(name, data)
}

// openBelow opens a directory that a container has made.
func openBelow(root, dir string) (*tree, error) {
	t, err := openTree("oven", root)
	if err != nil {
		return nil, err
	}
	defer t.close()
	sub, err := t.sub("oven", dir)
	if err == nil && sub == nil {
		err = t.refuse(dir, "was not made")
	}
	return sub, err
}

// Tree implements ports.Ovens.
func (Ovens) Tree(ctx context.Context, root, dir string, w io.Writer) error {
	t, err := openBelow(root, dir)
	if err != nil {
		return err
	}
	defer t.close()
	return t.whole(ctx, w, t.inside)
}

// GoCache implements ports.Ovens. Links are those that the runner made to the
// cache which the image has already. An action entry says when it was made: that
// becomes a fixed time of the same width. What the go command noted of the oven's
// own directories is left out: it does so only of those that are two seconds old.
func (Ovens) GoCache(ctx context.Context, root, dir string, w io.Writer) (int, error) {
	t, err := openBelow(root, dir)
	if err != nil {
		return 0, err
	}
	defer t.close()
	return t.goCache(ctx, w)
}

func (t *tree) goCache(ctx context.Context, w io.Writer) (int, error) {
	bytes, entries := t.bytes, t.entries
	own, err := t.ownIndexes(ctx)
	if err != nil {
		return 0, err
	}
	t.bytes, t.entries = bytes, entries // what is looked at twice counts once
	out := newTarball(w)
	var index strings.Builder
	n := 0
	err = t.cacheEntries(ctx, func(name string, info fs.FileInfo) (bool, error) {
		if own[name[3:67]] {
			return false, nil
		}
		var action []byte // nil for an output
		if strings.HasSuffix(name, "-a") {
			data, _, err := t.read(name, 4096)
			if err != nil {
				return false, err
			}
			made, output, err := timeless(data)
			if err != nil {
				return false, t.refuse(name, "is no entry of a build cache: %v", err)
			}
			if own[output] {
				return false, nil
			}
			action = made
		}
		n++
		index.WriteString(name + "\n")
		if action == nil {
			return false, out.copy(t, name, name, info)
		}
		return false, out.bytes(name, 0o644, action)
	})
	if err != nil {
		return 0, err
	}
	if err := out.bytes("index", 0o644, []byte(index.String())); err != nil {
		return 0, err
	}
	return n, out.Close()
}

// cacheEntries walks the cache's entries.
func (t *tree) cacheEntries(ctx context.Context, each func(string, fs.FileInfo) (bool, error)) error {
	return t.walk(ctx, ".", func(name string, info fs.FileInfo) (bool, error) {
		if info.IsDir() {
			return len(name) == 2, nil
		}
		if !info.Mode().IsRegular() || !entryName(name) {
			return false, nil
		}
		return each(name, info)
	})
}

// ownIndexes are the outputs that describe a directory of the workspace.
func (t *tree) ownIndexes(ctx context.Context) (map[string]bool, error) {
	const most = 1 << 20 // a directory's index is far smaller
	own := map[string]bool{}
	return own, t.cacheEntries(ctx, func(name string, info fs.FileInfo) (bool, error) {
		if !strings.HasSuffix(name, "-d") || info.Size() > most {
			return false, nil
		}
		data, _, err := t.read(name, most)
		if bytes.HasPrefix(data, []byte("go index v")) && bytes.Contains(data, []byte(toolchain.Workspace+"/")) {
			own[name[3:67]] = true
		}
		return false, err
	})
}

// entryName accepts "xx/<64 hex>-a" and "-d" whose first two characters are xx, as
// the runner does.
func entryName(s string) bool {
	dir, file := path.Split(s)
	return len(dir) == 3 && len(file) == 66 && file[:2] == dir[:2] && (file[64:] == "-a" || file[64:] == "-d") &&
		strings.Trim(file[:64], "0123456789abcdef") == ""
}

// timeless replaces the time of an action entry, and returns its output:
// "v1 <action> <output> <size, 20 wide> <nanoseconds, 20 wide>\n".
func timeless(data []byte) (made []byte, output string, err error) {
	f := strings.Fields(string(data))
	if len(f) != 5 || f[0] != "v1" || len(f[1]) != 64 || len(f[2]) != 64 || !strings.HasSuffix(string(data), "\n") {
		return nil, "", fmt.Errorf("%.200q", data)
	}
	return fmt.Appendf(nil, "v1 %s %s %20s %20d\n", f[1], f[2], f[3], stamp.UnixNano()), f[2], nil
}
