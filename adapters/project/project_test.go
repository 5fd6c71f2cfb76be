package project

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

const npmLock = `{"lockfileVersion":3,"packages":{"node_modules/a":{"version":"1.0.0"},"node_modules/own":{"link":true},"node_modules/mac":{"version":"1.0.0","optional":true}}}`

func nodeProject(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"package-lock.json": npmLock, "node_modules/a/package.json": `{"version":"1.0.0"}`, "node_modules/a/index.js": "1", "packages/own/index.js": "2",
		"node_modules/.bin/": "",
	})
	write(t, dir, files)
	return dir
}

func TestNode_IsTakenAsItIsAndWorkspacesLeadToTheWorkspace(t *testing.T) {
	t.Parallel()
	dir := nodeProject(t, nil)
	must(t, os.Symlink("../packages/own", filepath.Join(dir, "node_modules/own")))
	must(t, os.Symlink("../a/index.js", filepath.Join(dir, "node_modules/.bin/a")))
	got, p, err := part1(t, ports.ProjectSources{Dir: dir})
	must(t, err)
	for name, want := range map[string]string{
		"a/index.js": "1", ".bin/a": "-> ../a/index.js", "own": "-> /workspace/packages/own",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if held := p.Record().Holds["node"]; !slices.Equal(held, []string{"a@1.0.0"}) {
		t.Errorf("it holds %v", held)
	}
}

// TestHostileTreesAreRefusedByName has everything that a directory can hold and a
// package cannot.
func TestHostileTreesAreRefusedByName(t *testing.T) {
	t.Parallel()
	at := func(dir, name string) string { return filepath.Join(dir, "node_modules", name) }
	for name, c := range map[string]struct {
		make func(t *testing.T, dir string)
		in   string
	}{
		"a link to a file outside":           {func(t *testing.T, d string) { must(t, os.Symlink("../../../etc/passwd", at(d, "x"))) }, "leads out"},
		"an absolute link":                   {func(t *testing.T, d string) { must(t, os.Symlink("/etc/passwd", at(d, "x"))) }, "leads out"},
		"a link to node_modules' own parent": {func(t *testing.T, d string) { must(t, os.Symlink("..", at(d, "x"))) }, "leads out"},
		"a FIFO":                             {func(t *testing.T, d string) { must(t, syscall.Mkfifo(at(d, "x"), 0o644)) }, "neither a file"},
		"a socket":                           {func(t *testing.T, d string) { must(t, syscall.Mknod(at(d, "x"), syscall.S_IFSOCK|0o644, 0)) }, "neither a file"},
		"a second name of a file":            {func(t *testing.T, d string) { must(t, os.Link(at(d, "a/index.js"), at(d, "x"))) }, "hard links"},
		"a name with a newline":              {func(t *testing.T, d string) { must(t, os.WriteFile(at(d, "a\nb"), nil, 0o644)) }, "is a name"},
		"a name that is not UTF-8":           {func(t *testing.T, d string) { must(t, os.WriteFile(at(d, "\xff"), nil, 0o644)) }, "is a name"},
		"a name that hides others":           {func(t *testing.T, d string) { must(t, os.WriteFile(at(d, ".wh.a"), nil, 0o644)) }, "is a name"},
		"a file of many gigabytes": {func(t *testing.T, d string) {
			must(t, os.WriteFile(at(d, "x"), nil, 0o644))
			must(t, os.Truncate(at(d, "x"), 1<<40))
		}, "bytes, more than"},
		"a package.json that is a link": {func(t *testing.T, d string) {
			must(t, os.Remove(at(d, "a/package.json")))
			must(t, os.Symlink("/etc/passwd", at(d, "a/package.json")))
		}, "not a plain file"},
		"a package.json that is a FIFO": {func(t *testing.T, d string) {
			must(t, os.Remove(at(d, "a/package.json")))
			must(t, syscall.Mkfifo(at(d, "a/package.json"), 0o644))
		}, "neither a file"},
		"node_modules that is a link": {func(t *testing.T, d string) {
			must(t, os.Rename(filepath.Join(d, "node_modules"), filepath.Join(d, "elsewhere")))
			must(t, os.Symlink("elsewhere", filepath.Join(d, "node_modules")))
		}, "node_modules"},
		"200 levels": {func(t *testing.T, d string) { must(t, os.MkdirAll(at(d, strings.Repeat("d/", 200)), 0o755)) }, "levels deep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := nodeProject(t, nil)
			c.make(t, dir)
			_, _, err := part1(t, ports.ProjectSources{Dir: dir})
			f := fault.From(err)
			field := "node-modules"
			if f != nil && f.Field == "project" {
				field = "project" // what the project itself has in that place
			}
			refused(t, err, field, c.in)
		})
	}
}

