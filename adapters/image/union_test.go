package image

import (
	"strings"
	"testing"

	"cyberagent/domain/command"
	"cyberagent/domain/fault"
)

type extras = map[command.Toolchain][]item

func TestWhatTheBasesShareIsTakenOnce(t *testing.T) {
	o := build(t, bases(t, extras{
		command.Rust: {txt("usr/lib/libssl.so", "ssl"), txt("usr/lib/deep/a/b", "1")},
		command.Node: {txt("usr/lib/libssl.so", "ssl"), txt("usr/lib/deep/a/c", "2")},
	}))
	o.has(t, "/usr/lib/libssl.so", "ssl")
	o.has(t, "/usr/lib/deep/a/b", "1")
	o.has(t, "/usr/lib/deep/a/c", "2")
	for _, l := range o.layers[1:] {
		for _, m := range l.members {
			if m.path == "usr/lib/libssl.so" || m.path == "usr/lib/libc.so.6" {
				t.Errorf("%s is in the layer of the %s again", m.path, l.name)
			}
		}
	}
}

func TestABaseWithoutMergedUsrIsMergedThroughTheLinks(t *testing.T) {
	all := bases(t, nil)
	old := []item{
		folder("bin"), exe("bin/env2", "env2"), folder("lib"), txt("lib/libgo.so.1", "go"), link("lib/libgo.so", "libgo.so.1"),
		folder("usr/bin"), exe("usr/bin/tool", "tool"), link("bin/tool", "/usr/bin/tool"), link("bin/rel", "../usr/bin/tool"),
		txt("usr/lib/os-release", "ID=debian\nVERSION_ID=12\n"), exe("usr/local/go/bin/go", "go"), exe("usr/local/go/bin/gofmt", "gofmt"),
		txt("lib/libc.so.6", "libc"),
	}
	for i := range all {
		if all[i].holds[0] == command.Go {
			all[i] = export(t, imageOf(t, "linux", "amd64", plainLayer(t, old...)), command.Go)
		}
	}
	o := build(t, all)
	o.has(t, "/bin", "usr/bin")
	o.has(t, "/usr/bin/env2", "env2")
	o.has(t, "/usr/lib/libgo.so.1", "go")
	o.has(t, "/usr/lib/libgo.so", "libgo.so.1")
	o.has(t, "/usr/bin/tool", "tool")         // not a link to itself
	o.has(t, "/usr/bin/rel", "/usr/bin/tool") // its text was right in /bin only
	o.lacks(t, "/bin/env2", "/lib/libgo.so.1")
}

func TestADifferenceThatMattersIsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b item
		path string
	}{
		{"a library", txt("usr/lib/libx.so", "1"), txt("usr/lib/libx.so", "2"), "/usr/lib/libx.so"},
		{"a library of the same size", txt("usr/lib/x/y", "aaaa"), txt("usr/lib/x/y", "aaab"), "/usr/lib/x/y"},
		{"through a merged directory", txt("lib/liby.so", "1"), txt("usr/lib/liby.so", "2"), "/usr/lib/liby.so"},
		{"a program", exe("usr/bin/x", "1"), exe("usr/bin/x", "22"), "/usr/bin/x"},
		{"a local program", exe("usr/local/bin/x", "1"), exe("usr/local/bin/x", "22"), "/usr/local/bin/x"},
		{"a header", txt("usr/include/x.h", "1"), txt("usr/include/x.h", "2"), "/usr/include/x.h"},
		{"a link", link("usr/lib/l", "a"), link("usr/lib/l", "b"), "/usr/lib/l"},
		{"a file and a directory", txt("usr/lib/d", "1"), txt("usr/lib/d/x", "1"), "/usr/lib/d"},
		{"a file and a link", txt("usr/lib/d", "1"), link("usr/lib/d", "e"), "/usr/lib/d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := try(t, bases(t, extras{command.Rust: {c.a}, command.Python: {c.b}}))
			f := fault.From(err)
			if fault.CodeOf(err) != fault.BaseIncompatible || !strings.Contains(f.Msg, c.path+" ") ||
				!strings.Contains(f.Msg, "rust and python") || f.Details[c.path] == "" || f.Remedy == "" {
				t.Errorf("got %v, details %v", err, f)
			}
		})
	}
}

