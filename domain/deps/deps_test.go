package deps_test

import (
	"slices"
	"strings"
	"testing"

	"cyberagent/domain/command"
	"cyberagent/domain/deps"
)

func files(kv ...string) map[string][]byte {
	m := map[string][]byte{}
	for i := 0; i+1 < len(kv); i += 2 {
		m[kv[i]] = []byte(kv[i+1])
	}
	return m
}

const goMod = `module example.test/x

go 1.26

require a.example/one v1.0.0
require (
	"a.example/two" v2.0.0 // indirect
	a.example/replaced v1.0.0
	a.example/local v1.0.0
	a.example/onlymod v1.0.0
)

replace a.example/replaced v1.0.0 => b.example/fork v1.5.0

replace (
	a.example/local => ../local
)
`

const goSum = `a.example/one v1.0.0 h1:one=
a.example/one v1.0.0/go.mod h1:onemod=
a.example/two v2.0.0 h1:two=
a.example/onlymod v1.0.0/go.mod h1:only=
a.example/replaced v1.0.0 h1:old=
a.example/local v1.0.0 h1:local=
b.example/fork v1.5.0 h1:fork=
`

const npmLock = `{"name": "x", "lockfileVersion": 3, "packages": {
  "": {"name": "x"}, "packages/own": {"version": "0.0.1"},
  "node_modules/a": {"version": "1.0.0", "dependencies": {"b": "^2.0.0"}, "peerDependencies": {"c": "*"},
    "peerDependenciesMeta": {"c": {"optional": true}}, "bin": {"a": "bin/a.js"}, "engines": ["node >= 6"], "funding": [{"url": "x"}]},
  "node_modules/a/node_modules/b": {"version": "2.0.0", "dev": true},
  "node_modules/mac": {"version": "3.0.0", "optional": true},
  "node_modules/own": {"resolved": "packages/own", "link": true},
  "node_modules/alias": {"name": "@scope/real", "version": "4.0.0"}}}`

const npmLock1 = `{"lockfileVersion": 1, "dependencies": {
  "a": {"version": "1.0.0", "dependencies": {"b": {"version": "2.0.0"}}},
  "alias": {"version": "npm:@scope/real@4.0.0"}, "dir": {"version": "file:../dir"}}}`

const cargoLock = `version = 3

[[package]]
name = "own"
version = "0.1.0"
dependencies = [
 "serde",
]

[[package]]
name = "serde"
version = "1.0.200"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "x"
`

const uvLock = `version = 1
[[package]]
name = "own"
version = "0.1"
source = { virtual = "." }

[[package]]
name = "Flask_Login"
version = "0.6.3"
source = { registry = "https://example.test/simple" }
dependencies = [
    { name = "flask" },
]

[package.metadata]
name = "not a package"
`

const requirements = `# comment
Flask.Login==0.6.3 \
    --hash=sha256:x
uvloop==1.0 ; sys_platform != "win32"
six>=1.0
-r more.txt
attrs[tests]==23.1.0  # why
wild==1.*
exact===1.0
`

func TestRead_WhatLockfilesAskFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tc    command.Toolchain
		files map[string][]byte
		want  string
	}{
		"go, after replacements":    {"go", files("go.mod", goMod, "go.sum", goSum), "a.example/one@v1.0.0 a.example/two@v2.0.0 b.example/fork@v1.5.0"},
		"go without dependencies":   {"go", files("go.mod", "module x\n"), ""},
		"npm, the flat form":        {"node", files("package-lock.json", npmLock), "@scope/real@4.0.0 a@1.0.0 b@2.0.0"},
		"npm, the nested form":      {"node", files("package-lock.json", npmLock1), "@scope/real@4.0.0 a@1.0.0 b@2.0.0"},
		"npm, the shrinkwrap first": {"node", files("package-lock.json", npmLock, "npm-shrinkwrap.json", `{"packages":{}}`), ""},
		"cargo":                     {"rust", files("Cargo.lock", cargoLock), "serde@1.0.200"},
		"uv":                        {"python", files("uv.lock", uvLock), "flask-login@0.6.3"},
		"pins of requirements":      {"python", files("requirements.txt", requirements), "attrs@23.1.0 flask-login@0.6.3"},
		"nothing":                   {"go", nil, ""},
		"a lockfile that is none":   {"node", files("package-lock.json", "\xff{"), ""},
	} {
		n := deps.Read(c.tc, c.files)
		var got []string
		for _, p := range n.Packages {
			got = append(got, p.String())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, want %q", name, strings.Join(got, " "), c.want)
		}
		if (n.File == "") != (len(c.files) == 0) || (n.SHA256 == "") != (n.File == "") {
			t.Errorf("%s: file %q, digest %q", name, n.File, n.SHA256)
		}
	}
}

