package image

import (
	"archive/tar"
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"cyberagent/domain/limits"
)

// flat applies layers and prints the tree: "path=text" for files,
// "path->target" for links, "path/" for empty directories.
func flat(t *testing.T, layers ...[]item) (string, error) {
	t.Helper()
	root := newDir(0o755)
	left := limits.TreeEntries
	for _, items := range layers {
		b := tarOf(t, items...)
		list, err := entries(t.Context(), &blob{bytes.NewReader(b), int64(len(b))}, &left)
		if err != nil {
			return "", err
		}
		if err := apply(root, list); err != nil {
			return "", err
		}
	}
	out := map[string]string{}
	var walk func(n *node, p string)
	walk = func(n *node, p string) {
		switch n.kind {
		case file:
			b := make([]byte, n.data.size)
			n.data.reader().ReadAt(b, 0)
			out[p] = p + "=" + string(b)
		case symlink:
			out[p] = p + "->" + n.target
		case dir:
			for _, name := range n.names() {
				walk(n.kids[name], path.Join(p, name))
			}
			if len(n.kids) == 0 {
				out[p] = p + "/"
			}
		}
	}
	walk(root, "")
	var lines []string
	for _, p := range slices.Sorted(maps.Keys(out)) {
		lines = append(lines, out[p])
	}
	return strings.Join(lines, " "), nil
}

