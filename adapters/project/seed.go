package project

import (
	"context"
	"io"
	"io/fs"
	"path"
	"strings"

	"cyberagent/domain/limits"
)

// seedGo copies what the go command needs to know which packages of other modules
// a project uses: its own Go files, those below testdata among them, which its tests
// may import, and a vendor directory whole. Nested modules come along, for a
// replacement may lead there.
func seedGo(ctx context.Context, t *tree, root string) error {
	to, err := newWriter(root)
	if err != nil {
		return err
	}
	defer to.close()
	from := newTree(t.field, t.root)
	return from.walk(ctx, ".", func(name string, info fs.FileInfo) (bool, error) {
		base := path.Base(name)
		vendored := name == "vendor" || strings.HasPrefix(name, "vendor/")
		switch {
		case info.IsDir():
			return vendored || (base != "node_modules" && !strings.HasPrefix(base, ".") && !strings.HasPrefix(base, "_")), nil
		case !info.Mode().IsRegular():
			return false, nil
		case vendored || strings.HasSuffix(base, ".go") || base == "go.mod" || base == "go.sum" || base == "go.work" || base == "go.work.sum":
			return false, to.copy(from, name, info)
		}
		return false, nil
	})
}

// seedPython copies the wheels, and lists them for pip.
func seedPython(ctx context.Context, t *tree, wheels []string, root string) error {
	to, err := newWriter(root)
	if err != nil {
		return err
	}
	defer to.close()
	var list strings.Builder
	for _, w := range wheels {
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := t.lstat(w)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return t.refuse(w, "is not a plain file")
		}
		if err := to.copyAs(t, w, path.Join(Wheels, w), info); err != nil {
			return err
		}
		list.WriteString("/workspace/" + path.Join(Wheels, w) + "\n")
	}
	return to.write(WheelList, []byte(list.String()))
}

// Where seedPython puts the wheels and their list.
const (
	Wheels    = "wheels"
	WheelList = "wheels.txt"
)

// copy writes a file of a tree under the same name.
func (w *writer) copy(t *tree, name string, info fs.FileInfo) error {
	return w.copyAs(t, name, name, info)
}

func (w *writer) copyAs(t *tree, name, as string, info fs.FileInfo) error {
	f, err := t.file(name, info)
	if err != nil {
		return err
	}
	defer f.Close()
	out, err := w.create(as)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(f, limits.ProjectFileBytes))
	return w.finish(out, as, err)
}