func TestALockfileThatIsALinkOrAFIFOIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "go.mod")))
	_, err := Reader{}.Open(t.Context(), ports.ProjectSources{Dir: dir})
	refused(t, err, "project", "go.mod")
	dir = t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(dir, "Cargo.lock"), 0o644))
	_, err = Reader{}.Open(t.Context(), ports.ProjectSources{Dir: dir})
	refused(t, err, "project", "Cargo.lock")
}

func TestWhatWasNotFetchedIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		s     ports.ProjectSources
		want  string
		how   string
	}{
		"no node_modules":                {map[string]string{"package-lock.json": npmLock}, ports.ProjectSources{}, "a@1.0.0", "npm ci --ignore-scripts"},
		"another version":                {map[string]string{"package-lock.json": npmLock, "node_modules/a/package.json": `{"version":"0.9.0"}`}, ports.ProjectSources{}, "a@1.0.0 (the image has 0.9.0)", "npm ci"},
		"no wheelhouse":                  {map[string]string{"requirements.txt": "six==1.0\n"}, ports.ProjectSources{}, "six@1.0", "pip download"},
		"another wheel":                  {map[string]string{"requirements.txt": "six==1.0\n", "wheelhouse/six-0.9-py3-none-any.whl": ""}, ports.ProjectSources{}, "six@1.0 (the image has 0.9)", "pip download"},
		"an empty wheelhouse":            {map[string]string{"uv.lock": "[[package]]\nname = \"six\"\nversion = \"1.0\"\n", "wheelhouse/": ""}, ports.ProjectSources{}, "six@1.0", "uv export"},
		"nothing pinned":                 {map[string]string{"requirements.txt": "requests\n"}, ports.ProjectSources{}, "asks for requests", "pip download --only-binary :all: -d wheelhouse -r requirements.txt"},
		"nothing in an empty wheelhouse": {map[string]string{"requirements.txt": "requests\n", "wheelhouse/": ""}, ports.ProjectSources{}, "asks for requests", "pip download"},
		"no go.sum":                      {map[string]string{"go.mod": "module m\nrequire a.example/b v1.0.0\n"}, ports.ProjectSources{}, "asks for a.example/b", "go mod tidy"},
		"no cargo vendor":                {map[string]string{"Cargo.lock": "[[package]]\nname = \"x\"\nversion = \"1.0.0\"\nsource = \"registry+y\"\n"}, ports.ProjectSources{}, "x@1.0.0", "cargo vendor"},
		"no module in the cache":         {map[string]string{"go.mod": "module m\nrequire a.example/b v1.0.0\n", "go.sum": "a.example/b v1.0.0 h1:x=\n", "mods/cache/": ""}, ports.ProjectSources{GoModules: "mods"}, "a.example/b@v1.0.0", "go mod download"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, c.files)
			c.s.Dir = dir
			if c.s.GoModules != "" {
				c.s.GoModules = filepath.Join(dir, c.s.GoModules)
			}
			_, err := Reader{}.Open(t.Context(), c.s)
			f := fault.From(err)
			if f == nil || f.Code != fault.DependenciesMiss || !strings.Contains(f.Msg, c.want) || !strings.Contains(f.Remedy, c.how) {
				t.Errorf("got %+v", f)
			}
		})
	}
}

func TestADirectoryWithoutALockfileIsRefused(t *testing.T) {
	t.Parallel()
	_, err := Reader{}.Open(t.Context(), ports.ProjectSources{Dir: t.TempDir()})
	refused(t, err, "project", "no lockfile")
	_, err = Reader{}.Open(t.Context(), ports.ProjectSources{Dir: "/nonexistent"})
	refused(t, err, "project", "/nonexistent")
}