func TestLayersBecomeOneTree(t *testing.T) {
	wh := func(name string) item { return txt(name, "") }
	for _, c := range []struct {
		name   string
		layers [][]item
		want   string
	}{
		{"a later layer replaces a file", [][]item{{txt("a", "1")}, {txt("a", "2")}}, "a=2"},
		{"names may start with a dot and a slash", [][]item{{folder("./"), txt("./a/b", "1")}}, "a/b=1"},
		{"a whiteout hides a file of a lower layer", [][]item{{txt("d/a", "1"), txt("d/b", "2")}, {wh("d/.wh.a")}}, "d/b=2"},
		{"a whiteout hides a directory", [][]item{{txt("d/a", "1"), txt("b", "2")}, {wh(".wh.d")}}, "b=2"},
		{"a whiteout does not hide what its own layer has", [][]item{{txt("a", "1")}, {txt("a", "2"), wh(".wh.a")}}, "a=2"},
		{"a whiteout of nothing is nothing", [][]item{{txt("a", "1")}, {wh("x/y/.wh.z")}}, "a=1"},
		{"an opaque directory hides what is below", [][]item{{txt("d/a", "1"), txt("d/e/b", "2")}, {txt("d/c", "3"), wh("d/.wh..wh..opq")}}, "d/c=3"},
		{"metadata of an old driver is not kept", [][]item{{txt(".wh..wh.plnk/x", "1"), txt("a", "1")}}, "a=1"},
		{"a directory in the place of a file replaces it", [][]item{{txt("a", "1")}, {folder("a"), txt("a/b", "2")}}, "a/b=2"},
		{"a file in the place of a directory replaces it", [][]item{{txt("a/b", "1")}, {txt("a", "2")}}, "a=2"},
		{"a directory over a directory keeps the files", [][]item{{txt("a/b", "1")}, {folder("a")}}, "a/b=1"},
		{"an entry below a link lands where it points", [][]item{{folder("usr/bin"), link("bin", "usr/bin")}, {txt("bin/x", "1")}}, "bin->usr/bin usr/bin/x=1"},
		{"an absolute link points into the image", [][]item{{folder("usr/bin"), link("bin", "/usr/bin")}, {txt("bin/x", "1")}}, "bin->/usr/bin usr/bin/x=1"},
		{"a link that climbs stops at the root", [][]item{{folder("b"), link("d/a", "../../../b")}, {txt("d/a/x", "1")}}, "b/x=1 d/a->../../../b"},
		{"a whiteout works through a link", [][]item{{txt("usr/bin/x", "1"), txt("usr/bin/y", "1"), link("bin", "usr/bin")}, {wh("bin/.wh.x")}}, "bin->usr/bin usr/bin/y=1"},
		{"a link is replaced, not followed", [][]item{{txt("a", "1"), link("b", "a")}, {txt("b", "2")}}, "a=1 b=2"},
		{"a hard link in its layer", [][]item{{txt("a", "1"), hard("b", "a")}}, "a=1 b=1"},
		{"a hard link to a lower layer", [][]item{{txt("d/a", "1")}, {hard("b", "./d/a")}}, "b=1 d/a=1"},
		{"a hard link survives its first name", [][]item{{txt("a", "1")}, {hard("b", "a")}, {wh(".wh.a")}}, "b=1"},
		{"a hard link to a link is that link", [][]item{{link("a", "x"), hard("b", "a")}}, "a->x b->x"},
		{"a device hides what was there", [][]item{{txt("a", "1"), txt("b", "1")}, {{name: "a", typ: tar.TypeChar}}}, "b=1"},
		{"the last of two entries counts", [][]item{{txt("a", "1"), txt("a", "2")}}, "a=2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := flat(t, c.layers...)
			if err != nil || got != c.want {
				t.Errorf("got %q %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestHostileEntriesAreRefused(t *testing.T) {
	deep := strings.Repeat("d/", limits.TreeDepth) + "x"
	for _, c := range []struct {
		name  string
		items []item
		want  string
	}{
		{"a name with two dots", []item{txt("../a", "1")}, "leads out"},
		{"two dots in the middle", []item{txt("a/../../b", "1")}, "leads out"},
		{"two dots that stay inside", []item{txt("a/../b", "1")}, "leads out"},
		{"an absolute name", []item{txt("/etc/cron.d/x", "1")}, "absolute"},
		{"a directory that leads out", []item{folder("../d")}, "leads out"},
		{"a link whose name leads out", []item{link("../l", "x")}, "leads out"},
		{"a whiteout that leads out", []item{txt("../.wh.x", "")}, "leads out"},
		{"a hard link to outside", []item{hard("a", "../../etc/shadow")}, "leads out"},
		{"an absolute hard link", []item{hard("a", "/etc/shadow")}, "absolute"},
		{"a hard link to nothing", []item{hard("a", "b")}, "no file"},
		{"a hard link to a directory", []item{folder("d"), hard("a", "d")}, "no file"},
		{"a link without target", []item{link("a", "")}, "link to nothing"},
		{"an entry below a file", []item{txt("a", "1"), txt("a/b", "2")}, "not a directory"},
		{"an entry below a loop of links", []item{link("a", "b"), link("b", "a"), txt("a/x", "1")}, "not a directory"},
		{"a tree without end", []item{txt(deep, "1")}, "levels deep"},
		{"a name without end", []item{txt(strings.Repeat("x", limits.TreeNameBytes+1), "1")}, "cannot be used"},
		{"an unknown type", []item{{name: "a", typ: 'Z'}}, "unknown type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := flat(t, c.items)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q %v, want an error with %q", got, err, c.want)
			}
		})
	}
}

func TestALayerThatIsCutShortIsRefused(t *testing.T) {
	whole := tarOf(t, txt("a", strings.Repeat("x", 5000)))
	for _, n := range []int{100, 512 * 3, 512*5 + 17} {
		left := limits.TreeEntries
		if list, err := entries(t.Context(), &blob{bytes.NewReader(whole[:n]), int64(n)}, &left); err == nil {
			t.Errorf("%d bytes were accepted: %v", n, list)
		}
	}
}

func TestTheNumberOfEntriesIsBounded(t *testing.T) {
	b := tarOf(t, txt("a", ""), txt("b", ""), txt("c", ""))
	left := int64(2)
	if _, err := entries(t.Context(), &blob{bytes.NewReader(b), int64(len(b))}, &left); err == nil {
		t.Error("three entries were accepted, two were allowed")
	}
}
