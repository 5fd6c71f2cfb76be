package image

import (
	"slices"
	"strings"
	"testing"

	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/toolchain"
)

func TestEveryToolOfTheContractHasAPlace(t *testing.T) {
	for _, name := range toolchain.Tools() {
		if len(programs[name].places) == 0 {
			t.Errorf("no place is known for %s", name)
		}
	}
	if len(programs) != len(toolchain.Tools()) {
		t.Errorf("%d places for %d tools", len(programs), len(toolchain.Tools()))
	}
}

func TestAMissingToolIsNamedWithItsBase(t *testing.T) {
	for _, c := range []struct {
		base command.Toolchain
		path string
		want string
	}{
		{command.Go, "usr/local/go/bin/gofmt", "the go base has no usable gofmt"},
		{command.Node, "usr/local/bin/node", "the node base has no usable node"},
		{command.Node, "usr/local/lib/node_modules/npm/bin/npm-cli.js", "the node base has no usable npm"},
		{command.Python, "usr/bin/python3.11", "the python base has no usable python3"},
		{command.Python, "usr/lib/python3/dist-packages/pytest/__init__.py", "the python base has no usable pytest"},
		{command.Rust, "usr/bin/cargo", "the rust base has no usable cargo"},
		{command.Rust, "usr/bin/cc", "the rust base has no usable cc"},
	} {
		t.Run(c.want, func(t *testing.T) {
			items := slices.Concat(system(), ownItems[c.base])
			without := slices.DeleteFunc(slices.Clone(items), func(i item) bool { return i.name == c.path })
			_, err := try(t, with(t, export(t, imageOf(t, "linux", "amd64", plainLayer(t, without...)), c.base)))
			if fault.CodeOf(err) != fault.BaseIncompatible || !strings.Contains(err.Error(), c.want) {
				t.Errorf("missing: got %v", err)
			}
			private := slices.Clone(items)
			for i := range private {
				if private[i].name == c.path && private[i].typ == 0 {
					private[i].mode = 0o700
				}
			}
			if c.path == "usr/bin/cc" {
				return // a link has no mode
			}
			_, err = try(t, with(t, export(t, imageOf(t, "linux", "amd64", plainLayer(t, private...)), c.base)))
			if fault.CodeOf(err) != fault.BaseIncompatible || !strings.Contains(err.Error(), c.want) {
				t.Errorf("only for root: got %v", err)
			}
		})
	}
}

func TestToolsAreFoundInOtherLayouts(t *testing.T) {
	rustup := []item{
		exe("usr/local/rustup/toolchains/1.90.0-x86_64-unknown-linux-gnu/bin/cargo", "real"),
		exe("usr/local/rustup/toolchains/1.90.0-x86_64-unknown-linux-gnu/bin/rustc", "real"),
		exe("usr/local/cargo/bin/cargo", "proxy"), exe("usr/local/cargo/bin/rustc", "proxy"), exe("usr/bin/cc", "cc"),
	}
	o := build(t, with(t, export(t, imageOf(t, "linux", "amd64", plainLayer(t, slices.Concat(system(), rustup)...)), command.Rust)))
	o.has(t, "/standard-code/bin/cargo", "/usr/local/rustup/toolchains/1.90.0-x86_64-unknown-linux-gnu/bin/cargo")

	python := []item{
		exe("usr/local/bin/python3.14", "py"), link("usr/local/bin/python3", "python3.14"), exe("usr/bin/python3", "system"),
		txt("usr/local/lib/python3.14/site-packages/pytest/__init__.py", ""),
	}
	o = build(t, with(t, export(t, imageOf(t, "linux", "amd64", plainLayer(t, slices.Concat(system(), python)...)), command.Python)))
	o.has(t, "/standard-code/bin/python3", "/usr/local/bin/python3.14")

	// Another base's python is not the python base's.
	o = build(t, bases(t, extras{command.Go: {exe("usr/local/bin/python3", "another")}}))
	o.has(t, "/standard-code/bin/python3", "/usr/bin/python3.11")
}

func TestTwoRustToolchainsAreRefused(t *testing.T) {
	two := slices.Concat(system(), []item{
		exe("usr/local/rustup/toolchains/a/bin/cargo", "a"), exe("usr/local/rustup/toolchains/b/bin/cargo", "b"), exe("usr/bin/cc", "cc"),
	})
	_, err := try(t, with(t, export(t, imageOf(t, "linux", "amd64", plainLayer(t, two...)), command.Rust)))
	if fault.CodeOf(err) != fault.BaseIncompatible || !strings.Contains(err.Error(), "more than once") {
		t.Errorf("got %v", err)
	}
}