func TestGo_ModulesComeOutOfTheirProvenZips(t *testing.T) {
	t.Parallel()
	dir, cache := t.TempDir(), t.TempDir()
	sums := module1(t, cache, "a.example/b", "v1.0.0", map[string]string{"b.go": "package b", "sub/c.go": "package c"})
	write(t, dir, map[string]string{"go.mod": "module m\nrequire a.example/b v1.0.0\n", "go.sum": sums + "z.example/unused v1.0.0 h1:zzz=\n"})
	got, p, err := part1(t, ports.ProjectSources{Dir: dir, GoModules: cache})
	must(t, err)
	for name, want := range map[string]string{
		"a.example/b@v1.0.0/b.go": "package b", "a.example/b@v1.0.0/sub/c.go": "package c",
		"cache/download/a.example/b/@v/v1.0.0.mod": "module a.example/b\n", "cache/download/a.example/b/@v/v1.0.0.info": `{"Version":"v1.0.0"}`,
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if !strings.HasPrefix(got["cache/download/a.example/b/@v/v1.0.0.ziphash"], "h1:") || len(got) != 5 {
		t.Errorf("in the cache are %v", got)
	}
	if held := p.Record().Holds["go"]; !slices.Equal(held, []string{"a.example/b@v1.0.0"}) {
		t.Errorf("it holds %v", held)
	}
	// Equal files give equal bytes.
	var one, two bytes.Buffer
	must(t, p.WritePart(t.Context(), p.Parts()[0], &one))
	must(t, p.WritePart(t.Context(), p.Parts()[0], &two))
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("another reading gave other bytes")
	}
}

func TestGo_AModuleThatIsNotWhatGoSumPinsIsRefused(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"other content": {"b.go": "package evil"}, "one file more": {"b.go": "package b", "evil.go": "package b"},
		"a way out": {"b.go": "package b", "../../../../evil": "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, cache, other := t.TempDir(), t.TempDir(), t.TempDir()
			sums := module1(t, cache, "a.example/b", "v1.0.0", map[string]string{"b.go": "package b"})
			module1(t, other, "a.example/b", "v1.0.0", files)
			write(t, dir, map[string]string{"go.mod": "module m\nrequire a.example/b v1.0.0\n", "go.sum": sums})
			_, _, err := part1(t, ports.ProjectSources{Dir: dir, GoModules: other})
			refused(t, err, "go-modules", "a.example/b")
		})
	}
}

func TestGo_TheSeedIsWhatTheGoCommandReads(t *testing.T) {
	t.Parallel()
	dir, cache, to := t.TempDir(), t.TempDir(), t.TempDir()
	sums := module1(t, cache, "a.example/b", "v1.0.0", map[string]string{"b.go": "package b"})
	write(t, dir, map[string]string{
		"go.mod": "module m\nrequire a.example/b v1.0.0\n", "go.sum": sums, "m.go": "package m", "sub/s.go": "package s", "sub/data.bin": "x",
		".git/config": "evil", ".hidden/h.go": "package h", "testdata/t.go": "package t", "testdata/t.json": "{}", "nested/go.mod": "module n",
	})
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link.go")))
	p, err := Reader{}.Open(t.Context(), ports.ProjectSources{Dir: dir, GoModules: cache})
	must(t, err)
	defer p.Close()
	if !p.Bakes(command.Go) || p.Bakes(command.Node) {
		t.Error("what must be made is wrong")
	}
	must(t, p.Seed(t.Context(), command.Go, to))
	var got []string
	must(t, filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
		if !d.IsDir() {
			rel, _ := filepath.Rel(to, path)
			got = append(got, rel)
		}
		return err
	}))
	if want := "go.mod go.sum m.go nested/go.mod sub/s.go testdata/t.go"; strings.Join(got, " ") != want {
		t.Errorf("copied %q, want %q", got, want)
	}
	for _, name := range got {
		// The go command knows a file by its time: another time is another cache.
		if info, err := os.Stat(filepath.Join(to, name)); err != nil || !info.ModTime().Equal(stamp) {
			t.Errorf("%s has the time %v, %v", name, info.ModTime(), err)
		}
	}
}

func TestRust_CratesComeWithTheConfigurationThatFindsThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"Cargo.lock":          "[[package]]\nname = \"x\"\nversion = \"1.0.0\"\nsource = \"registry+y\"\n",
		"vendor/x/Cargo.toml": "[package]\nname = \"x\"\nversion = \"1.0.0\"\n", "vendor/x/src/lib.rs": "// x",
	})
	got, _, err := part1(t, ports.ProjectSources{Dir: dir})
	must(t, err)
	if got["vendor/x/src/lib.rs"] != "// x" || !strings.Contains(got["config.toml"], `directory = "/standard-code/deps/rust/vendor"`) {
		t.Errorf("got %v", got)
	}
}