func TestADifferenceThatDoesNotMatterKeepsTheFirst(t *testing.T) {
	for _, p := range []string{
		"etc/ld.so.cache", "etc/debconf.conf", "usr/share/mime/mime.cache", "usr/lib/python3/__pycache__/x.cpython-311.pyc",
		"var/lib/misc/x", "usr/lib/x86_64-linux-gnu/gconv/gconv-modules.cache", "usr/local/bin/docker-entrypoint.sh",
	} {
		o := build(t, bases(t, extras{command.Rust: {txt(p, "first")}, command.Node: {txt(p, "second")}}))
		o.has(t, "/"+p, "first")
	}
}

func TestEveryConflictIsCounted(t *testing.T) {
	_, err := try(t, bases(t, extras{
		command.Rust: {txt("usr/lib/a", "1"), txt("usr/lib/b", "1"), txt("usr/lib/c", "1")},
		command.Go:   {txt("usr/lib/a", "2"), txt("usr/lib/b", "2"), txt("usr/lib/c", "2")},
	}))
	if f := fault.From(err); f == nil || !strings.Contains(f.Msg, "/usr/lib/a ") || !strings.Contains(f.Msg, "2 more") || len(f.Details) != 3 {
		t.Errorf("got %v", err)
	}
}

func TestALinkThatLeavesTheImageIsRefused(t *testing.T) {
	for _, target := range []string{"../../../etc/passwd", "/../etc/passwd", "a/../../../../x"} {
		_, err := try(t, bases(t, extras{command.Node: {link("usr/lib/l", target)}}))
		if fault.CodeOf(err) != fault.BaseIncompatible || !strings.Contains(err.Error(), "/usr/lib/l leads out") {
			t.Errorf("%s: got %v", target, err)
		}
	}
	o := build(t, bases(t, extras{command.Node: {link("usr/lib/l", "../../etc/passwd")}}))
	o.has(t, "/usr/lib/l", "../../etc/passwd")
}

func TestNoBaseReachesTheProductsDirectoriesThroughALink(t *testing.T) {
	o := build(t, bases(t, extras{
		command.Rust: {link("usr/lib/back", "/standard-code/bin"), link("usr/lib/home", "/root")},
		command.Node: {exe("usr/lib/back/sh", "evil"), txt("usr/lib/home/.netrc", "secret")},
	}))
	o.lacks(t, "/standard-code/bin/sh", "/root/.netrc")
}

func TestHardLinksStayHardLinks(t *testing.T) {
	o := build(t, bases(t, extras{command.Rust: {txt("usr/lib/a", "12345"), hard("usr/lib/b", "usr/lib/a"), hard("usr/share/man/c", "usr/lib/a"), hard("usr/lib/zz", "usr/lib/b")}}))
	o.has(t, "/usr/lib/a", "12345")
	for _, p := range []string{"/usr/lib/b", "/usr/lib/zz"} {
		if h := o.files[p]; h == nil || h.Linkname != "usr/lib/a" {
			t.Errorf("%s is %+v", p, h)
		}
	}
}

func TestOneImageMayServeSeveralToolchains(t *testing.T) {
	var items []item
	items = append(items, system()...)
	for _, tc := range []command.Toolchain{command.Python, command.Node, command.Go} {
		items = append(items, ownItems[tc]...)
	}
	all := bases(t, nil)
	o := build(t, []exported{all[3], export(t, imageOf(t, "linux", "amd64", plainLayer(t, items...)), command.Go, command.Python, command.Node)})
	o.has(t, "/usr/local/bin/node", "node")
	if len(o.layers) != 3 {
		t.Errorf("%d layers, want one for each of two bases and one for the runner", len(o.layers))
	}
}