func TestRead_EveryDecidingFileIsInTheDigest(t *testing.T) {
	t.Parallel()
	base := deps.Read("go", files("go.mod", goMod, "go.sum", goSum)).SHA256
	for name, other := range map[string]map[string][]byte{
		"go.mod": files("go.mod", goMod+"\n", "go.sum", goSum), "go.sum": files("go.mod", goMod, "go.sum", goSum+"\n"),
		"no go.sum": files("go.mod", goMod),
	} {
		if deps.Read("go", other).SHA256 == base {
			t.Errorf("another %s, the same digest", name)
		}
	}
	if deps.Read("go", files("go.mod", goMod, "go.sum", goSum, "vendor/modules.txt", "x")).SHA256 != base {
		t.Error("a vendor directory is no lockfile")
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	need := deps.Read("go", files("go.mod", goMod, "go.sum", goSum))
	record := func(change func(deps.Record)) deps.Record {
		r := deps.NewRecord()
		r.Hold("go", []deps.Package{{Name: "a.example/one", Version: "v1.0.0"}, {Name: "a.example/two", Version: "v1.9.0"}})
		if change != nil {
			change(r)
		}
		return r
	}
	vendored := need
	vendored.InTree = true
	for name, c := range map[string]struct {
		r    deps.Record
		n    deps.Need
		want string
	}{
		"other versions and absent ones": {record(nil), need, "a.example/two@v2.0.0 (the image has v1.9.0), b.example/fork@v1.5.0"},
		"the plain image has nothing":    {deps.NewRecord(), need, "a.example/one@v1.0.0, a.example/two@v2.0.0, b.example/fork@v1.5.0"},
		"the very lockfiles":             {record(func(r deps.Record) { r.Locks["go"] = need.SHA256 }), need, ""},
		"other lockfiles":                {record(func(r deps.Record) { r.Locks["go"] = strings.Repeat("0", 64) }), need, "a.example/two@v2.0.0 (the image has v1.9.0), b.example/fork@v1.5.0"},
		"known to be absent": {record(func(r deps.Record) {
			r.Leave("go", []deps.Package{{Name: "b.example/fork", Version: "v1.5.0"}, {Name: "a.example/two", Version: "v2.0.0"}})
		}), need, ""},
		"a repository that carries them": {deps.NewRecord(), vendored, ""},
		"no lockfile":                    {deps.NewRecord(), deps.Read("go", nil), ""},
	} {
		var got []string
		for _, m := range c.r.Missing(c.n) {
			got = append(got, m.String())
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: got %q, want %q", name, strings.Join(got, ", "), c.want)
		}
	}
}

func TestRecordIsReadStrictly(t *testing.T) {
	t.Parallel()
	r := deps.NewRecord()
	r.Locks["go"] = strings.Repeat("a", 64)
	r.Hold("go", []deps.Package{{Name: "b", Version: "2"}, {Name: "a", Version: "1"}, {Name: "a", Version: "1"}})
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := deps.DecodeRecord(text)
	if err != nil || !slices.Equal(again.Holds["go"], []string{"a@1", "b@2"}) || !slices.Equal(again.Toolchains(), []command.Toolchain{"go"}) {
		t.Errorf("%+v %v", again, err)
	}
	for name, bad := range map[string]string{
		"nothing": "", "an object": "{}", "another version": strings.Replace(text, "project.v1", "project.v2", 1),
		"an unknown key": strings.Replace(text, "{", `{"x":1,`, 1), "no package": strings.Replace(text, "a@1", "a", 1),
		"too much": `"` + strings.Repeat("x", 600_000) + `"`,
	} {
		if _, err := deps.DecodeRecord(bad); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	r.Hold("node", slices.Repeat([]deps.Package{{Name: strings.Repeat("x", 400_000), Version: "1"}}, 1))
	r.Hold("rust", slices.Repeat([]deps.Package{{Name: strings.Repeat("y", 400_000), Version: "1"}}, 1))
	if _, err := r.Encode(); err == nil {
		t.Error("a record beyond its limit was accepted")
	}
}

func TestWheel(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"Flask_Login-0.6.3-py3-none-any.whl":                  "flask-login@0.6.3",
		"numpy-2.0.0-1-cp311-cp311-manylinux_2_17_x86_64.whl": "numpy@2.0.0",
		"x-1.tar.gz":          "",
		"x-1.whl":             "",
		"-1-py3-none-any.whl": "",
	} {
		p, ok := deps.Wheel(file)
		if ok != (want != "") || ok && p.String() != want {
			t.Errorf("%s: %v %v, want %q", file, p, ok, want)
		}
	}
}

func TestCargoPackage(t *testing.T) {
	t.Parallel()
	p, ok := deps.CargoPackage([]byte("# header\n[package]\nedition = \"2021\"\nname = \"serde\"\nversion = \"1.0.2\"\n\n[dependencies.x]\nversion = \"9\"\n"))
	if !ok || p.String() != "serde@1.0.2" {
		t.Errorf("%v %v", p, ok)
	}
	if _, ok := deps.CargoPackage([]byte("[lib]\nname = \"x\"\n")); ok {
		t.Error("a file without a package has one")
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{goMod, goSum, npmLock, npmLock1, cargoLock, uvLock, requirements} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, tc := range command.Toolchains() {
			all := map[string][]byte{}
			for _, name := range deps.Files(tc) {
				all[name] = []byte(s)
			}
			n := deps.Read(tc, all)
			r := deps.NewRecord()
			r.Hold(tc, n.Packages)
			if m := r.Missing(deps.Need{Toolchain: tc, File: "x", Packages: n.Packages}); len(m) > 0 && validNames(n.Packages) {
				t.Errorf("%s: what it holds is missing: %v", tc, m)
			}
		}
	})
}

// validNames says whether names and versions can be written down and read again.
func validNames(all []deps.Package) bool {
	return !slices.ContainsFunc(all, func(p deps.Package) bool { return p.Name == "" || p.Version == "" || strings.Contains(p.Version, "@") })
}