// What is wanted is what cargo 1.95 prints at the end of `cargo vendor`.
func TestRust_EverySourceOfTheLockfileIsReplaced(t *testing.T) {
	t.Parallel()
	const old, now = "version = 3\n", "version = 4\n"
	for _, c := range []struct{ version, source, want string }{
		{now, "registry+https://github.com/rust-lang/crates.io-index", ""},
		{now, "sparse+https://index.crates.io/", ""},
		{now, "git+https://x.test/a?tag=v3#6036f98be82e60357ca7036ff93909c3596a766f", "git = \"https://x.test/a\"\ntag = \"v3\"\n"},
		{now, "git+https://x.test/a?rev=6036f98#6036f98be82e60357ca7036ff93909c3596a766f", "git = \"https://x.test/a\"\nrev = \"6036f98\"\n"},
		{now, "git+https://x.test/a?branch=feat%2Fx#2790268acce5e7164fd2129551f322f745f13400", "git = \"https://x.test/a\"\nbranch = \"feat/x\"\n"},
		{old, "git+https://x.test/a?branch=feat%2Fx#2790268acce5e7164fd2129551f322f745f13400", "git = \"https://x.test/a\"\nbranch = \"feat%2Fx\"\n"},
		{"", "git+https://x.test/a?branch=a+b#2790268acce5e7164fd2129551f322f745f13400", "git = \"https://x.test/a\"\nbranch = \"a+b\"\n"},
		{old, "git+https://x.test/a#4df53a00487789b9574bd399110f9bfe9ce1d96c", "git = \"https://x.test/a\"\n"},
		{now, "registry+https://x.test/index", "registry = \"https://x.test/index\"\n"},
		{now, "sparse+https://x.test/index/", "registry = \"sparse+https://x.test/index/\"\n"},
		{now, "git+https://x.test/a?branch=%zz#2790268acce5e7164fd2129551f322f745f13400", ""},
		{now, "git+https://x.test/a?path=b#2790268acce5e7164fd2129551f322f745f13400", ""},
		{now, "directory+https://x.test", ""},
	} {
		lock := c.version + "\n[[package]]\nname = \"x\"\nversion = \"1.0.0\"\nsource = \"" + c.source + "\"\n"
		id, _, _ := strings.Cut(c.source, "#")
		want := ""
		if c.want != "" {
			want = fmt.Sprintf("[source.%q]\n%sreplace-with = \"standard-code\"\n\n", id, c.want)
		}
		want += "[source.crates-io]\nreplace-with = \"standard-code\"\n\n[source.standard-code]\ndirectory = \"/standard-code/deps/rust/vendor\"\n"
		if got := string(cargoConfig([]byte(lock))); got != want {
			t.Errorf("%s\ngot  %q\nwant %q", lock, got, want)
		}
	}
	lock := now + strings.Repeat("[[package]]\nname = \"x\"\nversion = \"1.0.0\"\nsource = \"git+https://x.test/\u202e\\a#1\"\n", 2)
	if got := string(cargoConfig([]byte(lock))); strings.Count(got, "x.test") != 2 || !strings.Contains(got, `\\a"`) {
		t.Errorf("a hostile name, twice: %q", got)
	}
}

// Each line of the configuration is one that this product meant to write.
func FuzzCargoConfig(f *testing.F) {
	f.Add("version = 4\n[[package]]\nname = \"x\"\nversion = \"1\"\nsource = \"git+https://x.test/a?branch=b%2Fc#1\"\n")
	f.Fuzz(func(t *testing.T, lock string) {
		for line := range strings.Lines(string(cargoConfig([]byte(lock)))) {
			key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " = ")
			var text string
			switch {
			case line == "\n", line == "[source.crates-io]\n", line == "[source.standard-code]\n":
			case strings.HasPrefix(line, `[source."`):
				if json.Unmarshal([]byte(strings.TrimSuffix(line[len("[source."):], "]\n")), &text) != nil {
					t.Errorf("%q", line)
				}
			case !ok || !slices.Contains([]string{"git", "branch", "tag", "rev", "registry", "directory", "replace-with"}, key), json.Unmarshal([]byte(value), &text) != nil:
				t.Errorf("%q", line)
			}
		}
	})
}

func TestPython_OnlyWheelsAreTaken(t *testing.T) {
	t.Parallel()
	dir, to := t.TempDir(), t.TempDir()
	write(t, dir, map[string]string{"requirements.txt": "six==1.0\n", "wheelhouse/six-1.0-py3-none-any.whl": "zip"})
	p, err := Reader{}.Open(t.Context(), ports.ProjectSources{Dir: dir})
	must(t, err)
	defer p.Close()
	must(t, p.Seed(t.Context(), command.Python, to))
	list, err := os.ReadFile(filepath.Join(to, "wheels.txt"))
	if err != nil || string(list) != "/workspace/wheels/six-1.0-py3-none-any.whl\n" {
		t.Errorf("%q %v", list, err)
	}
	write(t, dir, map[string]string{"wheelhouse/evil-1.0.tar.gz": "setup.py"})
	_, err = Reader{}.Open(t.Context(), ports.ProjectSources{Dir: dir})
	refused(t, err, "wheels", "evil-1.0.tar.gz")
}

const (
	hash  = "ab00000000000000000000000000000000000000000000000000000000000000"
	other = "cd00000000000000000000000000000000000000000000000000000000000000"
	noted = "ef00000000000000000000000000000000000000000000000000000000000000"
)

// The cache is walked twice and may have as much as any other tree.
func TestGoCache_CountsWhatItHoldsOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string]string{"ab/" + hash + "-d": "12345", "ab/" + hash + "-a": "v1 " + hash + " " + hash + "                    5  1700000000000000001\n"})
	size := int64(0)
	for _, end := range []string{"-a", "-d"} {
		info, err := os.Stat(filepath.Join(root, "ab", hash+end))
		must(t, err)
		size += info.Size()
	}
	c, err := openTree("oven", root)
	must(t, err)
	defer c.close()
	_, err = c.goCache(t.Context(), io.Discard)
	must(t, err)
	if entries, bytes := limits.ProjectEntries-c.entries, limits.ProjectBytes-c.bytes; entries != 3 || bytes != size {
		t.Errorf("%d entries of %d bytes are counted, want 3 of %d", entries, bytes, size)
	}
}

func TestGoCache_HasEntriesOnlyAndNoTimes(t *testing.T) {
	t.Parallel()
	make1 := func(when string) []byte {
		root := t.TempDir()
		write(t, root, map[string]string{
			"c/ab/" + hash + "-a": "v1 " + hash + " " + hash + "                    5 " + when + "\n",
			"c/ab/" + hash + "-d": "12345",
			// What the go command noted of the workspace, which depends on when it looked.
			"c/cd/" + other + "-a": "v1 " + other + " " + noted + "                    9 " + when + "\n",
			"c/ef/" + noted + "-d": "go index v2\n...testing/workspace/a_test.go" + when,
			"c/README":             "x", "c/trim.txt": when, "c/ab/odd": "x", "c/fuzz/x": "y",
		})
		must(t, os.Symlink("/usr/local/go/x", filepath.Join(root, "c/ab", strings.Repeat("ab", 32)+"-d")))
		var buf bytes.Buffer
		n, err := Ovens{}.GoCache(t.Context(), root, "c", &buf)
		must(t, err)
		if n != 2 {
			t.Errorf("%d entries", n)
		}
		return buf.Bytes()
	}
	one, two := make1(" 1700000000000000001"), make1(" 1700000000000000002")
	if !bytes.Equal(one, two) {
		t.Error("the time of making is in it")
	}
	got := read(t, one)
	if len(got) != 3 || got["ab/"+hash+"-d"] != "12345" || got["index"] != "ab/"+hash+"-a\nab/"+hash+"-d\n" {
		t.Errorf("got %v", got)
	}
}

func TestOvens_WhatAContainerWroteIsHostile(t *testing.T) {
	t.Parallel()
	o := Ovens{}
	root := t.TempDir()
	must(t, os.Symlink("/etc", filepath.Join(root, "c")))
	_, err := o.GoCache(t.Context(), root, "c", &bytes.Buffer{})
	refused(t, err, "oven", "c")
	refused(t, o.Tree(t.Context(), root, "c", &bytes.Buffer{}), "oven", "c")
	refused(t, o.Tree(t.Context(), root, "absent", &bytes.Buffer{}), "oven", "absent")
	write(t, root, map[string]string{"tree/a": "1"})
	must(t, os.Symlink("../../etc/passwd", filepath.Join(root, "tree/x")))
	refused(t, o.Tree(t.Context(), root, "tree", &bytes.Buffer{}), "oven", "leads out")
	// A file in the way of ours, or a link in its place, is not written through.
	outside := t.TempDir()
	must(t, os.Symlink(outside, filepath.Join(root, "warm")))
	if err := o.Put(context.Background(), root, "warm/x.go", []byte("x")); err == nil {
		t.Error("a link was followed out of the oven")
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("written outside: %v", left)
	}
	write(t, root, map[string]string{"there": "theirs"})
	if err := o.Put(t.Context(), root, "there", []byte("ours")); err == nil {
		t.Error("a file in the way was written to")
	}
	must(t, o.Put(t.Context(), root, "new/dir/x", []byte("ours")))
}
